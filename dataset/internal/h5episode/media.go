package h5episode

import (
	"bytes"
	"context"
	"fmt"
	"image/jpeg"
	"image/png"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/hdf5"
	"github.com/robocache/robocache/tensor"
)

// images makes raw images [T,H,W,C] media.
func (r *Reader) images(path string, d *hdf5.Dataset, p pace) error {
	shape := d.Shape()
	times, err := r.clock(path, p)
	if err != nil {
		return err
	}
	r.Media = append(r.Media, dataset.Media{
		Name: path, Times: nanoseconds(times), Encoding: map[int]string{1: "mono8", 3: "rgb8", 4: "rgba8"}[shape[3]], Height: shape[1], Width: shape[2], Source: pixels{d},
	})
	return nil
}

func nanoseconds(times *tensor.Tensor) []int64 {
	s := dataset.Stream{Times: times}
	return s.Nanoseconds()
}

// pixels reads raw images.
type pixels struct{ d *hdf5.Dataset }

func (p pixels) ReadFrame(_ context.Context, i int) ([]byte, error) { return p.d.Raw(i, i+1) }

// signatures are the first bytes of encoded images.
var signatures = []struct{ encoding, begin string }{{"jpeg", "\xff\xd8\xff"}, {"png", "\x89PNG\r\n\x1a\n"}}

// maxLook is the number of rows that decide whether a dataset contains images, because the first row may be broken.
const maxLook = 8

// encoded makes a dataset media if one of its first rows is an encoded image, and reports whether one is.
func (r *Reader) encoded(path string, d *hdf5.Dataset, p pace) (bool, error) {
	for i := range min(d.Len(), maxLook) {
		row, err := rowOf(d, i)
		if err != nil {
			return false, err
		}
		for _, s := range signatures {
			if bytes.HasPrefix(row, []byte(s.begin)) {
				return true, r.film(path, d, p, s.encoding, s.begin, row)
			}
		}
	}
	return false, nil
}

// film makes a dataset of encoded images media. Of one of them the size is taken.
func (r *Reader) film(path string, d *hdf5.Dataset, p pace, encoding, begin string, frame []byte) error {
	times, err := r.clock(path, p)
	if err != nil {
		return err
	}
	m := dataset.Media{Name: path, Times: nanoseconds(times), Encoding: encoding, Source: encoded{d, r.set, encoding, begin}}
	decode := jpeg.DecodeConfig
	if encoding == "png" {
		decode = png.DecodeConfig
	}
	if size, err := decode(bytes.NewReader(frame)); err == nil { // otherwise the size is unknown
		m.Width, m.Height = size.Width, size.Height
	}
	r.Media = append(r.Media, m)
	return nil
}

// encoded reads images from rows: bytes that are padded with zeros, or a byte sequence.
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
