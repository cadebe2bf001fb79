package opstest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// fusing is a Fuse with its inputs. Dst, Valid and Age are made by whoever runs it.
type fusing struct {
	Name                   string
	Streams                []*part
	Targets                *array
	Clock                  ops.Clock // where Targets is nil
	DstLengths, DstOffsets *array
	Anchors, Deltas        *array
	Pad                    bool
	Packed                 int // targets of all rows, with DstOffsets and a uniform clock
	Out                    tensor.DType
	Trust                  bool
	Launch                 ops.LaunchMode // of its plans
	Planned, Wrong         bool           // as in resampling
}

// part is a stream. Of the resampling in it only the source's side and the options count.
type part struct {
	resampling
	Width        int // of a stream whose Src is nil
	Offset       time.Duration
	Shift, Scale []float32
	Least, Most  []float32 // ClipMin and ClipMax
}

func (p *part) width() int {
	if p.Src == nil {
		return p.Width
	}
	return p.Src.shape[len(p.Src.shape)-1]
}

func (p *part) affine() bool {
	return p.Shift != nil || p.Scale != nil || p.Least != nil || p.Most != nil
}

// lead is the first stream that is not missing.
func (f *fusing) lead() *part {
	for _, p := range f.Streams {
		if p.Src != nil {
			return p
		}
	}
	return nil
}

func (f *fusing) clock() tensor.DType { return f.lead().Times.dtype }

// alone is stream m as a resampling of its own: what Fuse must give for it, before Shift and Scale.
func (f *fusing) alone(m int) *resampling {
	p, lead := f.Streams[m], f.lead()
	c := p.resampling
	c.Name = fmt.Sprint(f.Name, ", stream ", m)
	c.Targets, c.Clock, c.Packed, c.DstLengths, c.DstOffsets = f.Targets, f.Clock, f.Packed, f.DstLengths, f.DstOffsets
	c.Anchors, c.Deltas, c.Pad = f.Anchors, f.Deltas, f.Pad
	c.Lacking, c.Opts.TrustTimes, c.Out = true, f.Trust, f.Out
	if p.affine() {
		c.Out = tensor.F32
	}
	if c.Opts.Fill == (ops.Fill{}) {
		c.Opts.Fill = ops.FillWith(0)
	}
	if c.Src == nil {
		b, _, _, _ := lead.dims()
		shape := []int{b, 0, p.Width}
		if !lead.batched() {
			shape = shape[1:]
		}
		c.Src, c.Times = packed(tensor.F32, nil, shape...), packed(f.clock(), nil, shape[:len(shape)-1]...)
	}
	if p.Offset != 0 {
		f.shift(&c, p.Offset)
	}
	return &c
}

// shift takes an offset from the targets in the clock's own type. Those of a uniform clock, which are not packed then, are written
// out for it.
func (f *fusing) shift(c *resampling, offset time.Duration) {
	clock := f.clock()
	less := func(b uint64) uint64 {
		switch sec := float64(offset) / 1e9; clock {
		case tensor.I64:
			return b - uint64(offset)
		case tensor.F64:
			return encode(clock, decode(clock, b)-sec)
		default:
			x := float32(decode(clock, b)) - float32(sec)
			return encode(clock, float64(x))
		}
	}
	var raw []uint64
	shape := []int{c.Clock.Count}
	switch {
	case c.Anchors != nil:
		shape = []int{c.Anchors.shape[0], c.Deltas.shape[0]}
		for b := range shape[0] {
			for i := range shape[1] {
				if x := c.anchored(b, i); clock == tensor.I64 {
					raw = append(raw, uint64(x))
				} else {
					raw = append(raw, encode(clock, float64(x)/1e9))
				}
			}
		}
		c.Anchors, c.Deltas = nil, nil
	case c.Targets != nil:
		raw, shape = c.Targets.dense(), c.Targets.shape
	default:
		for i := range c.Clock.Count {
			if clock == tensor.I64 {
				raw = append(raw, uint64(c.Clock.Tick(i)))
			} else {
				raw = append(raw, encode(clock, c.Clock.Second(i)))
			}
		}
	}
	for i, b := range raw {
		raw[i] = less(b)
	}
	c.Targets = packed(clock, raw, shape...)
}

func (f *fusing) width() (n int) {
	for _, p := range f.Streams {
		n += p.width()
	}
	return n
}

func (f *fusing) args(put func(*array) *tensor.Tensor) ops.FuseArgs {
	a := ops.FuseArgs{Targets: f.Clock, DstLengths: put(f.DstLengths), DstOffsets: put(f.DstOffsets)}
	switch {
	case f.Anchors != nil:
		a.Targets = ops.Anchored(put(f.Anchors), put(f.Deltas))
	case f.Targets != nil:
		a.Targets = ops.At(put(f.Targets))
	}
	for _, p := range f.Streams {
		a.Streams = append(a.Streams, ops.FuseStream{Src: put(p.Src), SrcTimes: put(p.Times), SrcLengths: put(p.SrcLengths), SrcOffsets: put(p.SrcOffsets), SrcStarts: put(p.SrcStarts),
			Width: p.Width, Offset: p.Offset, Options: p.Opts, Shift: p.Shift, Scale: p.Scale, ClipMin: p.Least, ClipMax: p.Most})
	}
	return a
}

// plan runs the case as a plan on device tensors, with guards around the outputs.
func (f *fusing) plan(dev *ops.Device, l layout) (res *result, err error) {
	p := &placed{dev: dev}
	args := f.args(p.put)
	defer func() { err = errors.Join(err, p.close()) }()
	if p.err != nil {
		return nil, p.err
	}
	shape := f.alone(0).outShape()
	t := shape[len(shape)-1]
	var guards []*guarded
	output := func(dtype tensor.DType, last, step, row, offset int) *tensor.Tensor {
		strides := []int{last + step, 1}
		if len(shape) == 2 {
			strides = append([]int{t*(last+step) + row}, strides...)
		}
		g, failed := guard(dev, dtype, append(shape[:len(shape):len(shape)], last), strides, offset, l.end)
		if err = errors.Join(err, failed); err != nil {
			return nil
		}
		p.open, guards = append(p.open, g.base), append(guards, g)
		return g.view
	}
	args.Dst = output(f.Out, f.width(), l.step, l.row, l.front)
	args.Valid = output(tensor.U8, len(f.Streams), l.sideRow, l.sideRow, l.sideOffset)
	args.Age = output(f.clock(), len(f.Streams), l.sideRow, l.sideRow, l.sideOffset)
	if f.Pad {
		args.Pad = output(tensor.U8, len(f.Streams), l.sideRow, l.sideRow, l.sideOffset)
	}
	if err != nil {
		return nil, err
	}
	plan, err := dev.PlanFuse(args, ops.FuseOptions{TrustTimes: f.Trust, Launch: f.Launch})
	if err != nil {
		return nil, err
	}
	defer plan.Close()
	if err := plan.Run(dev.Queue()); err != nil {
		return nil, fmt.Errorf("Run: %w", err)
	}
	first := dev.Synchronize(context.Background())
	res = &result{kernels: kernelsOf(plan)}
	for i, g := range guards {
		to := []*[]uint64{&res.dst, &res.valid, &res.age, &res.pad}[i]
		if *to, err = g.read(dev); err != nil {
			return nil, err
		}
	}
	return res, first
}

// call runs the case in the convenient form on host tensors.
func (f *fusing) call(dev *ops.Device) (*result, error) {
	args := f.args((*array).host)
	if f.DstOffsets != nil && f.Targets == nil {
		args.Dst = tensor.Must(tensor.New(f.Out, f.Packed, f.width()))
	}
	if f.Pad {
		args.Pad = tensor.Must(tensor.New(tensor.U8, append(f.alone(0).outShape(), len(f.Streams))...))
	}
	got, err := dev.Fuse(context.Background(), args, ops.FuseOptions{DType: f.Out, TrustTimes: f.Trust})
	if err != nil {
		return nil, err
	}
	res := &result{dst: bitsOf(got.Values), valid: bitsOf(got.Valid), age: bitsOf(got.Age)}
	if f.Pad {
		res.pad = bitsOf(got.Pad)
	}
	return res, nil
}

// fault is the error that the case must give: of the streams' own the first class, and in it the first stream.
func (f *fusing) fault() *ops.ValueError {
	var least *ops.ValueError
	best := 0
	for m := range f.Streams {
		a := solve(f.alone(m))
		if a.err == nil {
			continue
		}
		class, e := 0, *a.err
		switch e.Arg {
		case "SrcTimes":
			class = 1
		case "Targets":
			class = 2
		}
		if e.Op = "Fuse"; e.Arg[:3] != "Dst" {
			e.Arg = fmt.Sprintf("Streams[%d].%s", m, e.Arg)
		}
		if least == nil || class < best {
			least, best = &e, class
		}
	}
	return least
}

// wanted puts the answer together from the device's own resamplings: side by side, each after its Shift and Scale. kept tells
// which elements keep a NaN's bits.
func (f *fusing) wanted(t *testing.T, dev *ops.Device) (want *result, kept []bool) {
	t.Helper()
	n, width, m := 1, f.width(), len(f.Streams)
	for _, d := range f.alone(0).outShape() {
		n *= d
	}
	want = &result{dst: make([]uint64, n*width), valid: make([]uint64, n*m), age: make([]uint64, n*m)}
	if f.Pad {
		want.pad = make([]uint64, n*m)
	}
	kept = make([]bool, n*width)
	lo := 0
	for i, p := range f.Streams {
		c := f.alone(i)
		a := solve(c)
		got := &result{valid: a.valid, age: a.age, pad: a.pad}
		if _, s, _, _ := c.dims(); s > 0 {
			c.Opts.TrustTimes = true // rows may be without samples
			var err error
			got, err = c.call(dev)
			require.NoError(t, err, c.Name)
		}
		for k := range n {
			want.valid[k*m+i], want.age[k*m+i] = got.valid[k], got.age[k]
			if f.Pad {
				want.pad[k*m+i] = got.pad[k]
			}
			for d := range p.width() {
				e, to := a.dst[k*p.width()+d], k*width+lo+d
				kept[to] = e.rule == copied && !p.affine()
				switch {
				case e.fill:
					want.dst[to] = encode(f.Out, c.Opts.Fill.Get())
				case p.affine():
					want.dst[to] = p.normal(f.Out, d, got.dst[k*p.width()+d])
				default:
					want.dst[to] = got.dst[k*p.width()+d]
				}
			}
		}
		lo += p.width()
	}
	return want, kept
}

// normal is feature d after Shift and Scale, from its bits in f32. Sums and products of float32 numbers are exact in float64, or
// rounded there so finely that rounding them again changes nothing (Figueroa, 1995).
func (p *part) normal(out tensor.DType, d int, bits uint64) uint64 {
	x := decode(tensor.F32, bits)
	if p.Shift != nil {
		x -= float64(p.Shift[d])
	}
	x = float64(float32(x))
	if p.Scale != nil {
		x *= float64(p.Scale[d])
	}
	x = float64(float32(x))
	if p.Least != nil && x < float64(p.Least[d]) {
		x = float64(p.Least[d])
	}
	if p.Most != nil && x > float64(p.Most[d]) {
		x = float64(p.Most[d])
	}
	return encode(out, x)
}

// fused runs a case in both forms and on the CPU.
func (s *suite) fused(t *testing.T, f *fusing, ls ...layout) {
	t.Helper()
	if s.rare() {
		return
	}
	if f.Wrong {
		for _, l := range ls {
			if _, err := f.plan(s.dev, l); !errors.Is(err, ops.ErrOutOfRange) {
				assert.NoError(t, err, f.describe())
			}
		}
		return
	}
	wantErr := f.fault()
	var want *result
	var kept []bool
	if wantErr == nil {
		alone := s.dev
		if s.cfg.Slow > 1 && !s.cfg.Both && s.cpu != nil {
			alone = s.cpu // the bits are the same, as the cases of Resample show
		}
		want, kept = f.wanted(t, alone)
	}
	verify := func(form string, got *result, err error) bool {
		t.Helper()
		if wantErr != nil {
			var e *ops.ValueError
			if !errors.As(err, &e) || *e != *wantErr {
				t.Errorf("%s: got error %v, want %v\ncase: %s", form, err, wantErr, f.describe())
			}
			return false
		}
		if err != nil {
			t.Errorf("%s: %v\ncase: %s", form, err, f.describe())
			return false
		}
		if msg := f.differ(want, got, kept); msg != "" {
			t.Errorf("%s: not what this device's own Resample of the streams gives (want; which of the two is wrong, a comparison with the CPU tells): %s\ncase: %s%s",
				form, msg, f.describe(), got.by())
		}
		return true
	}
	call, ls := s.forms(f.Planned, ls)
	if call {
		got, err := f.call(s.dev)
		verify("call", got, err)
	}
	for _, l := range ls {
		for _, f := range s.fuseLaunches(f) {
			form := fmt.Sprintf("plan, %s, launched %v", l.name, f.Launch)
			got, err := f.plan(s.dev, l)
			if verify(form, got, err) && s.cpu != nil {
				ref, err := f.plan(s.cpu, l)
				require.NoError(t, err, "the CPU device")
				if msg := f.differ(ref, got, kept); msg != "" {
					t.Errorf("%s: not the CPU's bits: %s\ncase: %s%s", form, msg, f.describe(), got.by())
				}
			}
		}
	}
}

// fuseLaunches is launches of a fusion.
func (s *suite) fuseLaunches(f *fusing) []*fusing {
	if f.Launch != ops.LaunchDefault || s.cpu == nil {
		return []*fusing{f}
	}
	ready := *f
	ready.Launch = ops.LaunchInputsReady
	if f.Planned {
		return []*fusing{f, &ready}
	}
	return []*fusing{&ready}
}

// differ returns where a run is not what was wanted, or "".
func (f *fusing) differ(want, got *result, kept []bool) string {
	width, m := f.width(), len(f.Streams)
	for i, w := range want.dst {
		if got.dst[i] != w && (kept[i] || !bothNaN(f.Out, got.dst[i], w)) {
			return fmt.Sprintf("Dst, target %d, column %d: got %s, want %s", i/width, i%width, show(f.Out, got.dst[i]), show(f.Out, w))
		}
	}
	for i := range want.pad {
		if got.pad[i] != want.pad[i] {
			return fmt.Sprintf("Pad, target %d, stream %d: got %d, want %d", i/m, i%m, got.pad[i], want.pad[i])
		}
	}
	for i := range want.valid {
		if got.valid[i] != want.valid[i] {
			return fmt.Sprintf("Valid, target %d, stream %d: got %d, want %d", i/m, i%m, got.valid[i], want.valid[i])
		}
		if got.age[i] != want.age[i] && !bothNaN(f.clock(), got.age[i], want.age[i]) {
			return fmt.Sprintf("Age, target %d, stream %d: got %s, want %s", i/m, i%m, show(f.clock(), got.age[i]), show(f.clock(), want.age[i]))
		}
	}
	return ""
}

func (f *fusing) describe() string {
	s := fmt.Sprintf("%s: to %s, targets %v, clock %s, lengths %v, offsets %v", f.Name, f.Out, f.Targets != nil, f.clock(), f.DstLengths != nil, f.DstOffsets != nil)
	for m, p := range f.Streams {
		s += fmt.Sprintf("\nstream %d, missing %v, offset %v, affine %v: %s", m, p.Src == nil, p.Offset, p.affine(), f.alone(m).describe())
	}
	return s
}
