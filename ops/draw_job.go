package ops

import (
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// drawCheck validates arguments and fills in a job from them.
type drawCheck struct{ *backend.DrawJob }

// maxWindows limits the windows in an epoch, so that each half of a window's number fits into 31 bits.
const maxWindows = 1 << 62

// newDrawJob validates the arguments against tensors on the given device.
func newDrawJob(c *checker, a DrawArgs, o DrawOptions) (*backend.DrawJob, error) {
	a.Streams = slices.Clone(a.Streams)
	j := drawUnder(&a, &o)
	j.checkOptions(c)
	j.checkInputs(c)
	j.checkOutputs(c)
	if c.err == nil && len(j.Sources) > 0 {
		j.Sources = slices.Clone(j.Sources)
		j.Mixture = j.Shares()
	}
	return j.DrawJob, c.err
}

// drawUnder returns a job with the arguments and options, which are not yet checked.
func drawUnder(a *DrawArgs, o *DrawOptions) drawCheck {
	return drawCheck{&backend.DrawJob{DrawTensors: backend.DrawTensors(*a), DrawOrder: *o.order(), Rate: o.Rate, TrustTables: o.TrustTables, Launch: o.Launch}}
}

func (j drawCheck) checkOptions(c *checker) {
	if j.Ranks == 0 {
		j.Ranks = 1
	}
	j.checkSources(c)
	switch {
	case !(j.Rate > 0) || math.IsInf(j.Rate, 1):
		c.set("Options.Rate", ErrOption, fmt.Sprint(j.Rate), "a positive rate in Hz")
	case j.Count < 1 || j.Count > maxWindows:
		c.set("Options.Count", ErrOption, fmt.Sprint(j.Count), "1 to 2^62 windows")
	case j.Batch < 1 || j.Batch > backend.MaxRow:
		c.set("Options.Batch", ErrOption, fmt.Sprint(j.Batch), "1 to 2^31-1 rows")
	case j.Ranks < 1 || j.Ranks > backend.MaxRow:
		c.set("Options.Ranks", ErrOption, fmt.Sprint(j.Ranks), "1 to 2^31-1, or 0 for 1")
	case j.Rank < 0 || j.Rank >= j.Ranks:
		c.set("Options.Rank", ErrOption, fmt.Sprint(j.Rank), fmt.Sprintf("0 to %d", j.Ranks-1))
	case !j.Last.Valid():
		c.set("Options.Last", ErrOption, j.Last.String(), fmt.Sprintf("one of %v", j.Last.Names()))
	case j.ShardWindows < 0 || j.ShardWindows == 0 && j.MixShards > 0:
		c.set("Options.ShardWindows", ErrOption, fmt.Sprint(j.ShardWindows), "1 or more windows, or 0 as MixShards is")
	case j.MixShards < 0 || j.MixShards == 0 && j.ShardWindows > 0:
		c.set("Options.MixShards", ErrOption, fmt.Sprint(j.MixShards), "1 or more shards, or 0 as ShardWindows is")
	case j.ShardWindows > 0 && !j.Shuffle:
		c.set("Options.ShardWindows", ErrOption, fmt.Sprint(j.ShardWindows), "0 without Shuffle")
	case j.Batches() == 0:
		c.set("Options.Batch", ErrOption, fmt.Sprintf("%d rows for each of %d ranks, of %d windows", j.Batch, j.Ranks, j.Length()), "at most as many as there are windows, or LastShort")
	}
	checkLaunch(c, j.Launch)
}

func (j drawCheck) checkSources(c *checker) {
	switch {
	case j.Positions < 0 || j.Positions > maxWindows:
		c.set("Options.Positions", ErrOption, fmt.Sprint(j.Positions), "1 to 2^62, or 0 for Count")
	case len(j.Sources) == 0 && j.Positions > 0:
		c.set("Options.Positions", ErrOption, fmt.Sprint(j.Positions), "0 without Sources")
	case len(j.Sources) == 0:
		return
	case len(j.Sources) > MaxSources:
		c.set("Options.Sources", ErrOption, fmt.Sprintf("%d sources", len(j.Sources)), fmt.Sprintf("at most %d", MaxSources))
	case j.ShardWindows > 0:
		c.set("Options.ShardWindows", ErrOption, fmt.Sprint(j.ShardWindows), "0 with Sources")
	}
	left, weight := j.Count, false
	for d, s := range j.Sources {
		switch {
		case s.Windows < 1 || s.Windows > left:
			c.set(fmt.Sprintf("Options.Sources[%d].Windows", d), ErrOption, fmt.Sprint(s.Windows), "1 or more, Count in all")
		case !(s.Weight >= 0) || math.IsInf(s.Weight, 1):
			c.set(fmt.Sprintf("Options.Sources[%d].Weight", d), ErrOption, fmt.Sprint(s.Weight), "a finite weight, not below 0")
		}
		left, weight = left-s.Windows, weight || s.Weight > 0
	}
	switch {
	case left > 0:
		c.set("Options.Sources", ErrOption, fmt.Sprintf("%d windows in all", j.Count-left), fmt.Sprintf("Count, %d", j.Count))
	case !weight:
		c.set("Options.Sources", ErrOption, "weights of 0", "one at least that is not")
	}
}

// checkInputs checks the inputs and sets E.
func (j drawCheck) checkInputs(c *checker) {
	if n := len(j.Streams); n > MaxStreams {
		c.set("Streams", ErrShape, fmt.Sprintf("%d streams", n), fmt.Sprintf("at most %d", MaxStreams))
	}
	if c.tensor("Windows", j.Windows) {
		if j.Windows.Rank() != 1 || j.Windows.Dim(0) < 2 {
			c.set("Windows", ErrShape, tensor.FormatShape(j.Windows.Shape()), "[E+1], E at least 1")
			return
		}
		j.E = j.Windows.Dim(0) - 1
		c.limit("Windows", j.E)
	}
	c.whole("Windows", j.Windows, tensor.I64, j.E+1)
	c.whole("Begins", j.Begins, tensor.I64, j.E)
	for m, s := range j.Streams {
		c.whole(fmt.Sprintf("Streams[%d].Offsets", m), s.Offsets, tensor.I64, j.E+1)
	}
}

// whole sets an error unless t is a contiguous tensor on the device with this dtype and shape.
func (c *checker) whole(arg string, t *tensor.Tensor, dtype tensor.DType, shape ...int) {
	if c.tensor(arg, t) {
		c.dtype(arg, t, dtype)
		c.shape(arg, t, shape...)
		c.packed(arg, t)
	}
}

func (j drawCheck) checkOutputs(c *checker) {
	others := []*tensor.Tensor{j.Windows, j.Begins}
	for _, s := range j.Streams {
		others = append(others, s.Offsets)
	}
	check := func(o backend.Output) {
		c.whole(o.Name, *o.T, o.DType, o.Shape...)
		if c.err == nil {
			c.output(o.Name, *o.T, others...)
			others = append(others, *o.T)
		}
	}
	check(backend.Output{Name: "Cursor", T: &j.Cursor, DType: tensor.I64, Shape: []int{2}})
	for i, o := range j.Outputs() {
		if *o.T != nil || i >= backend.DrawOptional {
			check(o)
		}
	}
}
