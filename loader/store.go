package loader

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Store is a dataset whose episodes are packed: of each stream the samples of all episodes, one episode after the other. It is a [dataset.Dataset]
// of the same episodes, whose streams are views of the packed tensors.
type Store struct {
	name, format string
	info         dataset.Info
	Streams      []Stream
	Episodes     []Episode
	Skipped      []Skipped // episodes of the dataset that could not be read
	Sources      []Source  // the files that it was packed from, if the builder was told: see SourcesOf
}

// Stream is a packed stream.
type Stream struct {
	Name    string
	Columns []dataset.Column
	Values  *tensor.Tensor // [N,D]
	Times   *tensor.Tensor // [N], i64 nanoseconds
	Offsets []int64        // [E+1]: episode e has the samples Offsets[e] to Offsets[e+1]-1
	// Rounded counts the values that the dtype of Values could not hold, Overflowed those of them that became infinite, and Inexact the whole numbers
	// that had been rounded when they were read.
	Rounded, Overflowed, Inexact int
}

// Episode is what a store knows of an episode besides its samples.
type Episode struct {
	Name    string    `json:"name"`
	Number  int       `json:"number"` // in the dataset
	Task    string    `json:"task,omitempty"`
	Success *bool     `json:"success,omitempty"`
	Splits  []string  `json:"splits,omitempty"`
	Frames  int       `json:"frames,omitempty"`
	LeftOut []LeftOut `json:"left_out,omitempty"` // streams of it that are not packed, and damage
}

// LeftOut is a stream that is not there, and why.
type LeftOut struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Skipped is an episode that could not be read.
type Skipped struct {
	Number int    `json:"number"`
	Reason string `json:"reason"`
}

// BuildOptions say how a store is packed. The zero value takes all streams, in float32 where they have doubles.
type BuildOptions struct {
	Streams []string     // those to take, by name; all unless given
	DType   tensor.DType // of all values: F32, F16 or BF16, or F64; F32 unless given. What it does not hold is rounded and counted
	Workers int          // episodes that are read at a time; as many as there are processors unless given
	// Strict makes an episode that cannot be read an error; else it is skipped and listed.
	Strict bool
	// Progress is told how many episodes are done, after each.
	Progress func(done, of int)
}

// Build packs the episodes of a dataset. A stream that another episode has with other columns is left out there, and listed; an episode without any
// stream has its place all the same.
func Build(ctx context.Context, d dataset.Dataset, opt BuildOptions) (*Store, error) {
	dtype := opt.DType
	switch dtype {
	case 0:
		dtype = tensor.F32
	case tensor.F32, tensor.F16, tensor.BF16, tensor.F64:
	default:
		return nil, &OptionError{"DType", dtype.String(), "f32, f64, f16 or bf16"}
	}
	workers := opt.Workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	p := packer{dtype: dtype, only: opt.Streams, at: map[string]int{}}
	info := d.Info()
	splits := splitsOf(&info, d.Len())
	var skipped []Skipped
	i := -1
	for e, err := range dataset.Parallel(ctx, d, workers) {
		i++
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		switch {
		case err != nil && opt.Strict:
			return nil, err
		case err != nil:
			skipped = append(skipped, Skipped{i, err.Error()})
		default:
			if err := p.add(i, e, splits[i]); err != nil {
				return nil, err
			}
		}
		if opt.Progress != nil {
			opt.Progress(i+1, d.Len())
		}
	}
	s := &Store{name: d.Name(), format: d.Format(), info: info, Episodes: p.episodes, Skipped: skipped}
	for _, name := range opt.Streams {
		if _, there := p.at[name]; !there {
			return nil, &OptionError{"Streams", fmt.Sprintf("%q, which no episode has", name), "streams of the dataset: " + listed(p.seen)}
		}
	}
	var err error
	s.Streams, err = p.streams()
	return s, err
}

func splitsOf(info *dataset.Info, n int) [][]string {
	list := make([][]string, n)
	for _, s := range info.Splits {
		for _, e := range s.Episodes {
			if e >= 0 && e < n {
				list[e] = append(list[e], s.Name)
			}
		}
	}
	return list
}

// Name returns the dataset's name.
func (s *Store) Name() string { return s.name }

// Format returns the dataset's format: "lerobot".
func (s *Store) Format() string { return s.format }

// Info returns what the dataset said of itself. The episodes of splits are numbers of the dataset, of which some may have been skipped.
func (s *Store) Info() dataset.Info { return s.info }

// Len returns the number of episodes.
func (s *Store) Len() int { return len(s.Episodes) }

// Close closes the packed tensors. Close twice is fine.
func (s *Store) Close() error { return nil }

// Stream returns the packed stream of that name, or nil.
func (s *Store) Stream(name string) *Stream {
	if i := slices.IndexFunc(s.Streams, func(p Stream) bool { return p.Name == name }); i >= 0 {
		return &s.Streams[i]
	}
	return nil
}

// Episode returns an episode as views of the packed tensors.
func (s *Store) Episode(_ context.Context, i int) (*dataset.Episode, error) {
	if i < 0 || i >= len(s.Episodes) {
		return nil, &dataset.RangeError{What: "episode", Got: i, Len: len(s.Episodes)}
	}
	in := &s.Episodes[i]
	e := &dataset.Episode{Name: in.Name, Frames: in.Frames, Attributes: dataset.Attributes{Task: in.Task, Success: in.Success}}
	for m := range s.Streams {
		p := &s.Streams[m]
		lo, hi := int(p.Offsets[i]), int(p.Offsets[i+1])
		if lo == hi {
			e.LeftOut = append(e.LeftOut, dataset.LeftOut{Name: p.Name, Reason: "no samples", Columns: p.Columns, DType: p.Values.DType()})
			continue
		}
		times, err := p.Times.Slice(0, lo, hi)
		if err != nil {
			return nil, err
		}
		values, err := p.Values.Slice(0, lo, hi)
		if err != nil {
			return nil, err
		}
		e.Streams = append(e.Streams, dataset.Stream{Name: p.Name, Times: times, Values: values, Columns: p.Columns})
	}
	for _, l := range in.LeftOut {
		e.LeftOut = append(e.LeftOut, dataset.LeftOut{Name: l.Name, Reason: l.Reason})
	}
	return e, nil
}

// OptionError is an option that cannot be. It is dataset.ErrOption.
type OptionError struct{ Arg, Got, Want string }

func (e *OptionError) Error() string {
	return fmt.Sprintf("loader: option %s: got %s, want %s", e.Arg, e.Got, e.Want)
}

// Unwrap returns dataset.ErrOption.
func (e *OptionError) Unwrap() error { return dataset.ErrOption }
