package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/tensor"
)

// Store is a dataset whose episodes are packed: of each stream the samples of all episodes, one episode after the other. It is a [dataset.Dataset]
// of the same episodes, whose streams are views of the packed tensors.
//
// The tensors of a store that Open has opened are views of its file, which is mapped into memory: nothing of them is read before it is wanted, and
// what is not in use takes no memory. They may not be written, and end with Close; so do the episodes. A file that is cut short while it is open
// takes them with it, and who reads what is gone outside of Guard ends the program, as the system has it. Episode looks at the file's size first.
//
// It keeps of an episode what bears on its streams. What else a recording says of itself, Attributes.Other, and where it was, is not there.
type Store struct {
	name, format string
	info         dataset.Info
	Streams      []Stream
	Media        []Media
	Episodes     []Episode
	Skipped      dataset.Notes // of ClassSkipped: episodes of the dataset that could not be read; Row has the number
	Sources      []Source      // the files that it was packed from, if the builder was told: see SourcesOf
	// Shard says which part of the dataset it has, if it is one file of a store in several; nil of a whole store, be it one file or a folder.
	Shard *Shard

	file   *safetensors.File // nil of one that was built
	shards []*Store          // of a folder, in order; each has its file
	begins []int             // of the shards: the number that their first episode has here
	closed atomic.Bool
}

// Stream is a packed stream.
type Stream struct {
	Name    string
	Columns []dataset.Column
	Values  *tensor.Tensor // [N,D]; nil of a store in several files: what is not in one piece is had by Store.Episode
	Times   *tensor.Tensor // [N], i64 nanoseconds; nil likewise
	Offsets []int64        // [E+1]: episode e has the samples Offsets[e] to Offsets[e+1]-1
	// Rounded counts the values that the dtype of Values could not hold, Overflowed those of them that became infinite, and Inexact the whole numbers
	// that had been rounded when they were read.
	Rounded, Overflowed, Inexact int

	at     []int     // of the values, where they are in another order in the file
	shards []*Stream // of a store in several files, where it is in each; nil where it is not
	begins []int     // as those of the store
}

// Samples returns N, the samples of all episodes.
func (p *Stream) Samples() int { return int(p.Offsets[len(p.Offsets)-1]) }

// DType returns the dtype of the values.
func (p *Stream) DType() tensor.DType {
	return p.parts()[0].Values.DType()
}

// parts are the stream in the files that have it.
func (p *Stream) parts() []*Stream {
	if p.shards == nil {
		return []*Stream{p}
	}
	return slices.DeleteFunc(slices.Clone(p.shards), func(s *Stream) bool { return s == nil })
}

// saved are the stream's tensors.
func (p *Stream) saved() []saved {
	var times []*tensor.Tensor
	for _, s := range p.parts() {
		times = append(times, s.Times)
	}
	n := p.Samples()
	values := func(w io.Writer) error {
		for _, s := range p.parts() {
			if err := s.writeValues(w); err != nil {
				return err
			}
		}
		return nil
	}
	return []saved{{p.Name + ".values", p.DType(), []int{n, len(p.Columns)}, values}, savedOf(p.Name+".times", tensor.I64, []int{n}, times...),
		savedInts(p.Name+".offsets", p.Offsets)}
}

// writeValues writes those of one file.
func (p *Stream) writeValues(w io.Writer) error {
	if p.at == nil {
		return npy.WriteData(w, p.Values)
	}
	const rows = 1 << 14 // that are put in order at a time
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

// of returns views of an episode's samples.
func (p *Stream) of(i int) (times, values *tensor.Tensor, err error) {
	if p.shards != nil {
		k := shardAt(p.begins, i)
		return p.shards[k].of(i - p.begins[k])
	}
	lo, hi := int(p.Offsets[i]), int(p.Offsets[i+1])
	if times, err = p.Times.Slice(0, lo, hi); err != nil {
		return nil, nil, err
	}
	if values, err = p.Values.Slice(0, lo, hi); err != nil || p.at == nil {
		return times, values, err
	}
	values, err = values.Take(1, p.at)
	return times, values, err
}

// Episode is what a store knows of an episode besides its samples.
type Episode struct {
	Name     string            `json:"name"`
	Number   int               `json:"number"` // in the dataset
	Task     string            `json:"task,omitempty"`
	Success  *bool             `json:"success,omitempty"`
	Splits   []string          `json:"splits,omitempty"`
	Frames   int               `json:"frames,omitempty"`
	Rotation dataset.Rotation  `json:"rotation,omitempty"` // 1 for xyzw, 2 for wxyz
	Empty    []EmptyStream     `json:"empty,omitempty"`    // declared streams without samples
	Dropouts []dataset.Dropout `json:"dropouts,omitempty"`
	Notes    dataset.Notes     `json:"notes,omitempty"` // streams that are not packed, damage, and remarks
}

// EmptyStream is what a recording says of a stream that is left out because it has no samples.
type EmptyStream struct {
	Name    string           `json:"name"`
	Columns []dataset.Column `json:"columns,omitempty"`
	DType   string           `json:"dtype,omitempty"` // of its values
}

// Name returns the dataset's name.
func (s *Store) Name() string { return s.name }

// Format returns the dataset's format: "lerobot".
func (s *Store) Format() string { return s.format }

// Info returns what the dataset said of itself. The episodes of splits are numbers of the dataset, of which some may have been skipped.
func (s *Store) Info() dataset.Info { return s.info }

// Len returns the number of episodes.
func (s *Store) Len() int { return len(s.Episodes) }

// Close closes the packed tensors and the file, when nothing that is guarded reads them any more. Close twice is fine. Use after it is an error that
// is dataset.ErrClosed, but for memory that was taken of a tensor before, as tensor.Data gives it: of a mapped file that is gone.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	if s.shards != nil {
		var errs []error
		for _, shard := range s.shards {
			errs = append(errs, shard.Close())
		}
		return errors.Join(errs...)
	}
	for i := range s.Streams {
		s.Streams[i].Values.Close() // which of host memory says no more than that
		s.Streams[i].Times.Close()
	}
	for i := range s.Media {
		s.Media[i].close()
	}
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// Guard calls do, which may read the packed tensors and the episodes in this goroutine, and returns its error. If the file was cut short under it,
// that is a *dataset.FormatError that is dataset.ErrTruncated. Close waits for it; after Close it is an error that is dataset.ErrClosed. Guards may
// be nested.
func (s *Store) Guard(do func() error) error {
	if err := s.usable(); err != nil {
		return err
	}
	for _, shard := range s.shards {
		inner := do
		do = func() error { return shard.Guard(inner) }
	}
	if s.file == nil {
		return do()
	}
	return s.file.Guard(do)
}

// usable returns an error if the store is closed, or its file shorter than it was.
func (s *Store) usable() error {
	switch {
	case s.closed.Load():
		return fmt.Errorf("loader: %w", dataset.ErrClosed)
	case s.file != nil:
		return s.file.Whole()
	}
	return nil
}

// Stream returns the packed stream of that name, or nil.
func (s *Store) Stream(name string) *Stream {
	if i := slices.IndexFunc(s.Streams, func(p Stream) bool { return p.Name == name }); i >= 0 {
		return &s.Streams[i]
	}
	return nil
}

// empty adds the streams without samples to an episode, and a note about each: those that other episodes have first.
func (s *Store) empty(e *dataset.Episode, i int) {
	var list dataset.Notes
	for m := range s.Streams {
		p := &s.Streams[m]
		if p.Offsets[i] < p.Offsets[i+1] {
			continue
		}
		e.Empty = append(e.Empty, dataset.EmptyStream{Name: p.Name, Columns: p.Columns, DType: p.DType()})
		if e.Notes.LeftOut(p.Name) == nil {
			list = append(list, dataset.Note{Code: dataset.CodeNoSamples, Subject: p.Name})
		}
	}
	for _, o := range s.Episodes[i].Empty {
		if e.EmptyStream(o.Name) == nil {
			dtype, _ := tensor.ParseDType(o.DType) // what is none is 0
			e.Empty = append(e.Empty, dataset.EmptyStream{Name: o.Name, Columns: o.Columns, DType: dtype})
		}
	}
	e.Notes = append(list, e.Notes...)
}

// holder returns the store whose file an episode is in: a shard of a folder, or the store itself.
func (s *Store) holder(i int) *Store {
	if s.shards == nil || i < 0 || i >= len(s.Episodes) {
		return s
	}
	return s.shards[shardAt(s.begins, i)]
}

// Episode returns an episode as views of the packed tensors.
func (s *Store) Episode(_ context.Context, i int) (*dataset.Episode, error) {
	if i < 0 || i >= len(s.Episodes) {
		return nil, &dataset.RangeError{What: "episode", Got: i, Len: len(s.Episodes)}
	}
	if err := s.usable(); err != nil {
		return nil, err
	}
	if err := s.holder(i).usable(); err != nil {
		return nil, err
	}
	in := &s.Episodes[i]
	e := &dataset.Episode{Name: in.Name, Frames: in.Frames, Rotation: in.Rotation, Attributes: dataset.Attributes{Task: in.Task, Success: in.Success},
		Dropouts: in.Dropouts, Notes: in.Notes}
	s.empty(e, i)
	for m := range s.Streams {
		p := &s.Streams[m]
		if p.Offsets[i] == p.Offsets[i+1] {
			continue
		}
		times, values, err := p.of(i)
		if err != nil {
			return nil, err
		}
		e.Streams = append(e.Streams, dataset.Stream{Name: p.Name, Times: times, Values: values, Columns: p.Columns})
	}
	return e, s.addMedia(e, i)
}

// names returns those of the packed streams.
func (s *Store) names() []string {
	list := make([]string, len(s.Streams))
	for i := range s.Streams {
		list[i] = s.Streams[i].Name
	}
	return list
}

// read returns an episode and what is known of it.
func (s *Store) read(ctx context.Context, i int) (*dataset.Episode, *Episode, error) {
	e, err := s.Episode(ctx, i)
	return e, &s.Episodes[i], err
}

func (s *Store) guard(i int, do func() error) error { return s.holder(i).Guard(do) }

// media returns an episode's media streams.
func (s *Store) media(ctx context.Context, i int) ([]dataset.Media, error) {
	e, err := s.Episode(ctx, i)
	if err != nil {
		return nil, err
	}
	return e.Media, nil
}

// OptionError is an option that cannot be. Arg is a field of the options, or a key of the plan: "plan.windows.action".
type OptionError = dataset.OptionError

// refuse returns the *OptionError of an option.
func refuse(arg, got, want string) error { return &OptionError{Arg: arg, Got: got, Want: want} }
