package opstest

import (
	"context"
	"fmt"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// backward is a case for FuseBackward or ResampleBackward. It has the inputs of the forward operation, but only the shapes and dtypes
// of the sources are used, for their gradients. Out is the dtype of Grad.
type backward struct {
	*fusing
	Grad  *array // [.., sum of D]
	Alone bool   // the operation is ResampleBackward, for the only stream
}

// of returns stream m as the resampling that the gradient belongs to.
func (b *backward) of(m int) *resampling {
	c := b.alone(m)
	c.Lacking = !b.Alone
	return c
}

// gradient returns a case for a fusion with sorted targets. The gradient's numbers are moderate; if wild > 0, some are extreme.
func gradient(seed uint64, f *fusing, alone bool, wild int) *backward {
	g := &generator{Rand: rng(seed), c: &resampling{}}
	sorted := *f
	if f.Targets != nil {
		sorted.Targets = sortedTargets(f)
	}
	shape := append(f.alone(0).outShape(), f.width())
	n := 1
	for _, d := range shape {
		n *= d
	}
	raw := make([]uint64, n)
	for i := range raw {
		raw[i] = g.bits(f.Out, wild)
	}
	return &backward{fusing: &sorted, Grad: packed(f.Out, raw, shape...), Alone: alone}
}

// args returns the case's arguments. put makes the input tensors; src makes the gradient of stream m, which must not be missing.
func (b *backward) args(put func(*array) *tensor.Tensor, src func(m int) *tensor.Tensor) ops.FuseBackwardArgs {
	a := ops.FuseBackwardArgs{DstGrad: put(b.Grad), Targets: b.Clock, DstLengths: put(b.DstLengths), DstOffsets: put(b.DstOffsets)}
	if b.Targets != nil {
		a.Targets = ops.At(put(b.Targets))
	}
	for m, p := range b.Streams {
		s := ops.FuseBackwardStream{SrcTimes: put(p.Times), SrcLengths: put(p.SrcLengths), SrcOffsets: put(p.SrcOffsets), Width: p.Width, Offset: p.Offset, Options: p.Opts, Scale: p.Scale}
		if p.Src != nil {
			s.SrcGrad = src(m)
		}
		a.Streams = append(a.Streams, s)
	}
	return a
}

// resampleArgs returns the arguments of the first stream for ResampleBackward.
func resampleArgs(a ops.FuseBackwardArgs) ops.ResampleBackwardArgs {
	s := a.Streams[0]
	return ops.ResampleBackwardArgs{SrcGrad: s.SrcGrad, DstGrad: a.DstGrad, SrcTimes: s.SrcTimes, Targets: a.Targets, SrcLengths: s.SrcLengths, SrcOffsets: s.SrcOffsets,
		DstLengths: a.DstLengths, DstOffsets: a.DstOffsets}
}

func (b *backward) plan(p *placed, l layout, mode ops.LaunchMode) (*ops.Plan, error) {
	args := b.args(p.put, func(m int) *tensor.Tensor {
		src := b.Streams[m].Src
		return p.out(gradName(m), spaced(src.dtype, src.shape, l.step, l.row, l.front), l.end)
	})
	if p.err != nil {
		return nil, p.err
	}
	if b.Alone {
		opts := b.Streams[0].Opts
		opts.TrustTimes, opts.Launch = b.Trust, mode
		return p.dev.PlanResampleBackward(resampleArgs(args), opts)
	}
	return p.dev.PlanFuseBackward(args, ops.FuseOptions{TrustTimes: b.Trust, Launch: mode})
}

// gradName returns the name of the gradient of stream m, as errors have it.
func gradName(m int) string { return fmt.Sprintf("Streams[%d].SrcGrad", m) }

func (b *backward) call(dev *ops.Device) (*result, error) {
	args := b.args((*array).host, func(m int) *tensor.Tensor {
		src := b.Streams[m].Src
		return tensor.Must(tensor.New(src.dtype, src.shape...))
	})
	if b.Alone {
		opts := b.Streams[0].Opts
		opts.TrustTimes, opts.DType = b.Trust, b.Streams[0].Src.dtype
		a := resampleArgs(args)
		if shape := b.Streams[0].Src.shape; len(shape) == len(b.Grad.shape) && b.DstOffsets == nil {
			a.SrcGrad = nil
		}
		got, err := dev.ResampleBackward(context.Background(), a, opts)
		if err != nil {
			return nil, err
		}
		return resultOf(map[string]*tensor.Tensor{gradName(0): got.SrcGrad}), nil
	}
	if err := dev.FuseBackward(context.Background(), args, ops.FuseOptions{TrustTimes: b.Trust}); err != nil {
		return nil, err
	}
	out := map[string]*tensor.Tensor{}
	for m, s := range args.Streams {
		out[gradName(m)] = s.SrcGrad
	}
	return resultOf(out), nil
}

func (b *backward) traits() traits {
	tr := b.fusing.traits()
	tr.exact, tr.again = true, true
	return tr
}

func (b *backward) describe() string {
	return fmt.Sprintf("alone=%v gradient=%s %s", b.Alone, b.Grad.spacing(), b.fusing.describe())
}

// solve returns the expected error, or a comparison with the oracle, which computes every bit.
func (b *backward) solve(*suite) (*ops.ValueError, func(*result) string) {
	if fault := b.fault(); fault != nil {
		return fault, nil
	}
	want := map[string][]uint64{}
	for m, p := range b.Streams {
		if p.Src != nil {
			want[gradName(m)] = b.wanted(m)
		}
	}
	return nil, func(got *result) string { return got.differAny(want) }
}

// backwardParts returns the tests for ResampleBackward and FuseBackward.
func backwardParts() parts {
	return parts{
		"literal":     (*suite).gradientLiterals,
		"edges":       (*suite).gradientEdges,
		"tiles":       (*suite).gradientTiles,
		"named":       (*suite).gradientNamed,
		"tables":      (*suite).gradientTables,
		"dtypes":      (*suite).gradientDTypes,
		"scaled":      (*suite).gradientScales,
		"shapes":      (*suite).gradientShapes,
		"adjoint":     (*suite).gradientAdjoint,
		"differences": (*suite).gradientDifferences,
		"generated":   generated("backward"),
		"values":      (*suite).gradientValues,
	}
}

// plannedFusion returns a fusion of one stream that runs only as a plan.
func plannedFusion(c *resampling, out tensor.DType) *fusing {
	return &fusing{Name: c.Name, Out: out, Streams: []*part{{resampling: *c}}, Targets: c.Targets, Planned: true}
}

// single returns the gradient case for one resampling.
func single(c *resampling, grad *array) *backward {
	f := &fusing{Name: c.Name, Streams: []*part{{resampling: *c}}, Targets: c.Targets, Clock: c.Clock, DstLengths: c.DstLengths, DstOffsets: c.DstOffsets, Packed: c.Packed,
		Out: c.out(), Trust: c.Opts.TrustTimes, Launch: c.Opts.Launch, Planned: c.Planned, Wrong: c.Wrong}
	f.Streams[0].Opts.TrustTimes, f.Streams[0].Opts.Launch = false, ops.LaunchDefault
	if grad != nil {
		f.Out = grad.dtype
	}
	return &backward{fusing: f, Grad: grad, Alone: true}
}

// gradientOf returns the gradients that a call computes, as numbers, in the order of the streams.
func (s *suite) gradientOf(t *testing.T, b *backward) [][]float64 {
	t.Helper()
	got := s.called(t, b)
	out := make([][]float64, len(b.Streams))
	for m := range out {
		if g := got.out[gradName(m)]; g != nil {
			out[m] = g.floats()
		}
	}
	return out
}
