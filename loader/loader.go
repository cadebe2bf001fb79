package loader

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Loader draws batches of windows. It draws from a store on a device, see [New], or from a dataset that it streams, see
// [NewStreaming]. Its methods must not be called concurrently.
type Loader struct {
	device  *ops.Device
	order   ops.DrawOptions
	parts   []part
	report  Report
	closers closers

	feed            feed
	cpu             *ops.Device    // for frame numbers
	films           []*film        // one a camera
	reel            *reel          // nil without cameras
	keys            *tensor.Tensor // [B,2]: the epoch and the position of each window; nil if nothing is random
	episodes, ticks *tensor.Tensor // [B]
	anchors         *tensor.Tensor // [B]
	groups          []group
	plans           []*ops.Plan
	queue           *ops.Queue
	graphs          []*ops.Graph   // one a shot, or a single one
	numbers         []int          // in the store, by drawn episode
	stores          []int          // indexes in NewMixture's list, by drawn episode
	entries         []entry        // by drawn episode
	windows         []int64        // [E+1]: the first window of each drawn episode
	shuffle, hash   string         // State.Shuffle and State.Episodes
	mixture         []MixtureState // State.Mixture
	batch           Batch
	closed, age     bool
	isApart         bool // each stream has tensors of its own
	isUnmade        bool // Options.Unmade
}

// feed chooses a batch's windows, and writes their rows and anchors to the tensors that the Fuses read. It has two implementations:
// resident, with the store on the device, and streamer.
type feed interface {
	// enqueue enqueues the work that comes before a batch's Fuses. It is captured.
	enqueue(q *ops.Queue) error
	// next prepares the host for the next batch, before enqueued work runs. It returns the rows that have lost their window.
	next(ctx context.Context) (lost []int, err error)
	// advance follows a batch that is made.
	advance()
	// cursor returns the place after the last batch. seek moves to another place.
	cursor(ctx context.Context) (ops.Cursor, error)
	seek(ctx context.Context, at ops.Cursor) error
	Close() error
}

// hold keeps a new tensor on the device until the loader is closed. It returns its arguments.
func (l *Loader) hold(t *tensor.Tensor, err error) (*tensor.Tensor, error) {
	if err == nil {
		l.closers.add(t)
		l.report.Bytes += t.Len() * t.DType().Size()
	}
	return t, err
}

// alloc allocates a tensor on the device, which is closed with the loader.
func (l *Loader) alloc(dtype tensor.DType, shape ...int) (*tensor.Tensor, error) {
	return l.hold(l.device.Alloc(dtype, shape...))
}

// uploadInts copies integers to the device, where they are closed with the loader.
func (l *Loader) uploadInts(ctx context.Context, list []int64) (*tensor.Tensor, error) {
	return l.hold(l.device.Upload(ctx, tensor.Must(tensor.Of(list, len(list)))))
}

// choose selects the episodes by the plan, and counts their windows.
func (l *Loader) choose(ctx context.Context, c *selection) error {
	if err := c.selectEpisodes(ctx); err != nil {
		return err
	}
	l.parts, l.numbers, l.entries, l.windows = c.parts, c.numbers, c.entries, c.windows
	l.order.Count, l.shuffle, l.hash = int(c.windows[len(c.windows)-1]), cmp.Or(c.plan.Shuffle, "windows"), l.hashEpisodes(c.opt.DropFirst)
	if c.cameras == nil {
		return nil
	}
	return l.newFilms(ctx, c)
}

// hashEpisodes returns State.Episodes.
func (l *Loader) hashEpisodes(dropFirst int) string {
	h := fnv.New64a()
	if dropFirst > 0 {
		fmt.Fprintf(h, "from %d\n", dropFirst)
	}
	for i, e := range l.entries {
		fmt.Fprintf(h, "%q %d %d\n", e.name, e.number, l.windows[i+1]-l.windows[i])
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// count adds an epoch's counts of windows, batches and rows to the report. It is called when the order of windows is fixed.
func (l *Loader) count() error {
	r := &l.report
	r.Episodes, r.Windows, r.Batches, r.Dropped, r.Missing = len(l.numbers), cmp.Or(l.order.Positions, l.order.Count), l.order.Batches(), l.order.Dropped(), l.order.Missing()
	if r.Batches == 0 {
		return refuse("Batch", fmt.Sprintf("%d of each of %d ranks", l.order.Batch, l.order.Ranks), fmt.Sprintf("at most the %d windows that there are", r.Windows))
	}
	return nil
}

// usable returns an error that is dataset.ErrClosed after Close.
func (l *Loader) usable() error {
	if l.closed {
		return fmt.Errorf("loader: %w", dataset.ErrClosed)
	}
	return nil
}

// Close releases the loader's memory on the device. A second Close does nothing.
func (l *Loader) Close() error {
	l.closed = true
	return l.closers.close()
}

// Stats returns the statistics of a stream's columns over the drawn episodes, or nil if the plan does not normalise the stream.
func (l *Loader) Stats(stream string) []ColumnStats {
	for i := range l.parts {
		if l.parts[i].name == stream {
			return l.parts[i].stats
		}
	}
	return nil
}

// Normalisation returns the normalisation of a stream, or nil if the plan does not normalise it.
func (l *Loader) Normalisation(stream string) *Normalisation {
	for i := range l.parts {
		if p := &l.parts[i]; p.name == stream && p.affine != nil {
			a := p.affine
			return &Normalisation{a.rule, normalisations[a.rule].quantiles, slices.Clone(a.shift), slices.Clone(a.scale), slices.Clone(a.min), slices.Clone(a.max)}
		}
	}
	return nil
}
