package ops

import (
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/tensor"
)

// DrawJob is a validated Draw, as a backend gets it.
type DrawJob struct {
	DrawArgs
	DrawOptions     // Ranks is at least 1
	E           int // episodes
}

// maxWindows is how many windows an epoch can have: each half of their numbers fits 31 bits.
const maxWindows = 1 << 62

// newDrawJob validates the arguments against tensors on the given device.
func newDrawJob(c *checker, a DrawArgs, o DrawOptions) (*DrawJob, error) {
	a.Streams = slices.Clone(a.Streams)
	j := &DrawJob{DrawArgs: a, DrawOptions: o}
	j.checkOptions(c)
	j.checkInputs(c)
	j.checkOutputs(c)
	return j, c.err
}

func (j *DrawJob) checkOptions(c *checker) {
	if j.Ranks == 0 {
		j.Ranks = 1
	}
	switch {
	case !(j.Rate > 0) || math.IsInf(j.Rate, 1):
		c.set("Options.Rate", ErrOption, fmt.Sprint(j.Rate), "a positive rate in Hz")
	case j.Count < 1 || j.Count > maxWindows:
		c.set("Options.Count", ErrOption, fmt.Sprint(j.Count), "1 to 2^62 windows")
	case j.Batch < 1 || j.Batch > maxRow:
		c.set("Options.Batch", ErrOption, fmt.Sprint(j.Batch), "1 to 2^31-1 rows")
	case j.Ranks < 1 || j.Ranks > maxRow:
		c.set("Options.Ranks", ErrOption, fmt.Sprint(j.Ranks), "1 to 2^31-1, or 0 for 1")
	case j.Rank < 0 || j.Rank >= j.Ranks:
		c.set("Options.Rank", ErrOption, fmt.Sprint(j.Rank), fmt.Sprintf("0 to %d", j.Ranks-1))
	case j.Last >= lastBatches:
		c.set("Options.Last", ErrOption, j.Last.String(), fmt.Sprintf("one of %v", lastBatchNames))
	case j.Batches() == 0:
		c.set("Options.Batch", ErrOption, fmt.Sprintf("%d rows for each of %d ranks, of %d windows", j.Batch, j.Ranks, j.Count), "at most as many as there are windows, or ShortLast")
	}
	checkLaunch(c, j.Launch)
}

// checkInputs finds E.
func (j *DrawJob) checkInputs(c *checker) {
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
	c.whole("Windows", j.Windows, j.E+1)
	c.whole("Begins", j.Begins, j.E)
	for m, s := range j.Streams {
		c.whole(fmt.Sprintf("Streams[%d].Offsets", m), s.Offsets, j.E+1)
	}
}

// whole checks a tensor of so many i64, contiguous.
func (c *checker) whole(arg string, t *tensor.Tensor, n int) {
	if c.tensor(arg, t) {
		c.dtype(arg, t, tensor.I64)
		c.shape(arg, t, n)
		c.lastContiguous(arg, t)
	}
}

// outputs lists what is written; the first two are optional.
func (j *DrawJob) outputs() []output {
	out := []output{{"Episodes", &j.Episodes, tensor.I64, []int{j.Batch}}, {"Ticks", &j.Ticks, tensor.I64, []int{j.Batch}}, {"Anchors", &j.Anchors, tensor.I64, []int{j.Batch}}}
	for m := range j.Streams {
		s, name := &j.Streams[m], fmt.Sprintf("Streams[%d].", m)
		out = append(out, output{name + "Starts", &s.Starts, tensor.I64, []int{j.Batch}}, output{name + "Lengths", &s.Lengths, tensor.I64, []int{j.Batch}})
	}
	return out
}

func (j *DrawJob) checkOutputs(c *checker) {
	others := []*tensor.Tensor{j.Windows, j.Begins}
	for _, s := range j.Streams {
		others = append(others, s.Offsets)
	}
	check := func(o output) {
		c.whole(o.name, *o.t, o.shape[0])
		if c.err == nil {
			c.output(o.name, *o.t, others...)
			others = append(others, *o.t)
		}
	}
	check(output{"Cursor", &j.Cursor, tensor.I64, []int{2}})
	for i, o := range j.outputs() {
		if *o.t != nil || i >= 2 {
			check(o)
		}
	}
}

// Bound returns the job's tensors.
func (j *DrawJob) Bound() Bound {
	b := Bound{op: "Draw"}
	b.add("Cursor", j.Cursor)
	for _, o := range j.outputs() {
		b.add(o.name, *o.t)
	}
	b.outputs()
	b.add("Windows", j.Windows)
	b.add("Begins", j.Begins)
	for m, s := range j.Streams {
		b.add(fmt.Sprintf("Streams[%d].Offsets", m), s.Offsets)
	}
	return b
}

// Feistel is what a backend needs of the permutation: the part of the rounds' keys that all epochs have, which are the inner two steps
// of each, the bits of half a number, and how many rounds there are. [DrawOptions.Window] has the rest.
func (j *DrawJob) Feistel() (seed [4]uint32, half, rounds int) {
	return seedKeys(j.Seed), j.half(), j.rounds()
}

// Step is how many positions a batch of all ranks takes.
func (j *DrawJob) Step() int64 { return j.step() }

// The classes of a Draw's faults, in the order in which they are reported. A position is a word of the cursor, or an episode; FaultOffsets
// has the stream besides. They have no reasons.
const (
	faultCursor Fault = iota << 62
	faultWindows
	faultBegins
	faultOffsets
)

// FaultError unpacks a fault of the job.
func (j *DrawJob) FaultError(f Fault) error {
	if f == NoFault {
		return nil
	}
	e := &ValueError{Op: "Draw", Row: int(f << 6 >> 10), Kind: ErrRows}
	switch f >> 62 << 62 {
	case faultCursor:
		e.Arg, e.Row, e.Index, e.Kind = "Cursor", 0, e.Row, ErrCursor
	case faultWindows:
		e.Arg = "Windows"
	case faultBegins:
		e.Arg, e.Kind = "Begins", ErrTimeRange
	default:
		e.Arg = fmt.Sprintf("Streams[%d].Offsets", f.Stream())
	}
	return e
}
