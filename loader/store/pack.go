package store

import (
	"context"
	"io"

	"github.com/robocache/robocache/tensor"
)

// packer appends episodes to packed streams.
type packer struct {
	pool
	as          tensor.DType
	strict      bool
	only        []string
	columns     map[string][]string // as BuildOptions.Columns
	refused     map[string]error    // streams that have not had these so far, with the error of the first
	at          map[string]int
	packed      []streamPacker
	episodes    []Episode
	streamNames []string // streams that there are and that nobody asked for, too

	cameras    []string // as BuildOptions.Media
	media      []mediaPacker
	mediaNames []string
	foreseen   map[string]int64  // bytes that the frames of each may have in the end
	large      func(bytes int64) // as BuildOptions.Large; nil once it was told
}

// streamPacker is a packed stream of which episodes are still to come.
type streamPacker struct {
	Stream
	values floats
	times  *list[int64]
}

// endAt notes where the samples of so many episodes end. Those of episodes that have none are where others end.
func endAt(offsets []int64, episodes, end int) []int64 {
	for len(offsets) <= episodes {
		offsets = append(offsets, offsets[len(offsets)-1])
	}
	offsets[episodes] = int64(end)
	return offsets
}

// streams returns the packed streams, when no more episodes come. Their tensors are nil unless all is in memory.
func (p *packer) streams() ([]Stream, error) {
	all := make([]Stream, len(p.packed))
	for m := range p.packed {
		g := &p.packed[m]
		all[m] = g.Stream
		if p.path != "" {
			continue
		}
		var err error
		if all[m].Values, err = g.values.tensor(g.times.len(), len(g.Columns)); err != nil {
			return nil, err
		}
		if all[m].Times, err = g.times.tensor(g.times.len()); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// fileTensors returns the packed tensors, when no more episodes come. Their elements are written as long as ctx lasts.
func (p *packer) fileTensors(ctx context.Context) []fileTensor {
	var all []fileTensor
	grown := func(name string, c column, shape ...int) {
		all = append(all, fileTensor{name, c.dtype(), shape, func(w io.Writer) error { return c.write(&p.pool, contextWriter{ctx, w}) }})
	}
	for m := range p.packed {
		g := &p.packed[m]
		n := g.times.len()
		grown(g.Name+".values", g.values, n, len(g.Columns))
		grown(g.Name+".times", g.times, n)
		all = append(all, newFileInts(g.Name+".offsets", g.Offsets))
	}
	for m := range p.media {
		g := &p.media[m]
		grown(g.Name+".frames", g.frames, g.frames.len())
		grown(g.Name+".frame_offsets", g.ends, g.ends.len())
		grown(g.Name+".times", g.times, g.times.len())
		all = append(all, newFileInts(g.Name+".offsets", g.Offsets))
	}
	return all
}

// leftOut returns a *MediaError if an episode leaves a media stream out.
func (p *packer) leftOut(media string) error {
	for _, e := range p.episodes {
		if n := e.Notes.LeftOut(media); n != nil {
			return &MediaError{media, e.Name, *n}
		}
	}
	return nil
}

// packedMedia returns the packed media streams, when no more episodes come. Their tensors are nil unless all is in memory.
func (p *packer) packedMedia() ([]Media, error) {
	var all []Media
	for k := range p.media {
		g := &p.media[k]
		m := g.Media
		if p.path == "" {
			for _, t := range []struct {
				to   **tensor.Tensor
				from column
			}{{&m.Frames, g.frames}, {&m.FrameOffsets, g.ends}, {&m.Times, g.times}} {
				var err error
				if *t.to, err = t.from.tensor(t.from.len()); err != nil {
					return nil, err
				}
			}
		}
		all = append(all, m)
	}
	return all, nil
}

// BuildOptions say how a store is packed. The zero value takes all streams, in float32 where they have doubles.
type BuildOptions struct {
	Streams []string // those to take, by name; all unless given
	// Columns are those to take of a stream, by its name, as align.Stream has them; all that the first episode has unless given. An episode without them leaves
	// the stream out. A range takes all, since it counts columns.
	Columns map[string][]string
	Media   []string     // media streams to take, by name, or AllMedia; none unless given; of videos those of logs, whose frames need no file
	DType   tensor.DType // of all values: F32, F16 or BF16, or F64; F32 unless given. What it does not hold is rounded and counted
	Workers int          // episodes that are read at a time; as many as there are processors unless given
	// Strict makes an episode that cannot be read an error; else it is skipped and listed.
	Strict bool
	// Episodes are the numbers of those to take, ascending; all unless given. The others are as if the dataset had them not, but for the numbers.
	Episodes []int
	// Progress is told how many episodes are done, after each.
	Progress func(done, of int)
	// Large is told once by Build, before most of them are read, about how many bytes of memory frames will take, if that is over 1 GiB.
	Large func(bytes int64)
	// Replace lets PackShard replace shards that were packed otherwise.
	Replace bool
	// Sources are the files that the dataset is read from, for Store.Sources. They are best hashed before: what changes meanwhile makes the store stale.
	Sources []Source

	shard *Shard // the part of the dataset to pack; all of it unless given
}

// mediaPacker is a packed media stream of which episodes are still to come.
type mediaPacker struct {
	Media
	frames *list[uint8]
	ends   *list[int64]
	times  *list[int64]
}

// newPacker returns a packer that keeps all in memory, or with a path what fits; the rest is in a file beside that, until the packer is closed.
func newPacker(path string, opt *BuildOptions) (*packer, error) {
	p := &packer{pool: pool{path: path}, as: opt.DType, strict: opt.Strict, only: opt.Streams, columns: opt.Columns, refused: map[string]error{}, at: map[string]int{}, cameras: opt.Media, large: opt.Large}
	switch opt.DType {
	case 0:
		p.as = tensor.F32
	case tensor.F32, tensor.F16, tensor.BF16, tensor.F64:
	default:
		return nil, refuse("DType", opt.DType.String(), "f32, f64, f16 or bf16")
	}
	return p, nil
}

// contextWriter writes as long as a context lasts.
type contextWriter struct {
	ctx context.Context
	w   io.Writer
}

func (w contextWriter) Write(b []byte) (int, error) {
	if err := w.ctx.Err(); err != nil {
		return 0, err
	}
	return w.w.Write(b)
}
