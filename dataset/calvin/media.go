package calvin

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/tensor"
)

// maxPixels is how many numbers an image may have.
const maxPixels = 1 << 26

// media makes a media stream from images. The first header defines their shape and type.
func (b *builder) media(name string, v *variant) error {
	head, bad, err := b.imageHeader(name, v)
	if err != nil {
		return err
	}
	if bad != nil {
		b.leave(name, len(v.rows), dataset.CodeBroken, dataset.Detail{Cause: bad})
		return nil
	}
	encoding := encodingOf(&head)
	if encoding == "" {
		b.leave(name, len(v.rows), dataset.CodeValueShape, dataset.Detail{Got: head.String(), Want: "images [H,W] or [H,W,C] of uint8, uint16, float32 or float64"})
		return nil
	}
	times, err := b.clock(v.rows)
	if err != nil {
		return err
	}
	ids := make([]int64, len(v.rows))
	for i, row := range v.rows {
		ids[i] = b.ids[row]
	}
	b.episode.Media = append(b.episode.Media, dataset.Media{
		Name: name, Times: times, Encoding: encoding, Height: head.Shape[0], Width: head.Shape[1],
		Source: &images{set: b.set, split: b.at.split, name: name, ids: ids, head: head},
	})
	return nil
}

// imageHeader reads the header of the first image that has one that can be read, of a few; bad is the last error if none can be read.
func (b *builder) imageHeader(name string, v *variant) (head npy.Header, bad, err error) {
	for _, row := range v.rows[:min(len(v.rows), 8)] {
		if head, err = readImageHeader(b.at.split.path(b.ids[row]), name); err == nil {
			return head, nil, nil
		}
		if _, broken := dataset.AsBroken(err); !broken && !errors.Is(err, dataset.ErrUnsupported) {
			return head, nil, err
		}
	}
	if lost, broken := dataset.AsBroken(err); broken {
		if b.set.strict {
			return head, nil, lost
		}
		b.episode.Notes.Add(dataset.Note{Code: dataset.CodeImageBroken, Subject: name, Count: 1, Detail: dataset.Detail{Cause: lost}})
	}
	return head, err, nil
}

func readImageHeader(path, name string) (head npy.Header, err error) {
	f, err := npz.Open(path)
	if err != nil {
		return head, err
	}
	defer f.Close()
	return f.Header(name)
}

// encodingOf returns the encoding name for an image type and shape, or "" if they are no image.
func encodingOf(h *npy.Header) string {
	channels := 1
	if len(h.Shape) == 3 {
		channels = h.Shape[2]
	}
	if (len(h.Shape) != 2 && len(h.Shape) != 3) || h.Len() == 0 || h.Len() > maxPixels {
		return ""
	}
	switch typ := h.Type(); typ {
	case "uint8":
		if name := map[int]string{1: "mono8", 3: "rgb8", 4: "rgba8"}[channels]; name != "" {
			return name
		}
		return fmt.Sprintf("8UC%d", channels)
	case "uint16", "float32", "float64":
		return map[string]string{"uint16": "16UC", "float32": "32FC", "float64": "64FC"}[typ] + fmt.Sprint(channels)
	}
	return ""
}

// images reads images of one array.
type images struct {
	set   *Set
	split *split
	name  string
	ids   []int64
	head  npy.Header
}

// ReadFrame reads the array of a frame. One that is of another type or shape than the first is a *dataset.FormatError.
func (m *images) ReadFrame(_ context.Context, i int) ([]byte, error) {
	if err := m.set.checkOpen(); err != nil {
		return nil, err
	}
	path := m.split.path(m.ids[i])
	f, err := npz.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	t, err := f.Checked(m.name, func(h npy.Header) error {
		if h.Type() != m.head.Type() || !slices.Equal(h.Shape, m.head.Shape) {
			return &dataset.FormatError{Format: format, Offset: 0, Kind: dataset.ErrShape, Msg: "image", Got: h.String(), Want: m.head.String()}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return pixels(t, m.head.Type())
}

// pixels returns the numbers of an image, row by row, little-endian.
func pixels(t *tensor.Tensor, typ string) ([]byte, error) {
	switch typ {
	case "uint8":
		return tensor.Data[uint8](t)
	case "uint16": // which is i32 here
		return packed(t, 2, func(b []byte, v int32) []byte { return binary.LittleEndian.AppendUint16(b, uint16(v)) })
	case "float32":
		return packed(t, 4, func(b []byte, v float32) []byte { return binary.LittleEndian.AppendUint32(b, math.Float32bits(v)) })
	}
	return packed(t, 8, func(b []byte, v float64) []byte { return binary.LittleEndian.AppendUint64(b, math.Float64bits(v)) })
}

func packed[T tensor.Element](t *tensor.Tensor, size int, put func([]byte, T) []byte) ([]byte, error) {
	list, err := tensor.Data[T](t)
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, size*len(list))
	for _, v := range list {
		b = put(b, v)
	}
	return b, nil
}
