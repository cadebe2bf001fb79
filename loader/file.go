package loader

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

// indexKey is the text of the metadata that makes a safetensors file a store.
const indexKey = "robocache.store"

// index is what a store's file holds besides its tensors. Its JSON names are a contract.
type index struct {
	Version  int               `json:"version"` // 1
	Name     string            `json:"name"`
	Format   string            `json:"format"`
	Data     string            `json:"data_version,omitempty"`
	Rate     float64           `json:"rate,omitempty"`
	RateFrom string            `json:"rate_from,omitempty"`
	Clock    string            `json:"clock,omitempty"`
	Clocks   []string          `json:"clocks,omitempty"`
	Features []dataset.Feature `json:"features,omitempty"`
	Tasks    []string          `json:"tasks,omitempty"`
	Frames   int               `json:"frames,omitempty"`
	Splits   []dataset.Split   `json:"splits,omitempty"`
	Other    map[string]string `json:"attributes,omitempty"`
	Notes    dataset.Notes     `json:"notes,omitempty"`
	Streams  []indexStream     `json:"streams"`
	Media    []indexMedia      `json:"media,omitempty"`
	Episodes []Episode         `json:"episodes"`
	Skipped  dataset.Notes     `json:"unread,omitempty"`
	Sources  []Source          `json:"sources,omitempty"`
	Shard    *Shard            `json:"shard,omitempty"`
}

type indexStream struct {
	Name       string           `json:"name"`
	Columns    []dataset.Column `json:"columns"`
	Rounded    int              `json:"rounded,omitempty"`
	Overflowed int              `json:"overflowed,omitempty"`
	Inexact    int              `json:"inexact,omitempty"`
}

type indexMedia struct {
	Name     string `json:"name"`
	Encoding string `json:"encoding"`
	Width    int    `json:"width,omitempty"`
	Height   int    `json:"height,omitempty"`
}

func (s *Store) index() *index {
	i := &s.info
	x := &index{Version: 1, Name: s.name, Format: s.format, Data: i.Version, Rate: i.Rate, RateFrom: i.RateFrom, Clock: i.Clock, Clocks: i.Clocks, Features: i.Features,
		Tasks: i.Tasks, Frames: i.Frames, Splits: i.Splits, Other: i.Attributes, Notes: i.Notes,
		Streams: []indexStream{}, Episodes: append([]Episode{}, s.Episodes...), Skipped: s.Skipped, Sources: s.Sources, Shard: s.Shard}
	for k := range s.Streams {
		p := &s.Streams[k]
		x.Streams = append(x.Streams, indexStream{p.Name, p.Columns, p.Rounded, p.Overflowed, p.Inexact})
	}
	for k := range s.Media {
		m := &s.Media[k]
		x.Media = append(x.Media, indexMedia{m.Name, m.Encoding, m.Width, m.Height})
	}
	return x
}

func (x *index) info() dataset.Info {
	declared := 0.0
	if x.RateFrom == "file" {
		declared = x.Rate
	}
	return dataset.Info{Version: x.Data, Rate: x.Rate, RateFrom: x.RateFrom, Declared: declared, Clock: x.Clock, Clocks: x.Clocks, Features: x.Features,
		Tasks: x.Tasks, Frames: x.Frames, Splits: x.Splits, Attributes: x.Other, Notes: x.Notes}
}

// saved is a tensor of a store's file.
type saved struct {
	name  string
	dtype tensor.DType
	shape []int
	write func(io.Writer) error
}

// savedOf are tensors, one after the other.
func savedOf(name string, dtype tensor.DType, shape []int, parts ...*tensor.Tensor) saved {
	return saved{name, dtype, shape, func(w io.Writer) error {
		for _, t := range parts {
			if err := npy.WriteData(w, t); err != nil {
				return err
			}
		}
		return nil
	}}
}

// savedInts is a list of whole numbers.
func savedInts(name string, numbers []int64) saved {
	return saved{name, tensor.I64, []int{len(numbers)}, func(w io.Writer) error { return (&list[int64]{rows: numbers}).writeRows(w) }}
}

// Save writes the store as a safetensors file, which has its name when it is whole: of each stream NAME.values, NAME.times and NAME.offsets, of each
// of media what [Media] says, and the rest as JSON in the metadata, robocache.store. Other programs read it as any such file. Equal stores give equal
// bytes. Pack writes the file of a dataset that is not in memory.
func (s *Store) Save(path string) error {
	return s.Guard(func() error {
		var all []saved
		for i := range s.Streams {
			all = append(all, s.Streams[i].saved()...)
		}
		for i := range s.Media {
			all = append(all, s.Media[i].saved()...)
		}
		return s.write(path, all)
	})
}

// write writes a file of the store with its tensors.
func (s *Store) write(path string, all []saved) error {
	return safetensors.WriteFile(path, func(f *safetensors.Writer) error {
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

// IsStore reports whether a file is a store that Save or Pack wrote, or a folder has one that PackShard wrote. A damaged one counts, if its first bytes
// show what it was: Open says what is wrong with it.
func IsStore(path string) bool {
	if names, _ := shardNames(path); len(names) > 0 {
		return true
	}
	f, err := safetensors.Open(path)
	if err != nil {
		return wasStore(path)
	}
	defer f.Close()
	return f.Metadata()[indexKey] != ""
}

// wasStore reports whether the first bytes of a file are those of a store.
func wasStore(path string) bool {
	f, err := storage.Open(context.Background(), path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 64<<10)
	n, _ := f.ReadAt(head, 0) // which a folder refuses, and a short file ends
	return n > 8 && head[8] == '{' && bytes.Contains(head[:n], []byte(strconv.Quote(indexKey)))
}

// Open opens a store that Save or Pack wrote. Its header is read and held against its offsets, and the rest mapped into memory, or read where the
// system maps no files, and of a URL. A file that is none, or whose parts do not go together, is a *dataset.FormatError. Close it when done.
//
// A folder is the store in several files that PackShard has written into it: all of them must be there, and be of one packing, else it is a
// *dataset.FormatError that says which is not, ErrNotFound or ErrCorrupt. Nothing is copied. It has the episodes that one file has, in the order of
// the dataset; a stream has the columns of the first shard with it, and is left out of the episodes of shards where it has others.
func Open(path string) (*Store, error) {
	if info, err := storage.Stat(context.Background(), path); err == nil && info.IsDir() {
		return openShards(path)
	}
	return openFile(path)
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
	bad := func(kind error, what, got, want string) error {
		return &dataset.FormatError{Format: "store", Path: path, Offset: -1, Kind: kind, Msg: what, Got: got, Want: want}
	}
	text := s.file.Metadata()[indexKey]
	if text == "" {
		return bad(dataset.ErrUnsupported, "metadata", "no "+indexKey, "a store")
	}
	var x index
	if err := json.Unmarshal([]byte(text), &x); err != nil {
		return bad(dataset.ErrCorrupt, "metadata "+indexKey, err.Error(), "JSON")
	}
	if x.Version != 1 {
		return bad(dataset.ErrUnsupported, "version", fmt.Sprint(x.Version), "1")
	}
	if x.Rate != 0 && !dataset.IsRate(x.Rate) {
		return bad(dataset.ErrCorrupt, "rate", fmt.Sprint(x.Rate), "steps a second from 1e-6 to 1e9, or 0")
	}
	if x.Frames < 0 {
		return bad(dataset.ErrCorrupt, "frames", fmt.Sprint(x.Frames), "0 or more")
	}
	for i := range x.Episodes {
		x.Episodes[i].Notes = slices.DeleteFunc(x.Episodes[i].Notes, func(n dataset.Note) bool { return n.Code == "" }) // of older programs
		if n := x.Episodes[i].Frames; n < 0 {
			return bad(dataset.ErrCorrupt, fmt.Sprintf("frames of episode %d", i), fmt.Sprint(n), "0 or more")
		}
		if r := x.Episodes[i].Rotation; r > dataset.RotationWXYZ {
			return bad(dataset.ErrCorrupt, fmt.Sprintf("rotation of episode %d", i), fmt.Sprint(uint8(r)), "0, 1 or 2")
		}
	}
	s.name, s.format, s.info, s.Episodes, s.Skipped, s.Sources, s.Shard = x.Name, x.Format, x.info(), x.Episodes, x.Skipped, x.Sources, x.Shard
	if why := s.Shard.check(s); why != "" {
		return bad(dataset.ErrCorrupt, "shard", why, "one of so many, with the episodes that are its own")
	}
	for _, in := range x.Streams {
		p := Stream{Name: in.Name, Columns: in.Columns, Rounded: in.Rounded, Overflowed: in.Overflowed, Inexact: in.Inexact}
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
		m := Media{Name: in.Name, Encoding: in.Encoding, Width: in.Width, Height: in.Height}
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

// tensorOf is a tensor of a stream, by the last part of its name.
type tensorOf struct {
	part string
	to   **tensor.Tensor
}

// tensors reads those of a stream, and where its episodes begin.
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
		return nil, &dataset.FormatError{Format: "store", Path: path, Offset: -1, Kind: dataset.ErrCorrupt, Msg: "tensor " + name + ".offsets", Got: t.String(), Want: "i64"}
	}
	return slices.Clone(numbers), nil // for they are no tensor, which knows when it is closed
}

// check says what of a packed stream does not go together, or nothing.
func (p *Stream) check(episodes int) string {
	v, t := p.Values, p.Times
	switch {
	case !v.DType().IsFloat() || v.Rank() != 2 || v.Dim(1) != len(p.Columns) || len(p.Columns) == 0:
		return fmt.Sprintf("values %v of %d columns", v, len(p.Columns))
	case t.DType() != tensor.I64 || t.Rank() != 1 || t.Dim(0) != v.Dim(0):
		return fmt.Sprintf("times %v of values %v", t, v)
	case slices.ContainsFunc(p.Columns, func(c dataset.Column) bool { return c.Rotation > dataset.RotationWXYZ }):
		return "columns with a rotation that there is not"
	}
	return checkOffsets(p.Offsets, episodes, v.Dim(0))
}

// checkOffsets says what is wrong with where episodes begin among samples, or nothing.
func checkOffsets(offsets []int64, episodes, samples int) string {
	if len(offsets) != episodes+1 || offsets[0] != 0 || offsets[episodes] != int64(samples) {
		return fmt.Sprintf("%d offsets of %d episodes and %d samples", len(offsets), episodes, samples)
	}
	for e := range episodes {
		if offsets[e] > offsets[e+1] {
			return fmt.Sprintf("offsets %d and %d of episode %d", offsets[e], offsets[e+1], e)
		}
	}
	return ""
}
