package opstest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// suite runs cases on one device.
type suite struct {
	dev *ops.Device
	cpu *ops.Device // the CPU, to compare bits with; nil if dev is the CPU
	cfg Config

	turns, spared int    // what a slow device has left out
	cases         uint32 // that there were: see form and rare
}

func (s *suite) isCPU() bool { return s.dev.Info().Backend == "cpu" }

// home is where the device's tensors say they are.
func (s *suite) home() string {
	if s.isCPU() {
		return "host"
	}
	return s.dev.Name()
}

// result is what a run wrote, densely, as bits.
type result struct {
	dst, valid, age []uint64
	pad             []uint64 // where it is wanted
	kernels         []string // that a plan of the CUDA backend launched
}

// by says which kernels made a result, for those who look for the fault of one.
func (r *result) by() string {
	if r == nil || len(r.kernels) == 0 {
		return ""
	}
	return "\nlaunched: " + strings.Join(r.kernels, ", ")
}

// kernelsOf are the kernels that a plan launches, if its backend tells.
func kernelsOf(p *ops.Plan) []string {
	if k, ok := p.Backend().(interface{ Kernels() []string }); ok {
		return k.Kernels()
	}
	return nil
}

// guarded is an output: a view inside a buffer of poison.
type guarded struct {
	dtype tensor.DType
	*array
	base, view *tensor.Tensor
}

// layout says how outputs lie in their buffers.
type layout struct {
	name       string
	front      int // elements of poison before
	step, row  int // elements of poison between the targets and between the rows
	end        int // elements of poison after
	sideRow    int // as row, for Valid and Age
	sideOffset int
}

var layouts = []layout{
	{name: "aligned", front: 64, end: 64, sideOffset: 64},
	{name: "holes", front: 3, step: 5, row: 7, end: 33, sideRow: 3, sideOffset: 1},
}

// guard makes a poisoned output on a device.
func guard(dev *ops.Device, dtype tensor.DType, shape, strides []int, offset, end int) (*guarded, error) {
	g := &guarded{dtype: dtype, array: &array{dtype: dtype, shape: shape, strides: strides, offset: offset}}
	n := offset + end + 1
	for i, d := range shape {
		n += max(d-1, 0) * strides[i]
	}
	g.raw = make([]uint64, n)
	for i := range g.raw {
		g.raw[i] = poison(dtype)
	}
	var err error
	if g.base, err = dev.Upload(context.Background(), tensorOf(dtype, g.raw)); err != nil {
		return nil, err
	}
	g.view, err = g.base.AsStrided(shape, strides, offset)
	return g, err
}

// read downloads the output and fails if anything outside it was written.
func (g *guarded) read(dev *ops.Device) ([]uint64, error) {
	host := tensor.Must(tensor.New(g.dtype, len(g.raw)))
	if err := dev.Copy(context.Background(), host, g.base); err != nil {
		return nil, err
	}
	got := bitsOf(host)
	mine := make([]bool, len(got))
	g.each(func(_, at int) { mine[at] = true })
	for i, b := range got {
		if !mine[i] && b != poison(g.dtype) {
			return nil, fmt.Errorf("stray write: element %d of the buffer holds %s; the output begins at %d with shape %v, strides %v",
				i, show(g.dtype, b), g.offset, g.shape, g.strides)
		}
	}
	g.raw = got
	return g.dense(), nil
}

// placed keeps device tensors until they are closed together.
type placed struct {
	dev  *ops.Device
	open []*tensor.Tensor
	err  error
}

func (p *placed) put(a *array) *tensor.Tensor {
	if a == nil || p.err != nil {
		return nil
	}
	base, err := p.dev.Upload(context.Background(), tensorOf(a.dtype, a.raw))
	if err != nil {
		p.err = err
		return nil
	}
	p.open = append(p.open, base)
	return a.view(base)
}

func (p *placed) close() error {
	var err error
	for _, t := range p.open {
		err = errors.Join(err, t.Close())
	}
	return err
}

func (c *resampling) args(put func(*array) *tensor.Tensor) ops.ResampleArgs {
	a := ops.ResampleArgs{Src: put(c.Src), SrcTimes: put(c.Times), Targets: c.Clock,
		SrcLengths: put(c.SrcLengths), SrcOffsets: put(c.SrcOffsets), SrcStarts: put(c.SrcStarts), DstLengths: put(c.DstLengths), DstOffsets: put(c.DstOffsets)}
	switch {
	case c.Anchors != nil:
		a.Targets = ops.Anchored(put(c.Anchors), put(c.Deltas))
	case c.Targets != nil:
		a.Targets = ops.At(put(c.Targets))
	}
	return a
}

// output is a guarded output, and where a result has it.
type output struct {
	*guarded
	of func(*result) *[]uint64
}

// plan runs the case as a plan on device tensors, twice on the same plan, with guards around the outputs.
func (c *resampling) plan(dev *ops.Device, l layout) (res *result, err error) {
	p := &placed{dev: dev}
	args := c.args(p.put)
	defer func() { err = errors.Join(err, p.close()) }()
	if p.err != nil {
		return nil, p.err
	}
	shape := c.outShape()
	_, _, t, d := c.dims()
	strides, side := []int{d + l.step, 1}, []int{1}
	if len(shape) == 2 {
		strides, side = []int{t*(d+l.step) + l.row, d + l.step, 1}, []int{t + l.sideRow, 1}
	}
	dst, err := guard(dev, c.out(), append(shape[:len(shape):len(shape)], d), strides, l.front, l.end)
	if err != nil {
		return nil, err
	}
	defer dst.base.Close()
	valid, err := guard(dev, tensor.U8, shape, side, l.sideOffset, l.end)
	if err != nil {
		return nil, err
	}
	defer valid.base.Close()
	age, err := guard(dev, c.Times.dtype, shape, side, l.sideOffset, l.end)
	if err != nil {
		return nil, err
	}
	defer age.base.Close()
	args.Dst, args.Valid, args.Age = dst.view, valid.view, age.view
	outputs := []output{{dst, func(r *result) *[]uint64 { return &r.dst }}, {valid, func(r *result) *[]uint64 { return &r.valid }}, {age, func(r *result) *[]uint64 { return &r.age }}}
	if c.Pad {
		pad, err := guard(dev, tensor.U8, shape, side, l.sideOffset, l.end)
		if err != nil {
			return nil, err
		}
		defer pad.base.Close()
		args.Pad, outputs = pad.view, append(outputs, output{pad, func(r *result) *[]uint64 { return &r.pad }})
	}
	plan, err := dev.PlanResample(args, c.Opts)
	if err != nil {
		return nil, err
	}
	defer plan.Close()
	if err := plan.Run(dev.Queue()); err != nil {
		return nil, fmt.Errorf("Run: %w", err)
	}
	first := dev.Synchronize(context.Background())
	if again := dev.Synchronize(context.Background()); again != nil {
		return nil, fmt.Errorf("a second Synchronize returned %w; the first %v", again, first)
	}
	res = &result{kernels: kernelsOf(plan)}
	for _, o := range outputs {
		if *o.of(res), err = o.guarded.read(dev); err != nil {
			return nil, err
		}
	}
	return res, first
}

// call runs the case in the convenient form on host tensors.
func (c *resampling) call(dev *ops.Device) (*result, error) {
	opts := c.Opts
	opts.DType = c.Out
	args := c.args((*array).host)
	if c.DstOffsets != nil && c.Targets == nil {
		args.Dst = tensor.Must(tensor.New(c.out(), c.Packed, c.Src.shape[len(c.Src.shape)-1]))
	}
	if c.Pad {
		args.Pad = tensor.Must(tensor.New(tensor.U8, c.outShape()...))
	}
	got, err := dev.Resample(context.Background(), args, opts)
	if err != nil {
		return nil, err
	}
	res := &result{dst: bitsOf(got.Values), valid: bitsOf(got.Valid), age: bitsOf(got.Age)}
	if c.Pad {
		res.pad = bitsOf(got.Pad)
	}
	return res, nil
}

// check runs the case in both forms.
func (s *suite) check(t *testing.T, c *resampling, ls ...layout) {
	t.Helper()
	if s.rare() {
		return
	}
	if c.Wrong {
		for _, l := range ls {
			if _, err := c.plan(s.dev, l); !errors.Is(err, ops.ErrOutOfRange) {
				assert.NoError(t, err, c.describe())
			}
		}
		return
	}
	want := solve(c)
	verify := func(form string, got *result, err error) {
		if msg := want.compare(c, got, err); msg != "" {
			t.Errorf("%s: %s\ncase: %s%s", form, msg, c.describe(), got.by())
		}
	}
	call, ls := s.forms(c.Planned, ls)
	if call {
		got, err := c.call(s.dev)
		verify("call", got, err)
	}
	for _, l := range ls {
		for _, c := range s.launches(c) {
			form := fmt.Sprintf("plan, %s, launched %v", l.name, c.Opts.Launch)
			got, err := c.plan(s.dev, l)
			verify(form, got, err)
			if s.cpu != nil && err == nil {
				ref, err := c.plan(s.cpu, l)
				require.NoError(t, err, "the CPU device")
				if msg := want.same(c, ref, got); msg != "" {
					t.Errorf("%s: not the CPU's bits: %s\ncase: %s%s", form, msg, c.describe(), got.by())
				}
			}
		}
	}
}

// launches are the case in the launch modes for its plans, so that each is run plainly, in a call if not as a plan, and with its inputs declared
// ready: a backend may have kernels for either. The CPU's has not.
func (s *suite) launches(c *resampling) []*resampling {
	if c.Opts.Launch != ops.LaunchDefault || s.cpu == nil {
		return []*resampling{c}
	}
	ready := *c
	ready.Opts.Launch = ops.LaunchInputsReady
	if c.Planned {
		return []*resampling{c, &ready}
	}
	return []*resampling{&ready}
}

func (c *resampling) describe() string {
	b, s, t, d := c.dims()
	o := c.Opts
	return fmt.Sprintf("%s: B=%d S=%d T=%d D=%d %s->%s clock %s, kind %v channels %v, edge %v snap %v gap %v tolerance %v fillgaps %v; src strides %v, targets %v",
		c.Name, b, s, t, d, c.Src.dtype, c.out(), c.Times.dtype, o.Interp, o.Channels, o.Edge, o.Snap, o.MaxGap, o.Tolerance, o.FillGaps, c.Src.strides, c.Targets != nil)
}

// compare returns what is wrong with a run, or "".
func (a *answer) compare(c *resampling, got *result, err error) string {
	if a.err != nil {
		var e *ops.ValueError
		if !errors.As(err, &e) {
			return fmt.Sprintf("got error %v, want %v", err, a.err)
		}
		if *e != *a.err {
			return fmt.Sprintf("got error %+v, want %+v", *e, *a.err)
		}
		return ""
	}
	if err != nil {
		return fmt.Sprintf("error: %v", err)
	}
	d := c.Src.shape[len(c.Src.shape)-1]
	for i := range a.dst {
		if !a.dst[i].ok(c.out(), got.dst[i]) {
			return fmt.Sprintf("Dst, target %d, feature %d: got %s, want %s", i/d, i%d, show(c.out(), got.dst[i]), a.dst[i].show(c.out()))
		}
	}
	if len(a.dst) == 0 && d == 0 {
		return "" // a no-op leaves Valid and Age alone
	}
	for i := range got.pad {
		if got.pad[i] != a.pad[i] {
			return fmt.Sprintf("Pad, target %d: got %d, want %d", i, got.pad[i], a.pad[i])
		}
	}
	for i := range a.valid {
		if got.valid[i] != a.valid[i] {
			return fmt.Sprintf("Valid, target %d: got %d, want %d", i, got.valid[i], a.valid[i])
		}
		if got.age[i] != a.age[i] && !bothNaN(c.Times.dtype, got.age[i], a.age[i]) {
			return fmt.Sprintf("Age, target %d: got %s, want %s", i, show(c.Times.dtype, got.age[i]), show(c.Times.dtype, a.age[i]))
		}
	}
	return ""
}

// same returns where two backends' outputs differ in more than an arithmetic NaN's bits.
func (a *answer) same(c *resampling, ref, got *result) string {
	for i := range ref.dst {
		if got.dst[i] != ref.dst[i] && (a.dst[i].rule == copied || !bothNaN(c.out(), got.dst[i], ref.dst[i])) {
			return fmt.Sprintf("Dst, element %d: got %s, the CPU %s", i, show(c.out(), got.dst[i]), show(c.out(), ref.dst[i]))
		}
	}
	return ""
}

func bothNaN(dtype tensor.DType, a, b uint64) bool {
	x, y := decode(dtype, a), decode(dtype, b)
	return x != x && y != y
}

func (e *expect) show(dtype tensor.DType) string {
	if e.rule == near {
		return fmt.Sprintf("%v within %g", e.want, e.tolerance(dtype))
	}
	return show(dtype, e.bits)
}

// tolerance is that of semantics.md: a few float32 roundings of the largest number that took part, or some fifty float64
// ones. The smallest subnormal is added because rounding to it is not relative. f16 and bf16 are compared by steps.
func (e *expect) tolerance(dtype tensor.DType) float64 {
	size := math.Max(math.Abs(e.want), e.size)
	if dtype == tensor.F64 {
		return 1e-14*size + math.SmallestNonzeroFloat64
	}
	return 4*0x1p-24*size + math.SmallestNonzeroFloat32
}

// ok reports whether bits are what was wanted.
func (e *expect) ok(dtype tensor.DType, bits uint64) bool {
	if bits == e.bits && e.rule != near {
		return true
	}
	got := decode(dtype, bits)
	switch e.rule {
	case copied:
		return false
	case rounded:
		return bothNaN(dtype, bits, e.bits)
	}
	if math.IsNaN(e.want) || math.IsInf(e.want, 0) {
		return math.IsNaN(got) || math.IsInf(got, 0)
	}
	wants := []float64{e.want}
	if e.period != 0 {
		if !(got >= decode(dtype, encode(dtype, e.low)) && got <= decode(dtype, encode(dtype, e.low+e.period))) {
			return false
		}
		wants = append(wants, e.want-e.period, e.want+e.period)
	}
	for _, w := range wants {
		if dtype == tensor.F32 || dtype == tensor.F64 {
			if math.Abs(got-w) <= e.tolerance(dtype) || float32(w) == float32(got) && dtype == tensor.F32 {
				return true
			}
		} else if d := ordinal(bits) - ordinal(encode(dtype, w)); d >= -1 && d <= 1 || math.Abs(got-w) <= e.tolerance(tensor.F64) {
			return true // one unit in the last place, or near 0 what float64 leaves where larger numbers cancel
		}
	}
	return false
}

// ordinal numbers 16-bit floating-point values in ascending order.
func ordinal(bits uint64) int {
	if bits&0x8000 != 0 {
		return -int(bits & 0x7fff)
	}
	return int(bits)
}

// equalBits asserts that two dense outputs are equal, counting any two NaNs as equal.
func equalBits(t *testing.T, dtype tensor.DType, want, got []uint64, what string) bool {
	t.Helper()
	if !assert.Equal(t, len(want), len(got), what) {
		return false
	}
	for i := range want {
		if want[i] != got[i] && !bothNaN(dtype, want[i], got[i]) {
			return assert.Fail(t, fmt.Sprintf("%s: element %d: got %s, want %s", what, i, show(dtype, got[i]), show(dtype, want[i])))
		}
	}
	return true
}
