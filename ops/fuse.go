package ops

import (
	"fmt"
	"slices"
	"time"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// MaxStreams is the largest number of streams in one Fuse.
const MaxStreams = backend.MaxStreams

// FuseArgs has the tensors for [Device.Fuse]. The outputs come first. M is the number of streams.
//
// All streams share the batch size, and all times have the dtype of Targets. Fuse does not convert clocks, because a
// conversion would silently move the timestamps. Streams may differ in everything else. A single episode needs no batch
// dimension, as in Resample: values are then [S,D] in all streams, Dst [T,sum D], Valid and Age [T,M]. With DstOffsets,
// Dst is [N',sum D], Valid and Age [N',M].
type FuseArgs struct {
	Dst   *tensor.Tensor // [B,T,sum D]: the streams' features side by side, in the order in Streams
	Valid *tensor.Tensor // [B,T,M] u8, optional: Resample's Valid for each stream
	Age   *tensor.Tensor // [B,T,M] in the times' dtype, optional: Resample's Age for each stream
	Pad   *tensor.Tensor // [B,T,M] u8, optional: Resample's Pad for each stream; 1 if the stream has no samples

	Streams []FuseStream
	Targets Clock // on the common clock

	DstLengths, DstOffsets *tensor.Tensor // as in ResampleArgs
}

// FuseStream is one stream in a Fuse. Its features in Dst equal Resample's result with these Options, bit for bit.
//
// If Src is nil, the stream is missing: its features get the fill value, valid 0 and age 0. The same holds for a row
// without samples, by SrcLengths, SrcOffsets or S = 0; Fuse does not report it as an error. At least one stream must be
// present.
type FuseStream struct {
	Src      *tensor.Tensor // [B,S,D], any value dtype; nil if the stream is missing
	SrcTimes *tensor.Tensor // [B,S] or [S], on the stream's own clock

	SrcLengths, SrcOffsets, SrcStarts *tensor.Tensor // as in ResampleArgs

	// Width is D, 1 or more. It may stay 0 unless the stream is missing.
	Width int
	// Offset corrects the stream's clock: stream time + Offset = common time. It is subtracted from the targets in the
	// times' dtype, so the stream is resampled at Targets - Offset. Example: 5 ms for a camera with timestamps that are
	// 5 ms too early.
	Offset time.Duration
	// Options are the sampling rules for this stream. Fill defaults to 0, and is written unchanged, without Shift and
	// Scale. Leave DType, TrustTimes and Launch unset, because they belong to FuseOptions.
	Options ResampleOptions
	// Shift and Scale [D], if set, normalise the features: (x - Shift[d]) * Scale[d], where x is Resample's result in
	// f32. Each step rounds to f32, and the result rounds to Dst's dtype. Both lists are copied when the plan is made.
	Shift, Scale []float32
	// ClipMin and ClipMax [D], if set, bound the features after Shift and Scale, in f32. NaN stays NaN, and fill values
	// are not clipped. ClipMin must not exceed ClipMax.
	ClipMin, ClipMax []float32
}

// FuseResult is the result of [Device.Fuse].
type FuseResult struct {
	Values *tensor.Tensor // [B,T,sum D]: Dst from the arguments, or a new tensor
	Valid  *tensor.Tensor // [B,T,M] u8
	Age    *tensor.Tensor // [B,T,M] in the times' dtype
	Pad    *tensor.Tensor // [B,T,M] u8; nil unless it was in the arguments
}

// FuseOptions are the options that all streams share.
type FuseOptions struct {
	// DType is the dtype for a Dst that Device.Fuse allocates. The default is f64 if any stream is f64, else f32.
	DType tensor.DType
	// TrustTimes skips the same checks as in ResampleOptions, for all streams.
	TrustTimes bool
	// Launch has the same meaning as in ResampleOptions.
	Launch LaunchMode
}

// newFuseJob validates the arguments against tensors on the given device.
func newFuseJob(c *checker, a FuseArgs, o FuseOptions) (*backend.FuseJob, error) {
	j := fuseUnder(&a, !o.TrustTimes, o.Launch)
	j.sources(c)
	j.outputs(c)
	checkLaunch(c, o.Launch)
	return j.FuseJob, c.err
}

// fuseCheck validates arguments and fills in a job from them.
type fuseCheck struct {
	*backend.FuseJob
	Streams []FuseStream
}

// fuseUnder returns a job with the arguments, before its streams are checked.
func fuseUnder(a *FuseArgs, check bool, launch LaunchMode) fuseCheck {
	return fuseCheck{&backend.FuseJob{Dst: a.Dst, Valid: a.Valid, Age: a.Age, Pad: a.Pad, Targets: a.Targets,
		DstLengths: a.DstLengths, DstOffsets: a.DstOffsets, Check: check, Launch: launch}, a.Streams}
}

// sources checks the streams and sets their shapes, the clock, B, D and T. It does not check the outputs.
func (j fuseCheck) sources(c *checker) {
	if n := len(j.Streams); n == 0 || n > MaxStreams {
		c.set("Streams", ErrShape, fmt.Sprintf("%d streams", n), fmt.Sprintf("1 to %d", MaxStreams))
		return
	}
	j.Parts = make([]backend.FusePart, len(j.Streams))
	first := -1
	for m := range j.Streams {
		s, p := &j.Streams[m], &j.Parts[m]
		c.prefix = backend.StreamPrefix(m)
		o := &s.Options
		p.ResampleJob = jobUnder(o, j.Check, j.Launch).ResampleJob
		p.Fill, p.Offset, p.Shift, p.Scale = 0, s.Offset, slices.Clone(s.Shift), slices.Clone(s.Scale)
		p.ClipMin, p.ClipMax = slices.Clone(s.ClipMin), slices.Clone(s.ClipMax)
		if o.Fill.set {
			p.Fill = o.Fill.v
		}
		p.Src, p.SrcTimes, p.SrcLengths, p.SrcOffsets, p.SrcStarts = s.Src, s.SrcTimes, s.SrcLengths, s.SrcOffsets, s.SrcStarts
		p.Targets, p.DstLengths, p.DstOffsets = j.Targets, j.DstLengths, j.DstOffsets
		if s.Src == nil {
			p.D = s.Width
			j.missing(c, s)
		} else if (resampleCheck{p.ResampleJob}).checkSource(c); c.err == nil && first < 0 {
			first, j.Clock = m, p.ClockType()
		} else if c.err == nil {
			j.agree(c, first, m)
		}
		j.features(c, m)
		j.D += p.D
	}
	c.prefix = ""
	c.limit("Streams", j.D)
	if c.err == nil && first < 0 {
		c.set("Streams", ErrMissing, "no stream with values", "at least one")
	}
	if c.err != nil {
		return
	}
	lead := resampleCheck{j.Parts[first].ResampleJob}
	lead.Dst = j.Dst
	lead.checkTargets(c)
	j.B, j.T = lead.B, lead.T
	for _, p := range j.Parts {
		p.T, p.TargetBatch = lead.T, lead.TargetBatch
		if p.Src == nil {
			p.B, p.TimesRows = lead.B, 1
		}
	}
}

// missing sets an error if a stream without Src has other fields of a source.
func (j fuseCheck) missing(c *checker, s *FuseStream) {
	for _, t := range []struct {
		arg string
		t   *tensor.Tensor
	}{{"SrcTimes", s.SrcTimes}, {"SrcLengths", s.SrcLengths}, {"SrcOffsets", s.SrcOffsets}, {"SrcStarts", s.SrcStarts}} {
		if t.t != nil {
			c.set(t.arg, ErrOption, "a tensor without Src", "nil, or Src too")
		}
	}
}

// agree sets an error unless stream m has the batch size and the clock of the stream with index first.
func (j fuseCheck) agree(c *checker, first, m int) {
	lead, p := j.Parts[first], j.Parts[m]
	shape := func(p backend.FusePart) string {
		if p.Batched() {
			return fmt.Sprintf("a batch of %d", p.B)
		}
		return "no batch dimension"
	}
	if p.Batched() != lead.Batched() || p.B != lead.B {
		c.set("Src", ErrShape, shape(p), fmt.Sprintf("%s, as Streams[%d].%s", shape(lead), first, c.name("Src")))
	}
	c.dtype("SrcTimes", p.SrcTimes, j.Clock)
}

// features checks a stream's width, Shift, Scale and bounds.
func (j fuseCheck) features(c *checker, m int) {
	s, p := &j.Streams[m], &j.Parts[m]
	o := &s.Options
	switch {
	case c.err != nil:
		return
	case p.D < 1:
		c.set("Width", ErrShape, fmt.Sprintf("%d features", p.D), "1 or more")
	case s.Width != 0 && s.Width != p.D:
		c.set("Width", ErrShape, fmt.Sprint(s.Width), fmt.Sprintf("%d, as Src has, or 0", p.D))
	case s.Offset < -backend.MaxTime || s.Offset > backend.MaxTime:
		c.set("Offset", ErrTooLarge, s.Offset.String(), "within 2^62 ns of 0")
	case o.DType != 0:
		c.set("Options.DType", ErrOption, o.DType.String(), "none: FuseOptions has it")
	case o.TrustTimes:
		c.set("Options.TrustTimes", ErrOption, "true", "false: FuseOptions has it")
	case o.Launch != LaunchDefault:
		c.set("Options.Launch", ErrOption, o.Launch.String(), "plain: FuseOptions has it")
	}
	c.limit("Width", p.D)
	p.Channels = channelTable(c, o, p.D)
	checkRules(c, o)
	for _, v := range []struct {
		arg string
		v   []float32
	}{{"Shift", s.Shift}, {"Scale", s.Scale}, {"ClipMin", s.ClipMin}, {"ClipMax", s.ClipMax}} {
		if v.v != nil && len(v.v) != p.D {
			c.set(v.arg, ErrShape, fmt.Sprintf("%d numbers", len(v.v)), fmt.Sprintf("%d, one a feature, or nil", p.D))
		}
	}
	if c.err != nil || !p.Clips() {
		return
	}
	_, _, least, most := p.Affine()
	for d := range p.D {
		if !(least[d] <= most[d]) {
			c.set("ClipMin", ErrOption, fmt.Sprintf("%g of feature %d, with a ClipMax of %g", least[d], d, most[d]), "a number that is no more than ClipMax")
		}
	}
}

// outputs checks Dst, Valid and Age, and gives each stream its view of them.
func (j fuseCheck) outputs(c *checker) {
	if !c.tensor("Dst", j.Dst) {
		return
	}
	shape := j.OutShape()
	rank := len(shape) + 1
	var inputs []*tensor.Tensor
	for _, p := range j.Parts {
		inputs = append(inputs, p.Inputs()...)
	}
	output := func(arg string, t *tensor.Tensor, last int, others []*tensor.Tensor, dtypes ...tensor.DType) {
		if t == nil || !c.tensor(arg, t) {
			return
		}
		c.shape(arg, t, append(shape[:rank-1:rank-1], last)...)
		c.dtype(arg, t, dtypes...)
		c.lastContiguous(arg, t)
		c.output(arg, t, append(inputs, others...)...)
	}
	output("Dst", j.Dst, j.D, []*tensor.Tensor{j.Valid, j.Age, j.Pad}, valueTypes...)
	output("Valid", j.Valid, len(j.Parts), []*tensor.Tensor{j.Age, j.Pad}, tensor.U8)
	output("Age", j.Age, len(j.Parts), []*tensor.Tensor{j.Pad}, j.Clock)
	output("Pad", j.Pad, len(j.Parts), nil, tensor.U8)
	if c.err != nil {
		return
	}
	lo := 0
	for m, p := range j.Parts {
		p.Dst = c.view(j.Dst, rank, lo, append(shape[:rank-1:rank-1], p.D))
		p.Valid = c.view(j.Valid, rank-1, m, shape)
		p.Age = c.view(j.Age, rank-1, m, shape)
		p.Pad = c.view(j.Pad, rank-1, m, shape)
		lo += p.D
		p.DstStep = j.Dst.Stride(rank - 2)
		batch := func(t *tensor.Tensor) int {
			if t == nil || rank < 3 {
				return 0
			}
			return t.Stride(0)
		}
		p.DstBatch, p.ValidBatch, p.AgeBatch, p.PadBatch = batch(j.Dst), batch(j.Valid), batch(j.Age), batch(j.Pad)
		step := func(t *tensor.Tensor) int {
			if t == nil {
				return 0
			}
			return t.Stride(rank - 2)
		}
		p.ValidStep, p.AgeStep, p.PadStep = step(j.Valid), step(j.Age), step(j.Pad)
	}
}

// view returns the part of t that begins at element `at` of its last dimension. It has the given shape and the first n strides of t.
// If t is nil, it returns nil.
func (c *checker) view(t *tensor.Tensor, n, at int, shape []int) *tensor.Tensor {
	if t == nil || c.err != nil {
		return nil
	}
	if t.Len() == 0 {
		at = 0
	}
	v, err := t.AsStrided(shape, t.Strides()[:n], at)
	if err != nil {
		c.err = err
	}
	return v
}
