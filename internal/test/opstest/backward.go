package opstest

import (
	"context"
	"fmt"
	"testing"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// backward is a FuseBackward with its inputs, or a ResampleBackward. Of the fusion's sources the shapes and dtypes count, which are those of
// their gradients, and Out is that of Grad.
type backward struct {
	*fusing
	Grad  *array // [.., sum D]
	Alone bool   // of a Resample: of its one stream
}

// of is stream m as the resampling whose gradient is taken.
func (b *backward) of(m int) *resampling {
	c := b.alone(m)
	c.Lacking = !b.Alone
	return c
}

// gradient makes a case of a fusion, whose targets it sorts, with a gradient drawn for it: moderate numbers, and with wild above 0 at times extremes.
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

// args are the case's tensors; src gives those for the gradients of streams that are not missing.
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

// resampleArgs are the arguments of the only stream.
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

// gradName names a stream's gradient.
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

// solve has the oracle, which works out every bit.
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

// backwardParts test ResampleBackward and FuseBackward.
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

// plannedFusion returns a fusion of one stream that is planned only.
func plannedFusion(c *resampling, out tensor.DType) *fusing {
	return &fusing{Name: c.Name, Out: out, Streams: []*part{{resampling: *c}}, Targets: c.Targets, Planned: true}
}

// single is the gradient of a resampling.
func single(c *resampling, grad *array) *backward {
	f := &fusing{Name: c.Name, Streams: []*part{{resampling: *c}}, Targets: c.Targets, Clock: c.Clock, DstLengths: c.DstLengths, DstOffsets: c.DstOffsets, Packed: c.Packed,
		Out: c.out(), Trust: c.Opts.TrustTimes, Launch: c.Opts.Launch, Planned: c.Planned, Wrong: c.Wrong}
	f.Streams[0].Opts.TrustTimes, f.Streams[0].Opts.Launch = false, ops.LaunchDefault
	if grad != nil {
		f.Out = grad.dtype
	}
	return &backward{fusing: f, Grad: grad, Alone: true}
}

// bits of the gradients that a call gives, as numbers.
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
