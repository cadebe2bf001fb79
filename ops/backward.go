package ops

import (
	"fmt"
	"time"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// ResampleBackwardArgs has the tensors for [Device.ResampleBackward]. Each has the same shape as in [ResampleArgs]. The
// output comes first.
//
// Both gradients are f32, f64, f16 or bf16. Times, targets, lengths and offsets are the same as in the forward call,
// with one restriction: the targets in a row must ascend, and equal targets are allowed. NaN targets come last, as
// torch.sort puts them. If targets are in another order, the run ends in a *ValueError with the kind ErrUnsorted, as it
// does for unsorted source times.
type ResampleBackwardArgs struct {
	SrcGrad *tensor.Tensor // [B,S,D], or packed: the gradient with respect to Src. Every element is written; 0 beyond SrcLengths

	DstGrad  *tensor.Tensor // [B,T,D], or packed: the gradient with respect to Dst
	SrcTimes *tensor.Tensor // [B,S], or [S] shared by the batch
	Targets  Clock

	SrcLengths, SrcOffsets *tensor.Tensor
	DstLengths, DstOffsets *tensor.Tensor
}

// ResampleBackwardResult is the result of [Device.ResampleBackward].
type ResampleBackwardResult struct {
	SrcGrad *tensor.Tensor // the tensor from the arguments, or a new one
}

// FuseBackwardArgs has the tensors for [Device.FuseBackward]. Each stream gets the gradient that ResampleBackward
// computes from its columns in DstGrad.
type FuseBackwardArgs struct {
	DstGrad *tensor.Tensor // [B,T,sum D]: the gradient with respect to Dst
	Streams []FuseBackwardStream
	Targets Clock // as in ResampleBackwardArgs, on the common clock

	DstLengths, DstOffsets *tensor.Tensor
}

// FuseBackwardStream is one stream in a FuseBackward. If SrcGrad is nil, the stream was missing in Fuse or its gradient
// is not needed: then set Width and leave the times nil. At least one stream must have a SrcGrad.
type FuseBackwardStream struct {
	SrcGrad  *tensor.Tensor // [B,S,D], any value dtype; written
	SrcTimes *tensor.Tensor // as in FuseStream, like all fields after it

	SrcLengths, SrcOffsets *tensor.Tensor

	Width   int
	Offset  time.Duration
	Options ResampleOptions
	Scale   []float32 // [D], if Fuse had it; Shift does not change the gradient
}

// gradientNames has the argument names of the gradient operations that differ from the forward operation's.
var gradientNames = map[string]string{"Src": "SrcGrad", "Dst": "DstGrad"}

const gradientKinds = "linear, previous, next or nearest, the kinds that have a gradient here"

// newResampleBackwardJob validates the arguments against tensors on the given device.
func newResampleBackwardJob(c *checker, a ResampleBackwardArgs, o ResampleOptions) (*backend.BackwardJob, error) {
	r := jobUnder(&o, !o.TrustTimes, o.Launch)
	r.ResampleTensors = backend.ResampleTensors(a.forward())
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
	f := &backend.FuseJob{B: r.B, D: r.D, T: r.T, Clock: r.ClockType(), Check: r.Check, Launch: r.Launch, Parts: []backend.FusePart{{ResampleJob: r.ResampleJob}},
		Dst: r.Dst, Targets: r.Targets, DstLengths: r.DstLengths, DstOffsets: r.DstOffsets}
	return newBackwardJob(c, f, true)
}

// forward returns the arguments with the names of Resample.
func (a *ResampleBackwardArgs) forward() ResampleArgs {
	return ResampleArgs{Dst: a.DstGrad, Src: a.SrcGrad, SrcTimes: a.SrcTimes, Targets: a.Targets,
		SrcLengths: a.SrcLengths, SrcOffsets: a.SrcOffsets, DstLengths: a.DstLengths, DstOffsets: a.DstOffsets}
}

// newFuseBackwardJob validates the arguments against tensors on the given device.
func newFuseBackwardJob(c *checker, a FuseBackwardArgs, o FuseOptions) (*backend.BackwardJob, error) {
	f := fuseUnder(&FuseArgs{Dst: a.DstGrad, Targets: a.Targets, DstLengths: a.DstLengths, DstOffsets: a.DstOffsets}, !o.TrustTimes, o.Launch)
	for _, s := range a.Streams {
		f.Streams = append(f.Streams, FuseStream{Src: s.SrcGrad, SrcTimes: s.SrcTimes, SrcLengths: s.SrcLengths, SrcOffsets: s.SrcOffsets,
			Width: s.Width, Offset: s.Offset, Options: s.Options, Scale: s.Scale})
	}
	f.sources(c)
	if c.err != nil {
		return nil, c.err
	}
	for m, p := range f.Parts {
		c.prefix = backend.StreamPrefix(m)
		checkGradientKinds(c, &f.Streams[m].Options, p.D)
	}
	c.prefix = ""
	if o.DType != 0 {
		c.set("Options.DType", ErrOption, o.DType.String(), "none: every SrcGrad is given")
	}
	checkLaunch(c, o.Launch)
	return newBackwardJob(c, f.FuseJob, false)
}

// checkGradientKinds sets an error if one of the d features has a kind without a gradient here.
func checkGradientKinds(c *checker, o *ResampleOptions, d int) {
	own := 0
	for i, ch := range o.Channels {
		if ch.Interp > InterpNearest {
			c.set(fmt.Sprintf("Channels[%d].Interp", i), ErrOption, ch.Interp.String(), gradientKinds)
		}
		own += ch.Hi - ch.Lo
	}
	if own < d && o.Interp > InterpNearest {
		c.set("Options.Interp", ErrOption, o.Interp.String(), gradientKinds)
	}
}

// newBackwardJob checks the gradients of an operation with checked sources and targets, and gives each stream its columns of the
// gradient to read. It returns the checker's first error.
func newBackwardJob(c *checker, f *backend.FuseJob, alone bool) (*backend.BackwardJob, error) {
	if f.Targets.IsAnchored() {
		c.set("Targets", ErrOption, "an anchored clock", "a time tensor or a uniform clock")
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
	for _, p := range f.Parts {
		inputs = append(inputs, p.SrcTimes, p.SrcLengths, p.SrcOffsets)
	}
	lo := 0
	for m, p := range f.Parts {
		if !alone {
			c.prefix = backend.StreamPrefix(m)
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
	return &backend.BackwardJob{Forward: f, Alone: alone}, nil
}
