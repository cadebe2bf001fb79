package ops

import (
	"fmt"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// ResampleArgs has the tensors for [Device.Resample]. The outputs come first.
//
// Values are f32, f64, f16 or bf16; Dst and Src may have different dtypes. Times are i64 nanoseconds, or f64 or f32
// seconds. Tensors may be strided or broadcast (stride 0) in every dimension except the last.
//
// A single episode needs no batch dimension: Src is then [S,D], SrcTimes [S], Targets [T], Dst [T,D], Valid and Age
// [T].
//
// Ragged batches: SrcLengths [B] is the number of valid samples in each row of a padded Src. SrcOffsets [B+1] is the
// position where each row of a packed Src [N,D] begins; SrcTimes is then [N]. DstLengths and DstOffsets do the same for
// the targets; with DstOffsets, Dst is [N',D], Valid and Age [N'] and a Targets tensor [N']. All four are i64. Targets
// beyond DstLengths get the fill value, valid 0 and age 0. Offsets begin with 0 and end with the packed length, even if
// there are no rows. Example: rows with 3 and 2 samples have SrcOffsets [0 3 5].
//
// Selected rows: with SrcStarts [B], row b is the SrcLengths[b] samples from SrcStarts[b] on in a packed Src [N,D].
// Rows may come in any order, overlap or repeat. Only their own timestamps are checked. An anchored clock gives each
// row its own targets, for example to cut windows from a store of episodes.
//
// If B, T or D is 0, nothing is written, not even Valid and Age. Lengths, offsets and source times are checked
// nevertheless.
type ResampleArgs struct {
	Dst *tensor.Tensor // [B,T,D]
	// Valid [B,T] u8 is optional: 1 if the target is in range or held, not in a gap, within the tolerance, and its
	// window is not empty.
	Valid *tensor.Tensor
	// Age [B,T], in the times' dtype, is optional: the target's time minus the time of the sample at or before it, or
	// of the sample that it snaps to.
	Age *tensor.Tensor
	// Pad [B,T] u8, optional, is 1 if the target is before the row's samples, after them or beyond DstLengths. Edge
	// sets the value for such a target.
	Pad *tensor.Tensor

	Src      *tensor.Tensor // [B,S,D]
	SrcTimes *tensor.Tensor // [B,S], or [S] shared by the batch; non-decreasing, finite, within 2^62 ns of 0
	Targets  Clock

	SrcLengths, SrcOffsets *tensor.Tensor
	SrcStarts              *tensor.Tensor
	DstLengths, DstOffsets *tensor.Tensor
}

// ResampleResult is the result of [Device.Resample].
type ResampleResult struct {
	Values *tensor.Tensor // [B,T,D]: Dst from the arguments, or a new tensor
	Valid  *tensor.Tensor // [B,T] u8
	Age    *tensor.Tensor // [B,T] in the times' dtype
	Pad    *tensor.Tensor // [B,T] u8; nil unless it was in the arguments
}

// ResampleOptions sets the interpolation and the rules for edges and gaps. The zero value interpolates linearly and
// holds the end samples.
type ResampleOptions struct {
	Interp   Interp    // for the features that no Channel includes
	Quat     QuatOrder // for Slerp
	Period   float64   // for Angle; 0 is 2 pi
	Window   Limit     // for the window kinds, which require it: w in (x-w, x]
	Channels []Channel // ranges of features with their own interpolation, ascending

	Edge Edge
	Fill Fill // written under EdgeFill, FillGaps and beyond DstLengths; the default is NaN

	// Snap moves a target onto the nearer sample if that sample lies within Snap. The target then gets the sample's
	// bits and is in range and valid. Its Age is the target's time minus the sample's time, which may be negative. In a
	// tie the earlier sample wins; if two samples have the same time, the later one wins. MaxGap and Tolerance grow by
	// Snap, and a window becomes (x-w+Snap, x+Snap]. Example: with a Snap of 1 µs, frames with timestamps rounded to
	// microseconds still match the ticks of a uniform clock.
	Snap Limit
	// MaxGap makes a target invalid if the samples before and after it are further apart than MaxGap, unless it is
	// exactly on a sample. Example: 100 ms for a stream at 50 Hz.
	MaxGap Limit
	// Tolerance makes a target invalid if its Previous, Next or Nearest sample is further away, like the tolerance of
	// pandas' merge_asof.
	Tolerance Limit
	// FillGaps writes the fill value to all features of a target if MaxGap, Tolerance or an empty window made it
	// invalid.
	FillGaps bool

	// DType is the dtype for a Dst that Device.Resample allocates. The default is Src's dtype.
	DType tensor.DType
	// TrustTimes skips the checks on SrcTimes, on row lengths and offsets, and on targets beyond 2^62 ns. If they are
	// bad, the values are unspecified, but no access is out of bounds.
	TrustTimes bool
	// Launch allows the plan to begin before earlier work on its queue is done. By default it waits for all of it.
	Launch LaunchMode
}

var (
	valueTypes = []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16}
	clockTypes = []tensor.DType{tensor.I64, tensor.F64, tensor.F32}
)

// newResampleJob validates the arguments against tensors on the given device.
func newResampleJob(c *checker, a ResampleArgs, o ResampleOptions) (*backend.ResampleJob, error) {
	j := jobUnder(&o, !o.TrustTimes, o.Launch)
	j.ResampleTensors, j.Fill = backend.ResampleTensors(a), o.Fill.Get()
	j.checkSource(c)
	j.checkTargets(c)
	j.checkOutputs(c)
	if c.err == nil {
		j.Channels = channelTable(c, &o, j.D)
	}
	checkRules(c, &o)
	checkLaunch(c, o.Launch)
	if c.err == nil && !j.Empty() && j.S == 0 {
		c.set("Src", ErrShape, "no samples", fmt.Sprintf("at least 1 for %d targets", j.Rows()))
	}
	return j.ResampleJob, c.err
}

// resampleCheck validates arguments and fills in a job from them.
type resampleCheck struct{ *backend.ResampleJob }

// jobUnder returns a job with the options' rules, and without tensors yet.
func jobUnder(o *ResampleOptions, check bool, launch LaunchMode) resampleCheck {
	return resampleCheck{&backend.ResampleJob{Edge: o.Edge, Snap: o.Snap, MaxGap: o.MaxGap, Tolerance: o.Tolerance, FillGaps: o.FillGaps, Check: check, Launch: launch}}
}

// checkRules sets an error for an invalid edge mode, limit or other rule of the options.
func checkRules(c *checker, o *ResampleOptions) {
	if !o.Edge.Valid() {
		c.set("Options.Edge", ErrOption, o.Edge.String(), fmt.Sprintf("one of %v", o.Edge.Names()))
	}
	checkLimit(c, o.Snap, "Options.Snap")
	checkLimit(c, o.MaxGap, "Options.MaxGap")
	checkLimit(c, o.Tolerance, "Options.Tolerance")
}

// checkSource checks the source tensors and sets B, S and D.
func (j resampleCheck) checkSource(c *checker) {
	if !c.tensor("Src", j.Src) || !c.tensor("SrcTimes", j.SrcTimes) {
		return
	}
	c.dtype("Src", j.Src, valueTypes...)
	c.dtype("SrcTimes", j.SrcTimes, clockTypes...)
	c.lastContiguous("Src", j.Src)
	c.lastContiguous("SrcTimes", j.SrcTimes)
	rank := j.Src.Rank()
	switch {
	case c.err != nil:
		return
	case j.SrcLengths != nil && j.SrcOffsets != nil:
		c.set("SrcLengths", ErrOption, "SrcLengths and SrcOffsets", "one of them")
		return
	case j.SrcStarts != nil && j.SrcLengths == nil:
		c.set("SrcLengths", ErrMissing, "nil, with SrcStarts", "a tensor [B]")
		return
	case j.Packed() && rank != 2:
		c.set("Src", ErrShape, tensor.FormatShape(j.Src.Shape()), "[N,D], packed, with SrcOffsets or SrcStarts")
		return
	case rank != 2 && rank != 3:
		c.set("Src", ErrShape, tensor.FormatShape(j.Src.Shape()), "[B,S,D] or [S,D]")
		return
	}
	j.S, j.D = j.Src.Dim(rank-2), j.Src.Dim(rank-1)
	j.SrcStep = j.Src.Stride(rank - 2)
	j.B, j.TimesRows = 1, 1
	switch {
	case j.SrcOffsets != nil:
		j.B = j.rows(c, "SrcOffsets", j.SrcOffsets) - 1
		c.covered("SrcOffsets", j.B, j.S, "samples")
	case j.SrcStarts != nil:
		j.B = j.rows(c, "SrcStarts", j.SrcStarts)
	default:
		c.limit("Src", j.S)
	}
	if rank == 3 {
		j.B, j.SrcBatch = j.Src.Dim(0), j.Src.Stride(0)
	}
	c.limit("Src", j.D)
	if j.SrcLengths != nil && j.rows(c, "SrcLengths", j.SrcLengths) != j.B {
		c.shape("SrcLengths", j.SrcLengths, j.B)
	}
	if rank == 3 && j.SrcTimes.Rank() == 2 {
		c.shape("SrcTimes", j.SrcTimes, j.B, j.S)
		j.TimesBatch = j.SrcTimes.Stride(0)
		if j.TimesBatch != 0 {
			j.TimesRows = j.B
		}
	} else {
		c.shape("SrcTimes", j.SrcTimes, j.S)
	}
	// With lengths, a shared clock is only checked up to the longest row.
	if j.SrcLengths != nil && j.SrcStarts == nil {
		j.TimesRows = j.B
	}
}

// rows checks a tensor of lengths or offsets, and returns its length, or 0 if it is nil or wrong.
func (j resampleCheck) rows(c *checker, arg string, t *tensor.Tensor) int {
	if !c.tensor(arg, t) {
		return 0
	}
	c.dtype(arg, t, tensor.I64)
	if t.Rank() != 1 || arg[3:] == "Offsets" && t.Dim(0) == 0 {
		c.set(arg, ErrShape, tensor.FormatShape(t.Shape()), "[B] for lengths, [B+1] for offsets")
		return 0
	}
	c.lastContiguous(arg, t)
	return t.Dim(0)
}

// checkTargets checks the targets and sets T.
func (j resampleCheck) checkTargets(c *checker) {
	checkClock(c, &j.Targets)
	if c.err != nil {
		return
	}
	if j.DstLengths != nil && j.DstOffsets != nil {
		c.set("DstLengths", ErrOption, "DstLengths and DstOffsets", "one of them")
		return
	}
	if j.DstLengths != nil && j.rows(c, "DstLengths", j.DstLengths) != j.B {
		c.shape("DstLengths", j.DstLengths, j.B)
	}
	if j.DstOffsets != nil && j.rows(c, "DstOffsets", j.DstOffsets) != j.B+1 {
		c.shape("DstOffsets", j.DstOffsets, j.B+1)
	}
	if j.Targets.IsAnchored() {
		j.checkAnchored(c)
		return
	}
	t := j.Targets.Times
	if t == nil {
		j.T = j.Targets.Count
		if j.DstOffsets != nil && j.Dst != nil && j.Dst.Rank() > 0 {
			j.T = j.Dst.Dim(0)
			c.covered("DstOffsets", j.B, j.T, "targets")
		}
		c.limit("Targets.Count", j.Targets.Count)
		return
	}
	if !c.tensor("Targets", t) {
		return
	}
	c.dtype("Targets", t, j.ClockType())
	c.lastContiguous("Targets", t)
	switch {
	case t.Rank() == 1:
		j.T = t.Dim(0)
	case t.Rank() == 2 && j.Batched() && j.DstOffsets == nil:
		j.T = t.Dim(1)
		c.shape("Targets", t, j.B, j.T)
		j.TargetBatch = t.Stride(0)
	default:
		c.set("Targets", ErrShape, tensor.FormatShape(t.Shape()), "[B,T] or [T], and [N] if packed or not batched")
	}
	if j.DstOffsets == nil {
		c.limit("Targets", j.T)
	} else {
		c.covered("DstOffsets", j.B, j.T, "targets")
	}
}

// checkAnchored is checkTargets for an anchored clock.
func (j resampleCheck) checkAnchored(c *checker) {
	anchors, deltas := j.Targets.Anchors, j.Targets.Deltas
	if j.DstOffsets != nil {
		c.set("DstOffsets", ErrOption, "DstOffsets and an anchored clock", "DstLengths, or a tensor of times")
	}
	if !c.tensor("Targets.Anchors", anchors) || !c.tensor("Targets.Deltas", deltas) {
		return
	}
	c.dtype("Targets.Anchors", anchors, tensor.I64)
	c.dtype("Targets.Deltas", deltas, tensor.I64)
	c.shape("Targets.Anchors", anchors, j.B)
	if deltas.Rank() != 1 {
		c.set("Targets.Deltas", ErrShape, tensor.FormatShape(deltas.Shape()), "[T]")
		return
	}
	c.lastContiguous("Targets.Anchors", anchors)
	c.lastContiguous("Targets.Deltas", deltas)
	j.T = deltas.Dim(0)
	c.limit("Targets.Deltas", j.T)
}

func (j resampleCheck) checkOutputs(c *checker) {
	if !c.tensor("Dst", j.Dst) {
		return
	}
	shape := j.OutShape()
	if c.shape("Dst", j.Dst, append(shape, j.D)...); c.err != nil {
		return
	}
	rank := j.Dst.Rank()
	j.DstStep = j.Dst.Stride(rank - 2)
	if rank == 3 {
		j.DstBatch = j.Dst.Stride(0)
	}
	c.dtype("Dst", j.Dst, valueTypes...)
	c.lastContiguous("Dst", j.Dst)
	inputs := j.Inputs()
	c.output("Dst", j.Dst, append(inputs, j.Valid, j.Age, j.Pad)...)
	j.ValidStep, j.AgeStep, j.PadStep = 1, 1, 1
	side := func(arg string, t *tensor.Tensor, dtype tensor.DType, batch *int, others ...*tensor.Tensor) {
		if t == nil || !c.tensor(arg, t) {
			return
		}
		c.dtype(arg, t, dtype)
		c.shape(arg, t, shape...)
		c.lastContiguous(arg, t)
		c.output(arg, t, append(inputs, others...)...)
		if t.Rank() == 2 {
			*batch = t.Stride(0)
		}
	}
	side("Valid", j.Valid, tensor.U8, &j.ValidBatch, j.Age, j.Pad)
	side("Age", j.Age, j.ClockType(), &j.AgeBatch, j.Pad)
	side("Pad", j.Pad, tensor.U8, &j.PadBatch)
}
