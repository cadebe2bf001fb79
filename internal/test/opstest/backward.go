package opstest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// backward is a FuseBackward with its inputs, or a ResampleBackward. Of the fusion's sources the shapes and dtypes count, which are those of
// their gradients, and Out is that of Grad.
type backward struct {
	*fusing
	Grad  *array // [.., sum D]
	Alone bool   // of a Resample: of its one stream
	Once  bool   // its plan runs once, not twice
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

func (b *backward) planOn(dev *ops.Device, a ops.FuseBackwardArgs) (*ops.Plan, error) {
	if b.Alone {
		opts := b.Streams[0].Opts
		opts.TrustTimes, opts.Launch = b.Trust, b.Launch
		return dev.PlanResampleBackward(resampleArgs(a), opts)
	}
	return dev.PlanFuseBackward(a, ops.FuseOptions{TrustTimes: b.Trust, Launch: b.Launch})
}

// plan runs the case as a plan on device tensors, twice unless it says once, with guards around the gradients, which it returns stream by stream.
func (b *backward) plan(dev *ops.Device, l layout) (res [][]uint64, kernels []string, err error) {
	p := &placed{dev: dev}
	defer func() { err = errors.Join(err, p.close()) }()
	guards := make([]*guarded, len(b.Streams))
	args := b.args(p.put, func(m int) *tensor.Tensor {
		src := b.Streams[m].Src
		rank := len(src.shape)
		strides := []int{src.shape[rank-1] + l.step, 1}
		if rank == 3 {
			strides = append([]int{src.shape[1]*strides[0] + l.row}, strides...)
		}
		g, failed := guard(dev, src.dtype, src.shape, strides, l.front, l.end)
		if p.err = errors.Join(p.err, failed); p.err != nil {
			return nil
		}
		p.open, guards[m] = append(p.open, g.base), g
		return g.view
	})
	if p.err != nil {
		return nil, nil, p.err
	}
	plan, err := b.planOn(dev, args)
	if err != nil {
		return nil, nil, err
	}
	defer plan.Close()
	var first error
	for i := range 2 - b2i(b.Once) {
		if err := plan.Run(dev.Queue()); err != nil {
			return nil, nil, fmt.Errorf("Run: %w", err)
		}
		if found := dev.Synchronize(context.Background()); i == 0 {
			first = found
		}
	}
	res = make([][]uint64, len(b.Streams))
	for m, g := range guards {
		if g == nil {
			continue
		}
		if res[m], err = g.read(dev); err != nil {
			return nil, nil, err
		}
	}
	return res, kernelsOf(plan), first
}

// call runs the case in the convenient form on host tensors.
func (b *backward) call(dev *ops.Device) ([][]uint64, error) {
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
		return [][]uint64{bitsOf(got.SrcGrad)}, nil
	}
	if err := dev.FuseBackward(context.Background(), args, ops.FuseOptions{TrustTimes: b.Trust}); err != nil {
		return nil, err
	}
	out := make([][]uint64, len(b.Streams))
	for m, s := range args.Streams {
		if s.SrcGrad != nil {
			out[m] = bitsOf(s.SrcGrad)
		}
	}
	return out, nil
}

// gradients runs a case in both forms against the oracle, which tells every bit.
func (s *suite) gradients(t *testing.T, b *backward, ls ...layout) {
	t.Helper()
	if s.rare() {
		return
	}
	if b.Wrong {
		for _, l := range ls {
			if _, _, err := b.plan(s.dev, l); !errors.Is(err, ops.ErrOutOfRange) {
				assert.NoError(t, err, b.describe())
			}
		}
		return
	}
	wantErr := b.fault()
	want := make([][]uint64, len(b.Streams))
	if wantErr == nil {
		for m, p := range b.Streams {
			if p.Src != nil {
				want[m] = b.wanted(m)
			}
		}
	}
	verify := func(form string, got [][]uint64, err error, kernels []string) {
		t.Helper()
		if wantErr != nil {
			var e *ops.ValueError
			if !errors.As(err, &e) || *e != *wantErr {
				t.Errorf("%s: got error %v, want %v\ncase: %s", form, err, wantErr, b.describe())
			}
			return
		}
		if err != nil {
			t.Errorf("%s: %v\ncase: %s", form, err, b.describe())
			return
		}
		for m, p := range b.Streams {
			for i, w := range want[m] {
				if d := p.width(); got[m][i] != w && !bothNaN(p.Src.dtype, got[m][i], w) {
					t.Errorf("%s: stream %d, sample %d, feature %d: got %s, want %s\ncase: %s\nlaunched: %v", form, m, i/d, i%d, show(p.Src.dtype, got[m][i]), show(p.Src.dtype, w), b.describe(), kernels)
					return
				}
			}
		}
	}
	call, ls := s.forms(b.Planned, ls)
	if call {
		got, err := b.call(s.dev)
		verify("call", got, err, nil)
	}
	for _, l := range ls {
		for _, f := range s.fuseLaunches(b.fusing) {
			c := &backward{f, b.Grad, b.Alone, s.cfg.Slow > 1}
			got, kernels, err := c.plan(s.dev, l)
			verify(fmt.Sprintf("plan, %s, launched %v", l.name, f.Launch), got, err, kernels)
		}
	}
}

func (b *backward) describe() string {
	return fmt.Sprintf("alone %v, gradient strides %v, %s", b.Alone, b.Grad.strides, b.fusing.describe())
}

// gradientGroup runs all that is about gradients.
func (s *suite) gradientGroup(t *testing.T) {
	s.parts(t, "backward", []group{
		{"literal", (*suite).gradientLiterals},
		{"edges", (*suite).gradientEdges},
		{"tiles", (*suite).gradientTiles},
		{"named", (*suite).gradientNamed},
		{"tables", (*suite).gradientTables},
		{"dtypes", (*suite).gradientDTypes},
		{"scaled", (*suite).gradientScales},
		{"shapes", (*suite).gradientShapes},
		{"adjoint", (*suite).gradientAdjoint},
		{"differences", (*suite).gradientDifferences},
		{"generated", (*suite).gradientGenerated},
		{"values", (*suite).gradientValues},
		{"misuse", (*suite).gradientMisuse},
		{"life", (*suite).gradientLife},
	})
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
	got, err := b.call(s.dev)
	require.NoError(t, err, b.describe())
	out := make([][]float64, len(got))
	for m, raw := range got {
		for _, bits := range raw {
			out[m] = append(out[m], decode(b.Streams[m].Src.dtype, bits))
		}
	}
	return out
}
