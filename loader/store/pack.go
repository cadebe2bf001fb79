package store

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// packer appends episodes to packed streams.
type packer struct {
	pool
	as          tensor.DType
	double      func(s *dataset.Stream) bool // as BuildOptions.Double
	strict      bool
	only        []string
	columns     map[string][]string // as BuildOptions.Columns
	refused     map[string]error    // by stream: the first error, while no episode has the columns
	at          map[string]int
	packed      []streamPacker
	episodes    []Episode
	tasks       []string // of the dataset
	streamNames []string // all streams in the dataset, also those that are not packed

	cameras    []string        // as BuildOptions.Media
	sizes      map[string]Size // as BuildOptions.Frames
	workers    int
	media      []mediaPacker
	mediaNames []string
}

// streamPacker is a packed stream that grows with each episode.
type streamPacker struct {
	Stream
	values floats
	times  *list[int64]
}

// endAt sets offsets[episodes] to end and returns the offsets. Missing offsets before it repeat the last one, so that their episodes have
// no samples.
func endAt(offsets []int64, episodes, end int) []int64 {
	for len(offsets) <= episodes {
		offsets = append(offsets, offsets[len(offsets)-1])
	}
	offsets[episodes] = int64(end)
	return offsets
}

// streams returns the packed streams, after the last episode. Their tensors are nil unless all is in memory.
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

// fileTensors returns the packed tensors, after the last episode. They can be written until ctx ends.
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

// leftOut returns a *MediaError if an episode leaves out a media stream.
func (p *packer) leftOut(media string) error {
	for _, e := range p.episodes {
		if n := e.Notes.LeftOut(media); n != nil {
			return &MediaError{media, e.Name, *n}
		}
	}
	return nil
}

// packedMedia returns the packed media streams, after the last episode. Their tensors are nil unless all is in memory.
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

// BuildOptions set how a store is packed. The zero value packs all streams in float32.
type BuildOptions struct {
	Streams []string // the names of the streams to pack; by default all
	// Columns are the columns to pack, by stream, as in align.Stream; by default all that the first episode has. An episode without
	// them leaves out the stream. A range packs all columns, because it counts columns.
	Columns map[string][]string
	// Media are the names of media streams, or AllMedia; by default none. Videos must come from logs, which contain their frames.
	Media []string
	// Frames are media streams by name, or AllMedia, to pack as pixels of a size: each frame is decoded and resized once, as a loader's
	// frames are, to raw rgb8 frames. A name in Frames or Media comes before AllMedia, and AllMedia in Frames before that in Media. A
	// frame that cannot be decoded keeps its place, without bytes; a note counts such frames.
	Frames map[string]Size
	// DType is the dtype of the values: F32 (the default), F16, BF16 or F64. Values that it cannot hold are rounded and counted.
	DType tensor.DType
	// Double selects streams to pack in F64 instead of DType. It is called with a stream of the first episode that has it. nil
	// selects none. A file has one dtype for each stream.
	Double  func(s *dataset.Stream) bool
	Workers int // how many episodes are read, and parts of a media stream decoded, at a time; by default one for each processor
	// Strict makes an episode that cannot be read an error. Else it is skipped and listed.
	Strict bool
	// Progress is called after each episode, with the count so far.
	Progress func(done, of int)
	// Replace lets PackShard replace shards with another packing.
	Replace bool
	// Sources are the dataset's files, for Store.Sources. Hash them before the dataset is read: then a file that changes meanwhile
	// makes the store stale.
	Sources []Source

	shard *Shard // the dataset's part to pack; nil packs all of it
}

// mediaPacker is a packed media stream that grows with each episode.
type mediaPacker struct {
	Media
	frames *list[uint8]
	ends   *list[int64]
	times  *list[int64]
}

// newPacker returns a packer. Without a path it keeps all numbers in memory. With a path it writes numbers beyond the limit to a file
// next to path, until it is closed.
func newPacker(path string, opt *BuildOptions) (*packer, error) {
	p := &packer{
		pool: pool{path: path}, as: opt.DType, strict: opt.Strict, only: opt.Streams, columns: opt.Columns, refused: map[string]error{},
		at: map[string]int{}, cameras: opt.Media, sizes: opt.Frames, workers: cmp.Or(opt.Workers, runtime.GOMAXPROCS(0)), double: opt.Double,
	}
	for _, name := range slices.Sorted(maps.Keys(opt.Frames)) {
		if size := opt.Frames[name]; size.Width < 1 || size.Height < 1 || slices.Contains(opt.Media, name) {
			return nil, refuse("Frames", fmt.Sprintf("%s=%dx%d", name, size.Width, size.Height), "a size from one pixel up, of a media stream that is not in Media")
		}
	}
	switch opt.DType {
	case 0:
		p.as = tensor.F32
	case tensor.F32, tensor.F16, tensor.BF16, tensor.F64:
	default:
		return nil, refuse("DType", opt.DType.String(), "f32, f64, f16 or bf16")
	}
	return p, nil
}

// contextWriter writes until a context ends.
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
