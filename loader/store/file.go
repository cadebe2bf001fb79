package store

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/storage"
	"github.com/robocache/robocache/tensor"
)

// fileTensor is a tensor in a store's file.
type fileTensor struct {
	name  string
	dtype tensor.DType
	shape []int
	write func(io.Writer) error
}

// newFileTensor returns a tensor for the file: the concatenation of others.
func newFileTensor(name string, dtype tensor.DType, shape []int, parts ...*tensor.Tensor) fileTensor {
	return fileTensor{name, dtype, shape, func(w io.Writer) error {
		for _, t := range parts {
			if err := npy.WriteData(w, t); err != nil {
				return err
			}
		}
		return nil
	}}
}

// newFileInts returns a tensor of integers.
func newFileInts(name string, numbers []int64) fileTensor {
	return fileTensor{name, tensor.I64, []int{len(numbers)}, func(w io.Writer) error { return (&list[int64]{rows: numbers}).writeRows(w) }}
}

// Save writes the store as a safetensors file, under its name only when it is complete. A stream has the tensors NAME.values,
// NAME.times and NAME.offsets; for media see [Media]. All else is JSON in the metadata, under robocache.store. Any reader of
// safetensors can read it. Equal stores have equal bytes. To write a dataset that does not fit memory, use Pack.
func (s *Store) Save(path string) error {
	return s.Guard(func() error {
		var all []fileTensor
		for i := range s.Streams {
			all = append(all, s.Streams[i].fileTensors()...)
		}
		for i := range s.Media {
			all = append(all, s.Media[i].fileTensors()...)
		}
		return s.write(path, all)
	})
}

// write writes the store's file with these tensors.
func (s *Store) write(path string, all []fileTensor) error {
	return safetensors.WriteFile(path, func(f *safetensors.Writer) error {
		if err := f.AddSums(); err != nil {
			return err
		}
		for _, t := range all {
			if err := f.AddData(t.name, t.dtype, t.shape, t.write); err != nil {
				return err
			}
		}
		text, err := json.Marshal(s.index())
		if err != nil {
			return err
		}
		return f.AddText(indexKey, string(text))
	})
}

// IsStore reports whether a file was written by Save or Pack, or a folder by PackShard. A damaged file counts if its first bytes are a
// store's. Open reports the damage.
func IsStore(path string) bool {
	if names, _ := shardNames(path); len(names) > 0 {
		return true
	}
	f, err := safetensors.Open(path)
	if err != nil {
		return beginsAsStore(path)
	}
	defer f.Close()
	return f.Metadata()[indexKey] != ""
}

// beginsAsStore reports whether a file's first bytes are a store's.
func beginsAsStore(path string) bool {
	f, err := storage.Open(context.Background(), path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 64<<10)
	n, _ := f.ReadAt(head, 0) // a folder returns an error, and a short file io.EOF
	return n > 8 && head[8] == '{' && bytes.Contains(head[:n], []byte(strconv.Quote(indexKey)))
}

func openFile(path string) (*Store, error) {
	f, err := safetensors.Map(path)
	if err != nil {
		return nil, err
	}
	s := &Store{file: f}
	if err := f.Guard(func() error { return s.open(path) }); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Store) open(path string) error {
	bad := errorsOf(path)
	text := s.file.Metadata()[indexKey]
	if text == "" {
		return bad(dataset.ErrUnsupported, "metadata", "no "+indexKey, "a store")
	}
	var x index
	if err := json.Unmarshal([]byte(text), &x); err != nil {
		return bad(dataset.ErrCorrupt, "metadata "+indexKey, err.Error(), "JSON")
	}
	if x.Version != version {
		return bad(dataset.ErrUnsupported, "version", fmt.Sprint(x.Version), fmt.Sprintf("%d: pack the dataset again", version))
	}
	if !s.file.Has(safetensors.SumsName) {
		return bad(dataset.ErrCorrupt, "checksums", "none", "tensor "+safetensors.SumsName+": pack the dataset again")
	}
	if x.Rate != 0 && !dataset.IsRate(x.Rate) {
		return bad(dataset.ErrCorrupt, "rate", fmt.Sprint(x.Rate), "steps a second from 1e-6 to 1e9, or 0")
	}
	if x.Frames < 0 {
		return bad(dataset.ErrCorrupt, "frames", fmt.Sprint(x.Frames), "0 or more")
	}
	for i := range x.Episodes {
		x.Episodes[i].Notes = slices.DeleteFunc(x.Episodes[i].Notes, func(n dataset.Note) bool { return n.Code == "" }) // notes without a code come from older programs
		if n := x.Episodes[i].Frames; n < 0 {
			return bad(dataset.ErrCorrupt, fmt.Sprintf("frames in episode %d", i), fmt.Sprint(n), "0 or more")
		}
		if r := x.Episodes[i].Rotation; r > dataset.RotationWXYZ {
			return bad(dataset.ErrCorrupt, fmt.Sprintf("rotation in episode %d", i), fmt.Sprint(uint8(r)), "0, 1 or 2")
		}
	}
	s.name, s.format, s.info, s.Episodes, s.Skipped, s.Sources, s.Shard = x.Name, x.Format, x.info(), x.Episodes, x.Skipped, x.Sources, x.Shard
	if why := s.Shard.check(s); why != "" {
		return bad(dataset.ErrCorrupt, "shard", why, "one shard number, with its own episodes")
	}
	for _, in := range x.Streams {
		p := Stream{Name: in.Name, Columns: in.Columns, Rounded: in.Rounded, Overflowed: in.Overflowed, Inexact: in.Lossy + in.Inexact}
		if s.Stream(p.Name) != nil {
			return bad(dataset.ErrCorrupt, "stream "+in.Name, "the name twice", "each name once")
		}
		var err error
		if p.Offsets, err = s.tensors(path, in.Name, tensorOf{"values", &p.Values}, tensorOf{"times", &p.Times}); err != nil {
			return err
		}
		if why := p.check(len(x.Episodes)); why != "" {
			return bad(dataset.ErrCorrupt, "stream "+in.Name, why, "values [N,D], times [N] and offsets [E+1] that go together")
		}
		s.Streams = append(s.Streams, p)
	}
	for _, in := range x.Media {
		m := Media{Name: in.Name, Encoding: in.Encoding, Width: in.Width, Height: in.Height, Resized: in.Resized}
		if s.Stream(m.Name) != nil || s.MediaStream(m.Name) != nil {
			return bad(dataset.ErrCorrupt, "media "+in.Name, "the name twice", "each name once")
		}
		var err error
		if m.Offsets, err = s.tensors(path, in.Name, tensorOf{"frames", &m.Frames}, tensorOf{"frame_offsets", &m.FrameOffsets}, tensorOf{"times", &m.Times}); err != nil {
			return err
		}
		if why := m.check(len(x.Episodes)); why != "" {
			return bad(dataset.ErrCorrupt, "media "+in.Name, why, "frames [bytes], frame_offsets [S+1], times [S] and offsets [E+1] that go together")
		}
		s.Media = append(s.Media, m)
	}
	return nil
}

// tensorOf is a stream's tensor, by the last part of its name.
type tensorOf struct {
	part string
	to   **tensor.Tensor
}

// tensors reads a stream's tensors from the store's file, and returns its episode offsets. A missing tensor is an error, and so are offsets
// that are not i64. path is for errors.
func (s *Store) tensors(path, name string, list ...tensorOf) (offsets []int64, err error) {
	for _, t := range list {
		if *t.to, err = s.file.Tensor(name + "." + t.part); err != nil {
			return nil, err
		}
	}
	t, err := s.file.Tensor(name + ".offsets")
	if err != nil {
		return nil, err
	}
	numbers, err := tensor.Data[int64](t)
	if err != nil {
		return nil, errorsOf(path)(dataset.ErrCorrupt, "tensor "+name+".offsets", t.String(), "i64")
	}
	return slices.Clone(numbers), nil // a copy, because a slice cannot report that the file is closed
}

// check describes a packed stream's first inconsistency; empty if there is none.
func (p *Stream) check(episodes int) string {
	v, t := p.Values, p.Times
	switch {
	case !v.DType().IsFloat() || v.Rank() != 2 || v.Dim(1) != len(p.Columns) || len(p.Columns) == 0:
		return fmt.Sprintf("values %v of %d columns", v, len(p.Columns))
	case t.DType() != tensor.I64 || t.Rank() != 1 || t.Dim(0) != v.Dim(0):
		return fmt.Sprintf("times %v of values %v", t, v)
	case slices.ContainsFunc(p.Columns, func(c dataset.Column) bool { return c.Rotation > dataset.RotationWXYZ }):
		return "columns for a rotation, which is missing"
	}
	return checkOffsets(p.Offsets, episodes, v.Dim(0))
}

// fileTensors returns the stream's tensors.
func (p *Stream) fileTensors() []fileTensor {
	var times []*tensor.Tensor
	for _, s := range present(p, p.shards) {
		times = append(times, s.Times)
	}
	n := p.Samples()
	values := func(w io.Writer) error {
		for _, s := range present(p, p.shards) {
			if err := s.writeValues(w); err != nil {
				return err
			}
		}
		return nil
	}
	return []fileTensor{{p.Name + ".values", p.DType(), []int{n, len(p.Columns)}, values}, newFileTensor(p.Name+".times", tensor.I64, []int{n}, times...),
		newFileInts(p.Name+".offsets", p.Offsets)}
}

// writeValues writes one file's values, in column order.
func (p *Stream) writeValues(w io.Writer) error {
	if p.at == nil {
		return npy.WriteData(w, p.Values)
	}
	const rows = 1 << 14 // that are reordered at a time
	for lo := 0; lo < p.Values.Dim(0); lo += rows {
		part, err := p.Values.Slice(0, lo, min(lo+rows, p.Values.Dim(0)))
		if err == nil {
			part, err = part.Take(1, p.at)
		}
		if err == nil {
			err = npy.WriteData(w, part)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkOffsets describes the first error in episode offsets; empty if there is none.
func checkOffsets(offsets []int64, episodes, samples int) string {
	if len(offsets) != episodes+1 || offsets[0] != 0 || offsets[episodes] != int64(samples) {
		return fmt.Sprintf("%d offsets of %d episodes and %d samples", len(offsets), episodes, samples)
	}
	for e := range episodes {
		if offsets[e] > offsets[e+1] {
			return fmt.Sprintf("offsets %d and %d for episode %d", offsets[e], offsets[e+1], e)
		}
	}
	return ""
}

// fileTensors returns the media stream's tensors.
func (m *Media) fileTensors() []fileTensor {
	var frames, times []*tensor.Tensor
	parts := present(m, m.shards)
	for _, s := range parts {
		frames, times = append(frames, s.Frames), append(times, s.Times)
	}
	offsets := fileTensor{m.Name + ".frame_offsets", tensor.I64, []int{m.Len() + 1}, func(w io.Writer) error {
		if err := (&list[int64]{rows: []int64{0}}).writeRows(w); err != nil {
			return err
		}
		begin := int64(0)
		for _, s := range parts {
			ends, err := tensor.Data[int64](s.FrameOffsets)
			if err != nil {
				return err
			}
			ends = slices.Clone(ends[1:])
			for i := range ends {
				ends[i] += begin
			}
			if err := (&list[int64]{rows: ends}).writeRows(w); err != nil {
				return err
			}
			begin += int64(s.Frames.Len())
		}
		return nil
	}}
	return []fileTensor{newFileTensor(m.Name+".frames", tensor.U8, []int{m.Bytes()}, frames...), offsets, newFileTensor(m.Name+".times", tensor.I64, []int{m.Len()}, times...),
		newFileInts(m.Name+".offsets", m.Offsets)}
}

// check describes a packed media stream's first inconsistency; empty if there is none. Frame ends are checked when frames
// are read.
func (m *Media) check(episodes int) string {
	f, o, t := m.Frames, m.FrameOffsets, m.Times
	switch {
	case m.Encoding == "" || m.Width < 0 || m.Height < 0:
		return fmt.Sprintf("encoding %q with %dx%d pixels", m.Encoding, m.Width, m.Height)
	case f.DType() != tensor.U8 || f.Rank() != 1:
		return fmt.Sprintf("frames %v", f)
	case t.DType() != tensor.I64 || t.Rank() != 1:
		return fmt.Sprintf("times %v", t)
	case o.DType() != tensor.I64 || o.Rank() != 1 || o.Dim(0) != t.Dim(0)+1:
		return fmt.Sprintf("frame_offsets %v of times %v", o, t)
	}
	return checkOffsets(m.Offsets, episodes, t.Dim(0))
}

// check describes a shard's first inconsistency with its store; empty if there is none.
func (h *Shard) check(s *Store) string {
	if h == nil {
		return ""
	}
	if h.Count < 1 || h.Count > MostShards || h.Index < 0 || h.Index >= h.Count || h.Episodes < 0 || h.Episodes > 1<<40 || h.Files < 0 || h.Files > 1<<40 {
		return fmt.Sprintf("shard %d of %d, %d episodes, %d files", h.Index, h.Count, h.Episodes, h.Files)
	}
	begin, end := h.run()
	last := begin - 1
	for i := range s.Episodes {
		if s.Episodes[i].Number <= last {
			return fmt.Sprintf("episode number %d, where %d or more would be", s.Episodes[i].Number, last+1)
		}
		last = s.Episodes[i].Number
	}
	if n := len(s.Episodes) + len(s.Skipped); n != end-begin {
		return fmt.Sprintf("%d episodes, with the skipped ones, where it has %d", n, end-begin)
	}
	if mine := (h.Files - h.Index + h.Count - 1) / h.Count; len(s.Sources) != max(mine, 0) {
		return fmt.Sprintf("%d sources of %d files", len(s.Sources), h.Files)
	}
	return ""
}
