package rlds

import (
	"bytes"
	"context"
	"fmt"
	"hash/crc32"

	"github.com/robocache/robocache/dataset"
)

// frames reads a feature's images.
type frames struct {
	path  string
	list  []frame
	whole []byte // the record, if the file is compressed; otherwise nil
	at    int64  // the record's offset
}

// frame locates a frame in its file.
type frame struct {
	at   int64
	size int
	sum  uint32
}

// ReadFrame returns a frame's bytes. It checks that the file did not change since the episode was read.
func (f *frames) ReadFrame(_ context.Context, i int) ([]byte, error) {
	at := f.list[i]
	if f.whole != nil {
		from := int(at.at - f.at)
		return bytes.Clone(f.whole[from : from+at.size]), nil
	}
	b, err := readFile(f.path, at.at, int64(at.size), nil)
	if err != nil {
		return nil, err
	}
	if sum := crc32.Checksum(b, castagnoli); sum != at.sum {
		return nil, formatError(dataset.ErrCorrupt, f.path, at.at, fmt.Sprintf("frame %d", i), "other bytes than when the episode was read", "the same")
	}
	return b, nil
}

// sniff returns an image's encoding by its first bytes; empty if TensorFlow Datasets does not write it.
func sniff(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("\xff\xd8\xff")):
		return "jpeg"
	case bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")):
		return "png"
	}
	return ""
}

// media creates a stream from a feature's images, one at each time. It leaves out broken images and images without bytes. If no image
// is valid, there is no stream, unless there are no steps.
func (b *builder) media(l *leaf, name string, items []wire, times []int64) {
	source := &frames{path: b.shard.path}
	if b.shard.packed != nil {
		source.whole, source.at = b.data, b.at
	}
	m := dataset.Media{Name: l.name(), Source: source}
	empty, odd := 0, dataset.Note{Code: dataset.CodeImageFormat, Subject: name}
	if len(l.shape) == 3 {
		m.Height, m.Width = l.shape[0], l.shape[1]
	}
	m.Times, source.list = make([]int64, 0, len(items)), make([]frame, 0, len(items))
	for i, item := range items {
		if len(item.b) == 0 {
			empty++
			continue
		}
		switch found := sniff(item.b); {
		case found == "":
			if odd.Count++; odd.Count == 1 {
				odd.Row, odd.Got = dataset.At(i), fmt.Sprintf("% x", item.b[:min(len(item.b), 8)])
			}
			continue
		case m.Encoding != "" && m.Encoding != found:
			b.leave(name, len(items), dataset.CodeMixedImages, dataset.Detail{})
			return
		default:
			m.Encoding = found
		}
		m.Times = append(m.Times, times[i])
		source.list = append(source.list, frame{item.at, len(item.b), crc32.Checksum(item.b, castagnoli)})
	}
	if len(items) == 0 {
		if m.Encoding = l.format; m.Encoding == "" {
			m.Encoding = "png" // the default in TensorFlow Datasets
		}
	}
	if l.dtype == "float32" && m.Encoding == "png" {
		m.Encoding = EncodingF32
	}
	if odd.Count > 0 {
		b.e.Notes = append(b.e.Notes, odd)
	}
	if empty > 0 {
		b.leave(name, empty, dataset.CodeEmptyImages, dataset.Detail{})
	}
	if len(m.Times) > 0 || len(items) == 0 {
		b.e.Media = append(b.e.Media, m)
	}
}

// EncodingF32 is the encoding of a PNG with four channels that hold the bytes of one little-endian float32, a distance.
const EncodingF32 = "png-f32"
