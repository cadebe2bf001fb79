package opstest

import (
	"math"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// resampling is a case for Resample. The code that runs it makes Dst, Valid and Age.
type resampling struct {
	Name                   string
	Src, Times, Targets    *array
	Clock                  ops.Clock // used if Targets is nil
	SrcLengths, SrcOffsets *array
	SrcStarts              *array // with SrcLengths: a selection of rows
	DstLengths, DstOffsets *array
	Anchors, Deltas        *array // an anchored clock, used if Targets is nil
	Pad                    bool   // the case writes Pad
	Packed                 int    // total targets of all rows, with DstOffsets and a uniform clock
	Opts                   ops.ResampleOptions
	Out                    tensor.DType // Src's dtype if 0
	Lacking                bool         // rows without samples are filled, as in Fuse
	Planned                bool         // runs only as a plan
	Wrong                  bool         // trusted with a wrong input: any values may come out, but no other memory is read or written
}

// rule selects the comparison of an expected value.
type rule uint8

const (
	copied  rule = iota // the same bits, also for NaN
	rounded             // the same bits, or both NaN
	near                // within a tolerance, or both not finite
)

// expect is the expected value of an output element.
type expect struct {
	rule   rule
	bits   uint64
	want   float64
	size   float64 // near: the tolerance is a multiple of this magnitude
	period float64 // near: compare modulo this period, unless it is 0
	low    float64 // with a period: the value must lie in [low, low+period)
	fill   bool    // the element has the fill value
}

// answer is the expected result of a case: the error err, or the outputs.
type answer struct {
	err   *ops.ValueError
	shape []int // shape of Valid and Age; Dst has the further dimension D
	dst   []expect
	valid []uint64
	age   []uint64
	pad   []uint64
}

func (c *resampling) out() tensor.DType {
	if c.Out != 0 {
		return c.Out
	}
	return c.Src.dtype
}

// dims returns B, S, T and D. If the source or the targets are packed, S or T is their total.
func (c *resampling) dims() (b, s, t, d int) {
	r := len(c.Src.shape)
	b, s, d = 1, c.Src.shape[r-2], c.Src.shape[r-1]
	if r == 3 {
		b = c.Src.shape[0]
	}
	if c.SrcOffsets != nil {
		b = c.SrcOffsets.shape[0] - 1
	}
	if c.SrcStarts != nil {
		b = c.SrcStarts.shape[0]
	}
	switch {
	case c.Anchors != nil:
		t = c.Deltas.shape[0]
	case c.Targets != nil:
		t = c.Targets.shape[len(c.Targets.shape)-1]
	case c.DstOffsets != nil:
		t = c.Packed
	default:
		t = c.Clock.Count
	}
	return b, s, t, d
}

// outShape returns the shape of Valid and Age.
func (c *resampling) outShape() []int {
	b, _, t, _ := c.dims()
	if c.DstOffsets != nil || !c.batched() {
		return []int{t}
	}
	return []int{b, t}
}

func (c *resampling) batched() bool {
	return len(c.Src.shape) == 3 || c.SrcOffsets != nil || c.SrcStarts != nil
}

// srcSpan returns the start and length of row b in the source. The start is 0 if the source is not packed.
func (c *resampling) srcSpan(b int) (start, n int) {
	if c.SrcStarts != nil {
		return int(c.SrcStarts.int(c.SrcStarts.at(b))), int(c.SrcLengths.int(c.SrcLengths.at(b)))
	}
	_, s, _, _ := c.dims()
	return span(b, s, c.SrcLengths, c.SrcOffsets)
}

type clockType interface{ int64 | float64 | float32 }

// solve computes the expected result of a case by a search through all timestamps.
func solve(c *resampling) *answer {
	switch c.Times.dtype {
	case tensor.I64:
		return solveIn(c, func(b uint64) int64 { return int64(b) }, func(x int64) uint64 { return uint64(x) })
	case tensor.F64:
		return solveIn(c, math.Float64frombits, math.Float64bits)
	}
	return solveIn(c, func(b uint64) float32 { return math.Float32frombits(uint32(b)) },
		func(x float32) uint64 { return uint64(math.Float32bits(x)) })
}

// span returns the start and length of row b in a packed dimension. In a padded dimension the start is 0.
func span(b, all int, lengths, offsets *array) (start, n int) {
	switch {
	case offsets != nil:
		lo := offsets.int(offsets.at(b))
		return int(lo), int(offsets.int(offsets.at(b+1)) - lo)
	case lengths != nil:
		return 0, int(lengths.int(lengths.at(b)))
	}
	return 0, all
}

// rowsFault returns the error of the first row with wrong lengths or offsets, or nil.
func (c *resampling) rowsFault() *ops.ValueError {
	rows, s, t, _ := c.dims()
	bad := func(b, all int, lengths, offsets *array) bool {
		start, n := span(b, all, lengths, offsets)
		if offsets == nil {
			return n < 0 || n > all
		}
		return start < 0 || start+n < start || start+n > all || b == 0 && start != 0 || b == rows-1 && start+n != all
	}
	name := func(side string, lengths *array) string {
		if lengths != nil {
			return side + "Lengths"
		}
		return side + "Offsets"
	}
	if rows == 0 { // the single offset must be 0
		for _, side := range []struct {
			name    string
			offsets *array
		}{{"SrcOffsets", c.SrcOffsets}, {"DstOffsets", c.DstOffsets}} {
			if side.offsets != nil && side.offsets.int(side.offsets.at(0)) != 0 {
				return &ops.ValueError{Op: "Resample", Arg: side.name, Kind: ops.ErrRows}
			}
		}
	}
	if c.SrcLengths == nil && c.SrcOffsets == nil && c.DstLengths == nil && c.DstOffsets == nil {
		return nil // without samples, package ops returns an error about the shape
	}
	for b := range rows {
		start, samples := c.srcSpan(b)
		_, targets := span(b, t, c.DstLengths, c.DstOffsets)
		e := &ops.ValueError{Op: "Resample", Row: b}
		switch {
		case c.SrcStarts != nil && (start < 0 || samples < 0 || start > s || samples > s-start):
			e.Arg, e.Kind = "SrcStarts", ops.ErrRows
		case c.SrcStarts == nil && bad(b, s, c.SrcLengths, c.SrcOffsets):
			e.Arg, e.Kind = name("Src", c.SrcLengths), ops.ErrRows
		case bad(b, t, c.DstLengths, c.DstOffsets):
			e.Arg, e.Kind = name("Dst", c.DstLengths), ops.ErrRows
		case samples == 0 && targets > 0 && !c.Lacking:
			e.Arg, e.Kind = name("Src", c.SrcLengths), ops.ErrNoSamples
		default:
			continue
		}
		return e
	}
	return nil
}

// timesIn returns row b's timestamps.
func timesIn[C clockType](c *resampling, b int, from func(uint64) C) []C {
	start, n := c.srcSpan(b)
	out := make([]C, 0, max(n, 0))
	for k := range n {
		if len(c.Times.shape) == 2 {
			out = append(out, from(c.Times.raw[c.Times.at(b, k)]))
		} else {
			out = append(out, from(c.Times.raw[c.Times.at(start+k)]))
		}
	}
	return out
}

// timesFault returns the error of the first bad timestamp of a row, or nil.
func timesFault[C clockType](row int, times []C) *ops.ValueError {
	for k, t := range times {
		e := &ops.ValueError{Op: "Resample", Arg: "SrcTimes", Row: row, Index: k}
		ns, isInt := any(t).(int64)
		switch {
		case isInt && (ns > 1<<62 || ns < -1<<62):
			e.Kind = ops.ErrTimeRange
		case t-t != 0:
			e.Kind = ops.ErrNotFinite
		case k > 0 && times[k-1] > t:
			e.Kind = ops.ErrUnsorted
		default:
			continue
		}
		return e
	}
	return nil
}

// targetOf returns the time of target i of row b. whole is the target's index if the targets are packed.
func targetOf[C clockType](c *resampling, b, i, whole int, from func(uint64) C) C {
	switch {
	case c.Anchors != nil:
		return inClock[C](c.anchored(b, i))
	case c.Targets == nil && c.Times.dtype == tensor.I64:
		return C(c.Clock.Start + int64(math.Floor(float64(i)*1e9/c.Clock.Rate+0.5)))
	case c.Targets == nil:
		return C(float64(c.Clock.Start)/1e9 + float64(i)/c.Clock.Rate)
	case len(c.Targets.shape) == 2:
		return from(c.Targets.raw[c.Targets.at(b, i)])
	}
	return from(c.Targets.raw[c.Targets.at(whole)])
}

// anchored returns target i of row b of an anchored clock, in nanoseconds.
func (c *resampling) anchored(b, i int) int64 {
	return c.Anchors.int(c.Anchors.at(b)) + c.Deltas.int(c.Deltas.at(i))
}

// farAnchor reports whether the anchor, the delta or the sum for target i of row b is out of range.
func (c *resampling) farAnchor(b, i int) bool {
	if c.Anchors == nil {
		return false
	}
	far := func(ns int64) bool { return ns > 1<<62 || ns < -1<<62 }
	return far(c.Anchors.int(c.Anchors.at(b))) || far(c.Deltas.int(c.Deltas.at(i))) || far(c.anchored(b, i))
}

// inClock returns a time in the clock's unit: int64 nanoseconds, or floating-point seconds.
func inClock[C clockType](ns int64) C {
	var z C
	if _, ok := any(z).(int64); ok {
		return C(ns)
	}
	return C(float64(ns) / 1e9)
}

func solveIn[C clockType](c *resampling, from func(uint64) C, to func(C) uint64) *answer {
	rows, _, t, d := c.dims()
	a := &answer{shape: c.outShape()}
	n := 1
	for _, x := range a.shape {
		n *= x
	}
	fill := expect{rule: rounded, bits: encode(c.out(), c.Opts.Fill.Get()), fill: true}
	a.dst, a.valid, a.age, a.pad = make([]expect, n*d), make([]uint64, n), make([]uint64, n), make([]uint64, n)
	for i := range a.pad {
		a.pad[i] = 1
	}
	for i := range a.dst {
		a.dst[i] = fill
	}
	if !c.Opts.TrustTimes {
		if a.err = c.rowsFault(); a.err != nil {
			return a
		}
		place := math.MaxInt
		for b := range rows {
			e := timesFault(b, timesIn(c, b, from))
			if e != nil && c.SrcStarts == nil {
				a.err = e
				return a
			}
			// For a selection, the error with the lowest index in the packed source counts, and of rows with the same index the
			// first.
			if start, _ := c.srcSpan(b); e != nil && start+e.Index < place {
				a.err, place = e, start+e.Index
			}
		}
		if a.err != nil {
			return a
		}
	}
	if n*d == 0 {
		return a
	}
	channels := c.channels()
	for b := range rows {
		times := timesIn(c, b, from)
		first, targets := span(b, t, c.DstLengths, c.DstOffsets)
		if len(times) == 0 {
			continue
		}
		for i := range targets {
			at := first + i // index in the packed targets, or in the row
			if c.DstOffsets == nil && len(a.shape) == 2 {
				at = b*t + i
			}
			x := targetOf(c, b, i, first+i, from)
			one := target[C]{c: c, of: channels, row: b, times: times, x: x}
			one.find()
			if ns, ok := any(x).(int64); !c.Opts.TrustTimes && (c.farAnchor(b, i) || ok && (ns > 1<<62 || ns < -1<<62)) {
				a.err = &ops.ValueError{Op: "Resample", Arg: "Targets", Row: b, Index: i, Kind: ops.ErrTimeRange}
				return a
			}
			if (one.below || one.above) && c.Opts.Edge == ops.EdgeError {
				a.err = &ops.ValueError{Op: "Resample", Arg: "Targets", Row: b, Index: i, Kind: ops.ErrOutOfRange}
				return a
			}
			if held := one.above && c.Opts.Edge == ops.EdgeHold; !one.below && (!one.above || held) && !one.nan && !one.gap {
				a.valid[at] = 1
			}
			if !one.below && !one.above {
				a.pad[at] = 0
			}
			a.age[at] = to(x - times[one.k])
			one.features(a.dst[at*d:][:d], fill)
		}
	}
	return a
}
