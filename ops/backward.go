package ops

import (
	"fmt"
	"slices"
	"time"

	"github.com/robocache/robocache/tensor"
)

// ResampleBackwardArgs are the tensors of ResampleBackward, with the shapes that they have in Resample. What is written comes first.
//
// Values are f32, f64, f16 or bf16, on both sides. Times, targets, lengths and offsets are those that Resample had, but for one thing:
// a row's targets are in ascending order, equal ones allowed. NaN targets come last, as torch.sort puts them. Others are a
// *ValueError that is ErrUnsorted, found where the work is done, as for source times.
type ResampleBackwardArgs struct {
	SrcGrad *tensor.Tensor // [B,S,D], or packed: the gradient with respect to Src. All of it is written; 0 beyond SrcLengths

	DstGrad  *tensor.Tensor // [B,T,D], or packed: the gradient with respect to Dst
	SrcTimes *tensor.Tensor // [B,S], or [S] shared by the batch
	Targets  Clock

	SrcLengths, SrcOffsets *tensor.Tensor
	DstLengths, DstOffsets *tensor.Tensor
}

// FuseBackwardArgs are the tensors of FuseBackward. Each stream's gradient is that of ResampleBackward, from its columns of DstGrad.
type FuseBackwardArgs struct {
	DstGrad *tensor.Tensor // [B,T,sum D]: the gradient with respect to Dst
	Streams []FuseBackwardStream
	Targets Clock // as in ResampleBackwardArgs, on the common clock

	DstLengths, DstOffsets *tensor.Tensor
}

// FuseBackwardStream is one stream of a FuseBackward. One whose SrcGrad is nil is missing, or its gradient is not wanted: then it has a Width,
// and no times. At least one stream must have a SrcGrad.
type FuseBackwardStream struct {
	SrcGrad  *tensor.Tensor // [B,S,D], of any value dtype: written
	SrcTimes *tensor.Tensor // as in FuseStream, and so is all that follows

	SrcLengths, SrcOffsets *tensor.Tensor

	Width   int
	Offset  time.Duration
	Options ResampleOptions
	Scale   []float32 // [D], if Fuse had it; its Shift has no part in the gradient
}

// BackwardJob is a validated ResampleBackward or FuseBackward, as a backend gets it.
type BackwardJob struct {
	// Forward is the operation whose gradient this is. The Src of its parts are the gradients to write, and Dst is the one to read; it has no
	// Valid and no Age. That of a Resample has one part.
	Forward *FuseJob
	Alone   bool // it is that of a Resample: a row with targets and no samples is an error
}

// gradientNames are the arguments that have other names than in the operation whose gradient is taken.
var gradientNames = map[string]string{"Src": "SrcGrad", "Dst": "DstGrad"}

const gradientKinds = "linear, previous, next or nearest, the kinds that have a gradient here"

// Empty reports whether there is nothing to write.
func (j *BackwardJob) Empty() bool {
	return !slices.ContainsFunc(j.Forward.Parts, func(p FusePart) bool { return p.Src != nil && p.Src.Len() > 0 })
}

// Idle reports whether there is nothing to do, not even a check.
func (j *BackwardJob) Idle() bool {
	return j.Empty() && !slices.ContainsFunc(j.Forward.Parts, func(p FusePart) bool { return p.Checks() })
}

// Op is the operation's name.
func (j *BackwardJob) Op() string {
	if j.Alone {
		return "ResampleBackward"
	}
	return "FuseBackward"
}

// newResampleBackwardJob validates the arguments against tensors on the given device.
func newResampleBackwardJob(c *checker, a ResampleBackwardArgs, o ResampleOptions) (*BackwardJob, error) {
	r := jobUnder(&o, !o.TrustTimes, o.Launch)
	r.ResampleArgs = a.forward()
	r.checkSource(c)
	r.checkTargets(c)
	if c.err == nil {
		r.Channels = channelTable(c, &o, r.D)
	}
	checkRules(c, &o)
	checkGradientKinds(c, &o, r.D)
	checkLaunch(c, o.Launch)
	if c.err == nil && !r.Empty() && r.S == 0 {
		c.set("Src", ErrShape, "no samples", fmt.Sprintf("at least 1 for %d targets", r.Rows()))
	}
	if c.err != nil {
		return nil, c.err
	}
	f := &FuseJob{B: r.B, D: r.D, T: r.T, Clock: r.ClockType(), Check: r.Check, Launch: r.Launch, Parts: []FusePart{{ResampleJob: r}}}
	f.FuseArgs = FuseArgs{Dst: r.Dst, Targets: r.Targets, DstLengths: r.DstLengths, DstOffsets: r.DstOffsets,
		Streams: []FuseStream{{Src: r.Src, SrcTimes: r.SrcTimes, SrcLengths: r.SrcLengths, SrcOffsets: r.SrcOffsets}}}
	return newBackwardJob(c, f, true)
}

// forward names the tensors as Resample does.
func (a *ResampleBackwardArgs) forward() ResampleArgs {
	return ResampleArgs{Dst: a.DstGrad, Src: a.SrcGrad, SrcTimes: a.SrcTimes, Targets: a.Targets,
		SrcLengths: a.SrcLengths, SrcOffsets: a.SrcOffsets, DstLengths: a.DstLengths, DstOffsets: a.DstOffsets}
}

// newFuseBackwardJob validates the arguments against tensors on the given device.
func newFuseBackwardJob(c *checker, a FuseBackwardArgs, o FuseOptions) (*BackwardJob, error) {
	f := &FuseJob{Check: !o.TrustTimes, Launch: o.Launch}
	f.FuseArgs = FuseArgs{Dst: a.DstGrad, Targets: a.Targets, DstLengths: a.DstLengths, DstOffsets: a.DstOffsets}
	for _, s := range a.Streams {
		f.Streams = append(f.Streams, FuseStream{Src: s.SrcGrad, SrcTimes: s.SrcTimes, SrcLengths: s.SrcLengths, SrcOffsets: s.SrcOffsets,
			Width: s.Width, Offset: s.Offset, Options: s.Options, Scale: s.Scale})
	}
	f.sources(c)
	if c.err != nil {
		return nil, c.err
	}
	for m, p := range f.Parts {
		c.prefix = streamPrefix(m)
		checkGradientKinds(c, &f.Streams[m].Options, p.D)
	}
	c.prefix = ""
	if o.DType != 0 {
		c.set("Options.DType", ErrOption, o.DType.String(), "none: every SrcGrad is given")
	}
	checkLaunch(c, o.Launch)
	return newBackwardJob(c, f, false)
}

// checkGradientKinds refuses kinds of the d features whose gradient is not that of two weights.
func checkGradientKinds(c *checker, o *ResampleOptions, d int) {
	own := 0
	for i, ch := range o.Channels {
		if ch.Interp > InterpNearest {
			c.set(fmt.Sprintf("Channels[%d].Kind", i), ErrOption, ch.Interp.String(), gradientKinds)
		}
		own += ch.Hi - ch.Lo
	}
	if own < d && o.Interp > InterpNearest {
		c.set("Options.Kind", ErrOption, o.Interp.String(), gradientKinds)
	}
}

// newBackwardJob checks the gradients of an operation whose sources and targets are checked, and gives each stream its part of the one that is read.
func newBackwardJob(c *checker, f *FuseJob, alone bool) (*BackwardJob, error) {
	if f.Targets.IsAnchored() {
		c.set("Targets", ErrOption, "an anchored clock", "a tensor of times or a uniform clock")
	}
	if !c.tensor("Dst", f.Dst) {
		return nil, c.err
	}
	shape := f.OutShape()
	rank := len(shape) + 1
	c.shape("Dst", f.Dst, append(shape[:rank-1:rank-1], f.D)...)
	c.dtype("Dst", f.Dst, valueTypes...)
	c.lastContiguous("Dst", f.Dst)
	inputs := []*tensor.Tensor{f.Dst, f.Targets.Times, f.DstLengths, f.DstOffsets}
	for _, s := range f.Streams {
		inputs = append(inputs, s.SrcTimes, s.SrcLengths, s.SrcOffsets)
	}
	lo := 0
	for m, p := range f.Parts {
		if !alone {
			c.prefix = streamPrefix(m)
		}
		if p.Src != nil {
			c.output("Src", p.Src, inputs...)
			inputs = append(inputs, p.Src)
		}
		if p.Dst = c.view(f.Dst, rank, lo, append(shape[:rank-1:rank-1], p.D)); c.err == nil {
			p.DstStep = f.Dst.Stride(rank - 2)
			if rank == 3 {
				p.DstBatch = f.Dst.Stride(0)
			}
		}
		lo += p.D
	}
	c.prefix = ""
	if c.err != nil {
		return nil, c.err
	}
	return &BackwardJob{Forward: f, Alone: alone}, nil
}

// FaultError unpacks a fault of the job, as [ResampleJob.FaultError].
func (j *BackwardJob) FaultError(f Fault, read func(*tensor.Tensor) ([]int64, error)) error {
	of := j.Forward.FaultError
	if j.Alone {
		of = j.Forward.Parts[0].FaultError
	}
	err := of(f, read)
	if e, ok := err.(*ValueError); ok {
		e.Op = j.Op()
	}
	return err
}

// Bound returns the job's tensors.
func (j *BackwardJob) Bound() Bound {
	b := Bound{op: j.Op()}
	prefix := streamPrefix
	if j.Alone {
		prefix = func(int) string { return "" }
	}
	f := j.Forward
	for m, s := range f.Streams {
		b.add(prefix(m)+"SrcGrad", s.Src)
	}
	b.outputs()
	b.add("DstGrad", f.Dst)
	b.add("Targets", f.Targets.Times)
	b.add("DstLengths", f.DstLengths)
	b.add("DstOffsets", f.DstOffsets)
	for m, s := range f.Streams {
		b.add(prefix(m)+"SrcTimes", s.SrcTimes)
		b.add(prefix(m)+"SrcLengths", s.SrcLengths)
		b.add(prefix(m)+"SrcOffsets", s.SrcOffsets)
	}
	return b
}
