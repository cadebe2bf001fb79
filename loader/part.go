package loader

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/prepared"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// part is a stream of the batches.
type part struct {
	name      string
	from      string // its name in the recordings
	column    int    // where its columns begin in the recorded stream's; -1 of a stream that is empty so far
	clock     int    // the first part that has the same timestamps in all episodes
	columns   []dataset.Column
	packed    tensor.DType // of the recorded values
	options   ops.ResampleOptions
	normalise string
	offset    time.Duration
	deltas    []int64
	width     int
	dtype     tensor.DType
	affine    *affine
	stats     []ColumnStats

	offsets         []int64        // [E+1], of the samples of the episodes one behind the other
	values, times   *tensor.Tensor // packed, on the host and then on the device
	starts, lengths *tensor.Tensor // [B] on the device: the rows of a batch
}

// held are tensors and plans to close, the last first.
type held []interface{ Close() error }

func (h *held) add(c interface{ Close() error }) { *h = append(*h, c) }

func (h *held) close() error {
	var errs []error
	for _, c := range slices.Backward(*h) {
		errs = append(errs, c.Close())
	}
	*h = nil
	return errors.Join(errs...)
}

// deltasOf returns the targets of a stream's window, ns from the anchor: the anchor itself where the plan has no window of it.
func deltasOf(plan *align.Plan, name string) ([]int64, error) {
	w, given := plan.Windows[name]
	if !given {
		return []int64{0}, nil
	}
	deltas := w.Ticks(plan.Rate)
	if len(deltas) == 0 {
		return nil, refuse("plan.windows."+name, fmt.Sprintf("%v to %v, between two ticks of %g Hz", w.From, w.To, plan.Rate), "a window with a tick in it")
	}
	return deltas, nil
}

// shift returns by how much one list of targets lies behind another, if it is the same for all.
func shift(first, second []int64) (by int64, same bool) {
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

// fits reports in what a prepared episode is not as the first.
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
			return fmt.Errorf("stream %s has columns of other kinds than in the first episode", s.Name)
		}
	}
	return nil
}

// group is a Fuse: streams of the same dtype whose targets are the same, or the same but for a shift that is taken from their clocks.
type group struct {
	parts  []int
	shifts []int64        // of each part, ns: by how much its targets lie behind those of the first
	values *tensor.Tensor // [B,T,sum D]
	valid  *tensor.Tensor // [B,T,M]
	pad    *tensor.Tensor
	age    *tensor.Tensor
}

// fatal tells a mistake in the plan or the options, or a stream that no episode can have, from an episode that is not as the others.
func fatal(err error) bool {
	var option *OptionError
	if errors.As(err, &option) {
		return true
	}
	var plan *align.PlanError
	var missing *clocks.MissingError
	return errors.As(err, &plan) || errors.As(err, &missing)
}

// OptionError is an option that cannot be. Arg is a field of the options, or a key of the plan: "plan.windows.action".
type OptionError = dataset.OptionError

// refuse returns the *OptionError of an option.
func refuse(arg, got, want string) error { return &OptionError{Arg: arg, Got: got, Want: want} }
