package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
)

// Group draws batches for several devices in one program. It has a [Loader] on each, with consecutive ranks, so the devices share
// the order of every epoch as separate programs would. Its methods must not be called concurrently.
type Group struct {
	loaders []*Loader
	batches []*Batch
	apart   error // the error of a step that only some devices made
}

// NewGroup calls open for each device, at the same time, and returns the loaders as a Group. open is for example [New], with the
// same dataset on each device. Options.Rank is the rank of the first device. Options.Ranks counts the devices in all programs; 0
// means the devices here. Each loader keeps its own frames. The caller closes the group, and then the devices. If a
// loader fails, NewGroup closes all of them and returns the error of the first device that failed.
func NewGroup(devices []*ops.Device, opt Options, open func(*ops.Device, Options) (*Loader, error)) (*Group, error) {
	if opt.Ranks == 0 {
		opt.Ranks = len(devices)
	}
	if len(devices) == 0 {
		return nil, refuse("devices", "none", "1 or more")
	}
	g := &Group{loaders: make([]*Loader, len(devices))}
	err := each(g.loaders, func(i int, _ *Loader) error {
		mine := opt
		mine.Rank += i
		l, err := open(devices[i], mine)
		g.loaders[i] = l
		return err
	})
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	for _, l := range g.loaders {
		g.batches = append(g.batches, l.Batch())
	}
	return g, nil
}

// each calls fn for all loaders at once, and returns the first loader's error.
func each(loaders []*Loader, fn func(i int, l *Loader) error) error {
	errs := make([]error, len(loaders))
	var all sync.WaitGroup
	for i, l := range loaders[1:] {
		all.Go(func() { errs[i+1] = fn(i+1, l) })
	}
	errs[0] = fn(0, loaders[0]) // in this goroutine, because starting one takes microseconds
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Loaders returns the loaders in rank order. Do not call Next on a single one.
func (g *Group) Loaders() []*Loader { return g.loaders }

// Next makes the next batch on every device, and returns when all are done. After an error some devices may have made one batch
// more than others. Next then returns the error again, until Resume.
func (g *Group) Next(ctx context.Context) error {
	if g.apart != nil {
		return g.apart
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := each(g.loaders, func(_ int, l *Loader) error { return l.Next(ctx) })
	if err != nil {
		g.apart = fmt.Errorf("loader: a step that not all devices have made: %w", err)
	}
	return err
}

// Batch returns the batch tensors by device. Row i on device d is the window at position i*Ranks+Rank+d, counted from the state
// before the batch. So consecutive positions are on different devices.
func (g *Group) Batch() []*Batch { return g.batches }

// Batches returns an iterator over batches on every device, without end: see [Loader.Batches].
func (g *Group) Batches(ctx context.Context) iter.Seq2[[]*Batch, error] {
	return func(yield func([]*Batch, error) bool) {
		for {
			if err := g.Next(ctx); err != nil {
				yield(nil, err)
				return
			}
			if !yield(g.batches, nil) {
				return
			}
		}
	}
}

// State returns the state after the last step that all devices made. Any loader with the same order can resume from it, in a group or
// alone.
func (g *Group) State(ctx context.Context) (State, error) {
	var least State
	for i, l := range g.loaders {
		s, err := l.State(ctx)
		if err != nil {
			return State{}, err
		}
		if i == 0 || s.Epoch < least.Epoch || s.Epoch == least.Epoch && s.Taken < least.Taken {
			least = s
		}
	}
	return least, nil
}

// Resume moves all devices to a state. Its errors are those of [Loader.Resume]. If only some devices moved, Next returns the error
// until the next Resume.
func (g *Group) Resume(ctx context.Context, s State) error {
	for i, l := range g.loaders {
		if err := l.Resume(ctx, s); err != nil {
			if i > 0 {
				g.apart = fmt.Errorf("loader: a state that not all devices have gone to: %w", err)
			}
			return err
		}
	}
	g.apart = nil
	return nil
}

// EpochEnds reports whether a state is at its epoch's end.
func (g *Group) EpochEnds(s State) bool { return g.loaders[0].EpochEnds(s) }

// Report returns the first loader's report, with the sums for device memory, pinned memory and unread windows.
func (g *Group) Report() Report {
	r := g.loaders[0].Report()
	r.Notes = slices.Clone(r.Notes)
	listed := map[string]bool{}
	for _, n := range r.Notes {
		listed[n.String()] = true
	}
	for _, l := range g.loaders[1:] {
		other := l.Report()
		r.Bytes += other.Bytes
		for _, n := range other.Notes {
			if !listed[n.String()] { // only this device failed to read it again
				listed[n.String()] = true
				r.Notes = append(r.Notes, n)
			}
		}
		for i := range r.Cameras {
			c, o := &r.Cameras[i], &other.Cameras[i]
			c.Bytes, c.Left, c.Decoded = c.Bytes+o.Bytes, c.Left+o.Left, c.Decoded+o.Decoded
			c.Bad, c.FirstBad = max(c.Bad, o.Bad), cmp.Or(c.FirstBad, o.FirstBad)
		}
		if r.Streaming != nil {
			r.Streaming.Pinned += other.Streaming.Pinned
			r.Streaming.Unread += other.Streaming.Unread
		}
	}
	return r
}

// Waits returns the loaders' waiting times: the longest for shards and frames, because the devices wait at the same time, and
// sums of the rest.
func (g *Group) Waits() Waits {
	var all Waits
	for _, l := range g.loaders {
		w := l.Waits()
		all.Shards, all.Frames = max(all.Shards, w.Shards), max(all.Frames, w.Frames)
		all.Slots, all.Reading, all.Bytes, all.Read = all.Slots+w.Slots, all.Reading+w.Reading, all.Bytes+w.Bytes, all.Read+w.Read
	}
	return all
}

// Close closes the loaders. A second Close does nothing.
func (g *Group) Close() error {
	g.apart = fmt.Errorf("loader: %w", dataset.ErrClosed)
	var errs []error
	for _, l := range g.loaders {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	return errors.Join(errs...)
}
