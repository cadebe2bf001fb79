package loader

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Batch is B windows, in tensors on the device of the loader.
type Batch struct {
	Streams []BatchStream
	Cameras []BatchCamera // as Options.Cameras has them
	// Episodes, Ticks and Anchors [B], i64: the episode of each window as the loader counts those it draws from ([Loader.EpisodeOf] has its number in
	// the store), the number of its anchor in the episode, and that's time, ns. A row without a window has episode and tick -1.
	Episodes, Ticks, Anchors *tensor.Tensor

	loader *Loader
	copied bool // by Host
}

// BatchStream is a stream of a batch. The tensors may be strided: streams with the same window lie side by side.
type BatchStream struct {
	Name    string
	Columns []dataset.Column
	Values  *tensor.Tensor // [B,T,D]
	Valid   *tensor.Tensor // [B,T] u8: as in ops.ResampleArgs
	Pad     *tensor.Tensor // [B,T] u8: 1 where the target lies outside of what the episode has of the stream
	Age     *tensor.Tensor // [B,T] i64, ns; nil unless Options.Age
}

// BatchCamera is a camera of a batch.
type BatchCamera struct {
	Name   string
	Frames *tensor.Tensor // [B,T,H,W,3] u8: red, green, blue, from the top; black where there is none
	Valid  *tensor.Tensor // [B,T] u8, and the others as those of a stream
	Pad    *tensor.Tensor // [B,T] u8
	Age    *tensor.Tensor // [B,T] i64, ns: how much older the frame is than its target; nil unless Options.Age
}

// Stream returns the stream of that name, or nil.
func (b *Batch) Stream(name string) *BatchStream {
	for i := range b.Streams {
		if b.Streams[i].Name == name {
			return &b.Streams[i]
		}
	}
	return nil
}

// views gives the streams of a group their parts of its tensors.
func (b *Batch) views(l *Loader, g *group) error {
	rows, t, m := g.values.Dim(0), g.values.Dim(1), len(g.parts)
	lo := 0
	for k, i := range g.parts {
		p := &l.parts[i]
		out := BatchStream{Name: p.name, Columns: p.columns}
		var errs [4]error
		out.Values, errs[0] = g.values.Slice(2, lo, lo+p.width)
		for j, v := range []struct {
			to   **tensor.Tensor
			from *tensor.Tensor
		}{{&out.Valid, g.valid}, {&out.Pad, g.pad}, {&out.Age, g.age}} {
			if v.from == nil {
				continue
			}
			*v.to, errs[j+1] = v.from.AsStrided([]int{rows, t}, []int{t * m, m}, k)
		}
		if err := errors.Join(errs[:]...); err != nil {
			return err
		}
		b.Streams[i] = out
		lo += p.width
	}
	return nil
}

// Host returns a copy of the batch on the host, with contiguous tensors, which stays as it is when the next is made or the loader closed. Of such a
// copy it is the copy itself.
func (b *Batch) Host(ctx context.Context) (*Batch, error) {
	if b.copied {
		return b, nil
	}
	out := &Batch{loader: b.loader, copied: true, Streams: make([]BatchStream, len(b.Streams))}
	copied := map[*tensor.Tensor]*tensor.Tensor{}
	host := func(t *tensor.Tensor) (*tensor.Tensor, error) {
		if t == nil || copied[t] != nil {
			return copied[t], nil
		}
		c, err := tensor.New(t.DType(), t.Shape()...)
		if err == nil {
			err = b.loader.device.Copy(ctx, c, t)
		}
		copied[t] = c
		return c, err
	}
	var errs []error
	keep := func(to **tensor.Tensor, from *tensor.Tensor) {
		c, err := host(from)
		*to = c
		errs = append(errs, err)
	}
	keep(&out.Episodes, b.Episodes)
	keep(&out.Ticks, b.Ticks)
	keep(&out.Anchors, b.Anchors)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for k := range b.loader.groups { // whole groups: views of what lies on a device cannot be copied
		g := &b.loader.groups[k]
		whole := group{parts: g.parts}
		keep(&whole.values, g.values)
		keep(&whole.valid, g.valid)
		keep(&whole.pad, g.pad)
		keep(&whole.age, g.age)
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		if err := out.views(b.loader, &whole); err != nil {
			return nil, err
		}
	}
	for i := range b.Cameras {
		c := b.Cameras[i]
		keep(&c.Frames, c.Frames)
		keep(&c.Valid, c.Valid)
		keep(&c.Pad, c.Pad)
		keep(&c.Age, c.Age)
		out.Cameras = append(out.Cameras, c)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i := range out.Streams {
		s := &out.Streams[i]
		for _, t := range []**tensor.Tensor{&s.Values, &s.Valid, &s.Pad, &s.Age} {
			if *t == nil {
				continue
			}
			c, err := (*t).Contiguous()
			if err != nil {
				return nil, err
			}
			*t = c
		}
	}
	return out, nil
}

// Digest returns a hash of a window of a batch on the host: of its anchor, values, valid and pad, stream by stream, and then of the frames, camera by
// camera (FNV-1a, 64 bits). Equal windows have equal digests on every device. A row that the batch has not is an *OptionError.
func (b *Batch) Digest(row int) (uint64, error) {
	h := fnv.New64a()
	var word [8]byte
	put := func(v uint64, size int) {
		binary.LittleEndian.PutUint64(word[:], v)
		_, _ = h.Write(word[:size]) // which never fails
	}
	anchors, err := tensor.Data[int64](b.Anchors)
	if err != nil {
		return 0, err
	}
	if row < 0 || row >= len(anchors) {
		return 0, refuse("row", fmt.Sprint(row), fmt.Sprintf("0 to %d", len(anchors)-1))
	}
	put(uint64(anchors[row]), 8)
	for i := range b.Streams {
		s := &b.Streams[i]
		n := s.Values.Dim(1) * s.Values.Dim(2)
		bits, size, err := bitsOf(s.Values)
		if err != nil {
			return 0, err
		}
		for k := row * n; k < (row+1)*n; k++ {
			put(bits(k), size)
		}
		for _, t := range []*tensor.Tensor{s.Valid, s.Pad} {
			flags, err := tensor.Data[uint8](t)
			if err != nil {
				return 0, err
			}
			t := s.Values.Dim(1)
			_, _ = h.Write(flags[row*t : (row+1)*t])
		}
	}
	for i := range b.Cameras {
		c := &b.Cameras[i]
		for _, t := range []*tensor.Tensor{c.Frames, c.Valid, c.Pad} {
			bytes, err := tensor.Data[uint8](t)
			if err != nil {
				return 0, err
			}
			n := t.Len() / t.Dim(0)
			_, _ = h.Write(bytes[row*n : (row+1)*n])
		}
	}
	return h.Sum64(), nil
}

// bitsOf returns the bits of a tensor's elements and their size in bytes.
func bitsOf(t *tensor.Tensor) (bits func(i int) uint64, size int, err error) {
	switch t.DType() {
	case tensor.F64:
		list, err := tensor.Data[float64](t)
		return func(i int) uint64 { return math.Float64bits(list[i]) }, 8, err
	case tensor.F16:
		list, err := tensor.Data[tensor.Float16](t)
		return func(i int) uint64 { return uint64(list[i]) }, 2, err
	case tensor.BF16:
		list, err := tensor.Data[tensor.BFloat16](t)
		return func(i int) uint64 { return uint64(list[i]) }, 2, err
	}
	list, err := tensor.Data[float32](t)
	return func(i int) uint64 { return uint64(math.Float32bits(list[i])) }, 4, err
}

// EpisodeOf returns the number in the store of an episode of a batch, -1 for one of -1.
func (l *Loader) EpisodeOf(episode int64) int {
	if episode < 0 || episode >= int64(len(l.numbers)) {
		return -1
	}
	return l.numbers[episode]
}

// State is all that has to be kept to go on from a batch: on another device, with another number of ranks or size of batch, the windows that follow
// are the same. Its JSON names are a contract.
type State struct {
	Version int    `json:"version"` // 1
	Seed    uint64 `json:"seed"`
	Epoch   int64  `json:"epoch"`
	Taken   int64  `json:"taken"`   // positions of the epoch that all ranks together have taken
	Windows int    `json:"windows"` // of an epoch
	// ShardWindows and MixShards are those of an order of shards, 0 of another.
	ShardWindows int `json:"shard_windows,omitempty"`
	MixShards    int `json:"mix_shards,omitempty"`
	// Mixture is the stores of a weighted mixture.
	Mixture []MixtureState `json:"mixture,omitempty"`
}

// State returns the state after the last batch. Batches that were given to a queue of the caller's must be done.
func (l *Loader) State(ctx context.Context) (State, error) {
	at, err := l.feed.cursor(ctx)
	return l.StateAt(at.Epoch, at.Taken), err
}

// StateAt returns the state of a place in the order, whether there is such a place or not.
func (l *Loader) StateAt(epoch, taken int64) State {
	return State{Version: 1, Seed: l.order.Seed, Epoch: epoch, Taken: taken, Windows: l.report.Windows,
		ShardWindows: l.report.ShardWindows, MixShards: l.report.MixShards, Mixture: l.mixtureStates()}
}

// StateError is a state that another order of windows has left.
type StateError struct{ What, Got, Want string }

func (e *StateError) Error() string {
	return fmt.Sprintf("loader: state: %s: got %s, want %s", e.What, e.Got, e.Want)
}

// Unwrap returns ops.ErrOption.
func (e *StateError) Unwrap() error { return ops.ErrOption }

// mostEpochs is the last epoch that Resume goes to: there are as many behind it.
const mostEpochs = 1 << 62

// Resume goes on from a state. One of another seed, of another number of windows, of other shards or of another mixture is a *StateError: the windows
// that follow would not be those that the state was followed by.
func (l *Loader) Resume(ctx context.Context, s State) error {
	if err := l.Check(s); err != nil {
		return err
	}
	if l.filmer != nil {
		l.filmer.stop() // and begins where the feed is
	}
	return l.feed.seek(ctx, ops.Cursor{Epoch: s.Epoch, Taken: s.Taken})
}

// Check returns the error that Resume has for a state, and changes nothing.
func (l *Loader) Check(s State) error {
	switch {
	case s.Version != 1:
		return &StateError{"version", fmt.Sprint(s.Version), "1"}
	case s.Seed != l.order.Seed:
		return &StateError{"seed", fmt.Sprint(s.Seed), fmt.Sprint(l.order.Seed)}
	case s.Windows != l.report.Windows:
		return &StateError{"windows of an epoch", fmt.Sprint(s.Windows), fmt.Sprint(l.report.Windows)}
	case !slices.Equal(s.Mixture, l.mixtureStates()):
		return &StateError{"mixture", fmt.Sprintf("%+v", s.Mixture), fmt.Sprintf("%+v", l.mixtureStates())}
	case s.ShardWindows != l.report.ShardWindows || s.MixShards != l.report.MixShards:
		return &StateError{"shards", shardsOf(s.ShardWindows, s.MixShards), shardsOf(l.report.ShardWindows, l.report.MixShards)}
	case s.Epoch < 0 || s.Epoch > mostEpochs || s.Taken < 0 || s.Taken > int64(s.Windows):
		return &StateError{"place", fmt.Sprintf("epoch %d, %d taken", s.Epoch, s.Taken), fmt.Sprintf("epoch 0 to %d, at most %d taken", mostEpochs, s.Windows)}
	}
	return nil
}

// shardsOf writes how an order is cut into shards.
func shardsOf(windows, mix int) string {
	if windows == 0 {
		return "none"
	}
	return fmt.Sprintf("of %d windows, %d mixed at a time", windows, mix)
}

// EpochEnds reports whether a state is at the end of its epoch: the next batch is one of another.
func (l *Loader) EpochEnds(s State) bool {
	begin, _ := l.order.Next(ops.Cursor{Epoch: s.Epoch, Taken: s.Taken})
	return begin.Epoch != s.Epoch
}

// Window returns a row of a batch as a stream on the times of its targets, and the episode that it is of, as the store or dataset has it: to look at,
// or to compare.
func (l *Loader) Window(ctx context.Context, store dataset.Dataset, b *Batch, row int, stream string) (*dataset.Episode, *dataset.Stream, error) {
	host, err := b.Host(ctx)
	if err != nil {
		return nil, nil, err
	}
	episodes, err := tensor.Data[int64](host.Episodes)
	if err != nil {
		return nil, nil, err
	}
	s := host.Stream(stream)
	if s == nil || row < 0 || row >= len(episodes) || episodes[row] < 0 {
		return nil, nil, refuse("Window", fmt.Sprintf("row %d of stream %q", row, stream), "a row that holds a window, and a stream of the batch")
	}
	e, err := store.Episode(ctx, l.EpisodeOf(episodes[row]))
	if err != nil {
		return nil, nil, err
	}
	anchors, err := tensor.Data[int64](host.Anchors)
	if err != nil {
		return nil, nil, err
	}
	var times []int64
	for i := range l.parts {
		if l.parts[i].name == stream {
			for _, d := range l.parts[i].deltas {
				times = append(times, anchors[row]+d)
			}
		}
	}
	values, err := s.Values.Slice(0, row, row+1)
	if err != nil {
		return nil, nil, err
	}
	if values, err = values.Reshape(s.Values.Dim(1), s.Values.Dim(2)); err != nil {
		return nil, nil, err
	}
	made, err := dataset.NewStream(stream, times, values, s.Columns)
	return e, &made, err
}
