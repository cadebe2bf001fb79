package h5episode

import (
	"bytes"
	"context"
	"fmt"
	"image/jpeg"
	"image/png"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/hdf5"
)

// images makes raw images [T,H,W,C] media.
func (r *Reader) images(path string, d *hdf5.Dataset) error {
	shape := d.Shape()
	times, err := r.clock(path, shape[0])
	if err != nil {
		return err
	}
	r.Media = append(r.Media, dataset.Media{
		Name: path, Times: times, Encoding: map[int]string{1: "mono8", 3: "rgb8", 4: "rgba8"}[shape[3]], Height: shape[1], Width: shape[2], Source: pixels{d},
	})
	return nil
}

// pixels reads raw images.
type pixels struct{ d *hdf5.Dataset }

func (p pixels) ReadFrame(_ context.Context, i int) ([]byte, error) { return p.d.Raw(i, i+1) }

// signatures are what encoded images begin with.
var signatures = []struct{ encoding, begin string }{{"jpeg", "\xff\xd8\xff"}, {"png", "\x89PNG\r\n\x1a\n"}}

// encoded makes a dataset media if its first row is an encoded image, and reports whether it is.
func (r *Reader) encoded(path string, d *hdf5.Dataset) (bool, error) {
	if d.Len() == 0 {
		return false, nil
	}
	first, err := rowOf(d, 0)
	if err != nil {
		return false, err
	}
	for _, s := range signatures {
		if !bytes.HasPrefix(first, []byte(s.begin)) {
			continue
		}
		times, err := r.clock(path, d.Len())
		if err != nil {
			return false, err
		}
		m := dataset.Media{Name: path, Times: times, Encoding: s.encoding, Source: encoded{d, r.set, s.encoding, s.begin}}
		decode := jpeg.DecodeConfig
		if s.encoding == "png" {
			decode = png.DecodeConfig
		}
		if size, err := decode(bytes.NewReader(first)); err == nil { // else the file does not say
			m.Width, m.Height = size.Width, size.Height
		}
		r.Media = append(r.Media, m)
		return true, nil
	}
	return false, nil
}

// encoded reads images of which each is a row: bytes that zeros fill up to the longest, or a sequence of bytes.
type encoded struct {
	d               *hdf5.Dataset
	set             *Set
	encoding, begin string
}

func (f encoded) ReadFrame(_ context.Context, i int) ([]byte, error) {
	frame, err := rowOf(f.d, i)
	if err == nil && !bytes.HasPrefix(frame, []byte(f.begin)) {
		err = &dataset.FormatError{Format: f.set.layout.Format, Path: f.set.path, Offset: -1, Kind: dataset.ErrCorrupt, Msg: fmt.Sprintf("%s: frame %d", f.d.Path(), i),
			Got: fmt.Sprintf("%d bytes that begin with % x", len(frame), frame[:min(8, len(frame))]), Want: f.encoding}
	}
	if err != nil {
		return nil, err
	}
	return frame, nil
}

// rowOf returns the bytes of a row without the zeros at its end: neither JPEG nor PNG end with any.
func rowOf(d *hdf5.Dataset, i int) (row []byte, err error) {
	if d.Type().Kind == hdf5.Sequence {
		var list [][]byte
		if list, err = d.Bytes(i, i+1); err == nil && len(list) == 1 {
			row = list[0]
		}
	} else {
		row, err = d.Raw(i, i+1)
	}
	return bytes.TrimRight(row, "\x00"), err
}
