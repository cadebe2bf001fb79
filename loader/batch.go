package loader

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Batch is B windows, in tensors on the loader's device. A window is an anchor with the streams' values around it.
type Batch struct {
	Streams []BatchStream
	Cameras []BatchCamera // in the order of Options.Cameras
	// Episodes, Ticks and Anchors are [B], i64. Episodes has the windows' episodes by the loader's own count; [Loader.EpisodeOf]
	// returns the number in the store. Ticks has the number of the anchor in its episode, and Anchors its time, ns. A row without
	// a window has episode and tick -1.
	Episodes, Ticks, Anchors *tensor.Tensor

	device *ops.Device
	parts  []part
	groups []group
	isCopy bool // by Host
}

// BatchStream is a stream in a batch. The tensors may be strided, because streams with the same window share one tensor.
type BatchStream struct {
	Name    string
	Columns []dataset.Column
	Values  *tensor.Tensor // [B,T,D], for T targets in a window and D columns; [B,T,K,3] for align.Points
	Valid   *tensor.Tensor // [B,T] u8: 1 if the value is valid, as in ops.ResampleArgs
	Pad     *tensor.Tensor // [B,T] u8: 1 if the target lies outside the stream's samples
	Age     *tensor.Tensor // [B,T] i64, ns; nil unless Options.Age
	// Grid is [B,T,100,100,100] u8 in the order x, y, z, for align.Points with a Grid, else nil: 1 in cells that have a point, else 0. It
	// is made from Values, so if Valid is 0, it is the grid of the end sample or of the fill value.
	Grid *tensor.Tensor
}

// BatchCamera is a camera in a batch.
type BatchCamera struct {
	Name string
	// Frames is [B,T,H,W,3], or [B,T,3,H,W] with the layout CHW: red, green, blue, from the top. Without a frame they are made from black.
	Frames *tensor.Tensor
	Stored StoredFrames   // without Frames, with Options.Unmade
	Valid  *tensor.Tensor // [B,T] u8: 1 if there is a frame, by the rules for a stream
	Pad    *tensor.Tensor // [B,T] u8: 1 if the target lies outside the camera's frames
	Age    *tensor.Tensor // [B,T] i64, ns: how much older the frame is than its target; nil unless Options.Age
}

// StoredFrames has stored frames, from which a batch's frames are made.
type StoredFrames struct {
	// Frames are different ones, at most B*T, with the shape from [Camera.Stored]. Before the first batch they are B*T.
	Frames *tensor.Tensor
	Select *tensor.Tensor // [B*T] i64: the target's place in Frames, or NoPlace
	Keys   *tensor.Tensor // [B,2] i64: each window's epoch and position; nil if the camera's frames do not depend on them
}

// Stream returns the stream with a name, or nil.
func (b *Batch) Stream(name string) *BatchStream {
	for i := range b.Streams {
		if b.Streams[i].Name == name {
			return &b.Streams[i]
		}
	}
	return nil
}

// views sets the values and masks of a group's streams to views on the group's tensors.
func (b *Batch) views(parts []part, g *group) error {
	rows, t, m := g.values.Dim(0), g.values.Dim(1), len(g.parts)
	lo := 0
	for k, i := range g.parts {
		p := &parts[i]
		out := BatchStream{Name: p.name, Columns: p.columns, Grid: g.grid}
		var errs [4]error
		out.Values, errs[0] = g.values.Slice(2, lo, lo+p.width)
		if p.points != nil {
			width := g.values.Dim(2)
			out.Values, errs[0] = g.values.AsStrided([]int{rows, t, p.width / 3, 3}, []int{t * width, width, 3, 1}, lo)
		}
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

// Host returns a copy of the batch on the host, with contiguous tensors. The copy does not change when the next batch is made or the
// loader is closed. If the batch is such a copy already, Host returns it.
func (b *Batch) Host(ctx context.Context) (*Batch, error) {
	if b.isCopy {
		return b, nil
	}
	out := &Batch{isCopy: true, Streams: make([]BatchStream, len(b.Streams))}
	copied := map[*tensor.Tensor]*tensor.Tensor{}
	host := func(t *tensor.Tensor) (*tensor.Tensor, error) {
		if t == nil || copied[t] != nil {
			return copied[t], nil
		}
		c, err := tensor.New(t.DType(), t.Shape()...)
		if err == nil {
			err = b.device.Copy(ctx, c, t)
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
	for k := range b.groups { // whole groups, because a strided view on a device cannot be copied
		g := &b.groups[k]
		whole := group{parts: g.parts}
		keep(&whole.values, g.values)
		keep(&whole.valid, g.valid)
		keep(&whole.pad, g.pad)
		keep(&whole.age, g.age)
		keep(&whole.grid, g.grid)
		if err := errors.Join(errs...); err != nil {
			return nil, err
		}
		if err := out.views(b.parts, &whole); err != nil {
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
	for i := range out.Streams {
		s := &out.Streams[i]
		for _, t := range []**tensor.Tensor{&s.Values, &s.Valid, &s.Pad, &s.Age} {
			if *t != nil {
				c, err := (*t).Contiguous()
				*t, errs = c, append(errs, err)
			}
		}
	}
	return out, errors.Join(errs...)
}

// Digest returns a hash of a window (FNV-1a, 64 bits, little-endian elements). It covers the anchor, then values, valid, pad and grid of
// each stream, then frames, valid and pad of each camera. The batch must be on the host. Equal windows have equal digests on every device. A
// row outside the batch is an *OptionError.
func (b *Batch) Digest(row int) (uint64, error) {
	if n := b.Anchors.Dim(0); row < 0 || row >= n {
		return 0, refuse("row", fmt.Sprint(row), fmt.Sprintf("0 to %d", n-1))
	}
	tensors := []*tensor.Tensor{b.Anchors}
	for i := range b.Streams {
		s := &b.Streams[i]
		tensors = append(tensors, s.Values, s.Valid, s.Pad, s.Grid)
	}
	for i := range b.Cameras {
		c := &b.Cameras[i]
		if c.Frames == nil {
			return 0, refuse("Unmade", "it", "frames that are made")
		}
		tensors = append(tensors, c.Frames, c.Valid, c.Pad)
	}
	h := fnv.New64a()
	for _, t := range tensors {
		if t == nil {
			continue
		}
		window, err := t.Slice(0, row, row+1)
		if err == nil {
			err = npy.WriteData(h, window)
		}
		if err != nil {
			return 0, err
		}
	}
	return h.Sum64(), nil
}
