package loader

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/prepared"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// part is a stream in the batches.
type part struct {
	name      string
	from      string // name in the recordings
	column    int    // index of its first column in the recorded stream; -1 while all episodes have no samples
	clock     int    // index of the first part with the same timestamps in all episodes
	columns   []dataset.Column
	packed    tensor.DType // dtype of the recorded values
	options   ops.ResampleOptions
	normalise string
	offset    time.Duration
	deltas    []int64
	width     int
	points    *align.Points // nil for other streams
	dtype     tensor.DType
	isDouble  bool // dtype is F64 because the plan or the options set it
	affine    *affine
	stats     []ColumnStats

	offsets         []int64        // [E+1]: each episode's first sample in values
	values, times   *tensor.Tensor // packed, first on the host and then on the device
	mapped          bool           // on the host they are in a file, which may be closed before the loader
	starts, lengths *tensor.Tensor // [B] on the device: the samples of each row's episode
}

// hasGrid reports whether the part's points have a grid.
func (p *part) hasGrid() bool { return p.points != nil && p.points.Grid != "" }

// closers are closed in reverse order.
type closers []interface{ Close() error }

func (h *closers) add(c interface{ Close() error }) { *h = append(*h, c) }

func (h *closers) close() error {
	var errs []error
	for _, c := range slices.Backward(*h) {
		errs = append(errs, c.Close())
	}
	*h = nil
	return errors.Join(errs...)
}

// deltasOf returns the targets in a stream's window, ns from the anchor. If the plan has no window for the stream, the only target is the
// anchor, 0.
func deltasOf(plan *align.Plan, name string) ([]int64, error) {
	w, given := plan.Windows[name]
	if !given {
		return []int64{0}, nil
	}
	deltas := w.Ticks(plan.Rate)
	if len(deltas) == 0 {
		return nil, refuse("plan.windows."+name, fmt.Sprintf("%v, between two ticks of %g Hz", w, plan.Rate), "a window with a tick in it")
	}
	return deltas, nil
}

// shiftOf returns the difference second-first of two target lists, ns, and true if it is the same for all targets; else 0 and false.
func shiftOf(first, second []int64) (by int64, same bool) {
	if len(first) != len(second) {
		return 0, false
	}
	by = second[0] - first[0]
	for i := range first {
		if second[i]-first[i] != by {
			return 0, false
		}
	}
	return by, true
}

// fits returns an error if an episode has other streams than the first episode, or other column kinds.
func fits(p *prepared.Recording, parts []part) error {
	if len(p.Streams) != len(parts) {
		return fmt.Errorf("%d streams, where the first episode has %d", len(p.Streams), len(parts))
	}
	for m := range p.Streams {
		s, q := &p.Streams[m], &parts[m]
		switch {
		case s.Name != q.name:
			return fmt.Errorf("stream %s, where the first episode has %s", s.Name, q.name)
		case !slices.EqualFunc(s.Options.Channels, q.options.Channels, func(a, b ops.Channel) bool { return a == b }):
			return fmt.Errorf("stream %s has other column kinds than in the first episode", s.Name)
		}
	}
	return nil
}

// widen sets the batches' gap limit to an episode's limit if that is longer, because with align.AutoGap each episode has its own limit.
func widen(o *ops.ResampleOptions, s *prepared.Stream) {
	longest, _ := o.MaxGap.Get()
	if d, limited := s.Options.MaxGap.Get(); limited && d >= longest {
		o.MaxGap = s.Options.MaxGap
	}
}

// unlimited reports whether no limit makes values in gaps not valid.
func unlimited(o *ops.ResampleOptions) bool {
	_, gap := o.MaxGap.Get()
	_, near := o.Tolerance.Get()
	return !gap && !near
}

// inGaps returns how many of the first n ticks of a clock lie in gaps of a stream.
func inGaps(s *prepared.Stream, clock ops.Clock, n int) (count int) {
	snap, _ := s.Options.Snap.Get()
	for _, g := range s.Gaps() {
		at := func(t int64) int {
			return sort.Search(n, func(i int) bool { return clock.Tick(i) >= clocks.After(t, s.Offset) })
		}
		count += max(at(g.To-int64(snap))-at(g.From+int64(snap)+1), 0)
	}
	return count
}

// group is the streams that one launch of Fuse makes: they have one dtype, and windows that differ at most by a constant shift.
type group struct {
	parts  []int
	shifts []int64        // ns: each part's first target minus the first part's
	values *tensor.Tensor // [B,T,sum D]
	valid  *tensor.Tensor // [B,T,M]
	pad    *tensor.Tensor
	age    *tensor.Tensor
	grid   *tensor.Tensor // [B,T,100,100,100]; nil unless the only part has a grid
}

// isFatal reports whether an error ends the loader: it comes from the system, or is about the plan, the options, or a stream that no
// episode can have. All other errors are about one episode.
func isFatal(err error) bool {
	var plan *align.PlanError
	var missing *clocks.MissingError
	return errors.As(err, &plan) || errors.As(err, &missing) || dataset.IsFatal(err)
}

// OptionError means that an option is invalid. Arg is an options field or a plan key, for example "plan.windows.action".
type OptionError = dataset.OptionError

// refuse returns the *OptionError for an option.
func refuse(arg, got, want string) error { return &OptionError{Arg: arg, Got: got, Want: want} }
