package loader

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Loader draws batches of windows: from a store that it keeps on a device, see [New], or from a dataset that it reads meanwhile, see [NewStreaming].
// Its methods are for one goroutine at a time.
type Loader struct {
	device  *ops.Device
	order   ops.DrawOptions
	parts   []part
	report  Report
	closers closers

	feed            feed
	frames          frameFeed      // nil without cameras
	episodes, ticks *tensor.Tensor // [B]
	anchors         *tensor.Tensor // [B]
	groups          []group
	plans           []*ops.Plan
	queue           *ops.Queue
	graph           *ops.Graph
	numbers         []int   // of the store, by the numbers that Draw has
	stores          []int   // of each episode, as NewMixture's list has them
	entries         []entry // of the episodes
	windows         []int64 // [E+1], as Draw has them
	batch           Batch
	closed, age     bool
	isApart         bool // streams have tensors of their own
}

// feed is how the rows and anchors of a batch come to be where the Fuses read them: the part in which a loader that keeps its store on the device and
// one that reads it from a disk are not the same.
type feed interface {
	// give gives a queue the work that comes before a batch's Fuses. It is captured.
	enqueue(q *ops.Queue) error
	// next does what the host has to, for the batch behind the last one that was made, before that work runs. It returns the rows that should hold a
	// window and do not.
	next(ctx context.Context) (lost []int, err error)
	// made is told that the batch is.
	advance()
	// cursor is the place behind the last batch that was made, and seek goes elsewhere.
	cursor(ctx context.Context) (ops.Cursor, error)
	seek(ctx context.Context, at ops.Cursor) error
	Close() error
}

// hold keeps a tensor on the device until the loader closes.
func (l *Loader) hold(t *tensor.Tensor) {
	l.closers.add(t)
	l.report.Bytes += t.Len() * t.DType().Size()
}

// alloc allocates a tensor on the device, which is closed with the loader.
func (l *Loader) alloc(dtype tensor.DType, shape ...int) (*tensor.Tensor, error) {
	t, err := l.device.Alloc(dtype, shape...)
	if err == nil {
		l.hold(t)
	}
	return t, err
}

// choose chooses by the plan what windows there are.
func (l *Loader) choose(ctx context.Context, c *selection) error {
	if err := c.selectEpisodes(ctx); err != nil {
		return err
	}
	l.parts, l.numbers, l.entries, l.windows = c.parts, c.numbers, c.entries, c.windows
	l.order.Count = int(c.windows[len(c.windows)-1])
	return nil
}

// count counts what an epoch has, once it is known how windows are drawn.
func (l *Loader) count() error {
	r := &l.report
	r.Episodes, r.Windows, r.Batches, r.Dropped, r.Missing = len(l.numbers), cmp.Or(l.order.Positions, l.order.Count), l.order.Batches(), l.order.Dropped(), l.order.Missing()
	if r.Batches == 0 {
		return refuse("Batch", fmt.Sprintf("%d of each of %d ranks", l.order.Batch, l.order.Ranks), fmt.Sprintf("at most the %d windows that there are", r.Windows))
	}
	return nil
}

// frameFeed is how the frames of cameras come to the host: in shots, which are decoded before their batches are made.
type frameFeed interface {
	// next returns the shot of the next batch. If no shot is decoded ahead, it begins where the feed is. An error ends the decoding.
	next(ctx context.Context, from feed) (*shot, error)
	// made follows the batch for which next returned a shot.
	advance()
	// stop ends the decoding; the next batch begins it again.
	stop()
	// report adds the frames that could not be decoded, and the cache.
	report(r *Report)
	// waits returns how long next has waited.
	waits() time.Duration
}

// Close releases what the loader has on the device. Close twice is fine.
func (l *Loader) Close() error {
	l.closed = true
	return l.closers.close()
}

// Stats returns the statistics of a stream's columns over the episodes that windows are drawn from; nil if the plan does not normalise it.
func (l *Loader) Stats(stream string) []ColumnStats {
	for i := range l.parts {
		if l.parts[i].name == stream {
			return l.parts[i].stats
		}
	}
	return nil
}

// Normalisation returns what a stream is normalised with; nil if the plan does not normalise it.
func (l *Loader) Normalisation(stream string) *Normalisation {
	for i := range l.parts {
		if p := &l.parts[i]; p.name == stream && p.affine != nil {
			a := p.affine
			return &Normalisation{a.rule, NeedsQuantiles(a.rule), slices.Clone(a.shift), slices.Clone(a.scale), slices.Clone(a.min), slices.Clone(a.max)}
		}
	}
	return nil
}
