package opstest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// operation is a case: an operation's arguments, and the results that they must give.
type operation interface {
	name() string
	// describe lists the case's properties, such as its dtypes and sizes, separated by spaces. See suite.fresh.
	describe() string
	traits() traits
	// plan makes a plan: p puts the inputs onto its device and guards the outputs.
	plan(p *placed, l layout, mode ops.LaunchMode) (*ops.Plan, error)
	// call computes the outputs by the convenient form, on host tensors.
	call(dev *ops.Device) (*result, error)
	// solve works out the error that the case must give, or how to find a mistake in its results. A comparison returns "" if there is none.
	solve(s *suite) (fault *ops.ValueError, compare func(got *result) string)
}

// traits are how a case runs.
type traits struct {
	planned bool // never by a call
	wrong   bool // inputs are wrong and trusted: any values will do, but nothing else is read or written
	exact   bool // the reference has every bit, so that a comparison with the CPU shows nothing more
	again   bool // a plan runs twice, the second time over its own outputs. A simulated device has that in its long set alone
	runs    int  // how often a plan runs, its outputs compared after each run; 0 is once
	modes   []ops.LaunchMode
}

// plainAndReady are the launch modes where a case chooses none: a backend may have kernels for either.
var plainAndReady = []ops.LaunchMode{ops.LaunchDefault, ops.LaunchInputsReady}

// modesOf returns a case's launch modes: its own, or the default ones.
func modesOf(own ops.LaunchMode) []ops.LaunchMode {
	if own != ops.LaunchDefault {
		return []ops.LaunchMode{own}
	}
	return plainAndReady
}

// suite runs cases on one device.
type suite struct {
	dev *ops.Device
	cpu *ops.Device // the CPU, to compare bits with; nil if dev is the CPU
	cfg Config

	simulated bool            // each launch takes milliseconds
	long      bool            // every case runs, in every form
	all       bool            // every case of the part runs
	seen      map[string]bool // the properties that the part's cases had
	turns     uint32          // cases that a simulated device ran in one form of several
}

func (s *suite) isCPU() bool { return s.dev.Info().Backend == "cpu" }

// home is where the device's tensors say they are.
func (s *suite) home() string {
	if s.isCPU() {
		return "host"
	}
	return s.dev.Name()
}

// result is a run's outputs, densely.
type result struct {
	out                  map[string]*array
	dst, valid, age, pad []uint64 // the outputs with these names, as bits
	found                ops.VoxelCounts
	round                int      // how many times the plan ran before
	kernels              []string // that a CUDA plan launched
}

// resultOf returns the result with these host tensors, without those that are nil.
func resultOf(outputs map[string]*tensor.Tensor) *result {
	r := &result{out: map[string]*array{}}
	for name, t := range outputs {
		if t != nil {
			r.add(name, packed(t.DType(), bitsOf(t), t.Shape()...))
		}
	}
	return r
}

func (r *result) add(name string, a *array) {
	r.out[name] = a
	if to := map[string]*[]uint64{"Dst": &r.dst, "Valid": &r.valid, "Age": &r.age, "Pad": &r.pad}[name]; to != nil {
		*to = a.raw
	}
}

// by names the kernels that made a result, for whoever looks for the fault in one.
func (r *result) by() string {
	if r == nil || len(r.kernels) == 0 {
		return ""
	}
	return "\nlaunched: " + strings.Join(r.kernels, ", ")
}

// differ returns where an output is not as wanted, or "". NaNs are equal, except where kept is true: a copy keeps their bits.
func (r *result) differ(name string, want []uint64, kept []bool) string {
	got := r.out[name]
	if got == nil || len(got.raw) != len(want) {
		return fmt.Sprintf("%s: got %v, want %d elements", name, got, len(want))
	}
	for i, w := range want {
		if got.raw[i] != w && (kept != nil && kept[i] || !bothNaN(got.dtype, got.raw[i], w)) {
			return fmt.Sprintf("%s, element %d of %v: got %s, want %s", name, i, got.shape, show(got.dtype, got.raw[i]), show(got.dtype, w))
		}
	}
	return ""
}

// differAny is differ for several outputs.
func (r *result) differAny(want map[string][]uint64) string {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if msg := r.differ(name, want[name], nil); msg != "" {
			return msg
		}
	}
	return ""
}

// same returns where two results differ in more than a NaN's bits, or "".
func (r *result) same(want *result) string {
	if r.found != want.found {
		return fmt.Sprintf("counters: got %+v, want %+v", r.found, want.found)
	}
	bits := map[string][]uint64{}
	for name, a := range want.out {
		bits[name] = a.raw
	}
	return r.differAny(bits)
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
	name string
	*array
	base, view *tensor.Tensor
	begun      []uint64 // the buffer before the first run
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

// spaced returns a shape with step more elements between one last dimension and the next, and row more between the last two.
func spaced(dtype tensor.DType, shape []int, step, row, offset int) *array {
	a := packed(dtype, nil, shape...)
	a.offset = offset
	if n := len(shape); n > 1 {
		a.strides[n-2] = shape[n-1] + step
		if n > 2 {
			a.strides[n-3] = shape[n-2]*a.strides[n-2] + row
		}
	}
	return a
}

// guard makes a poisoned output on a device, with end more elements behind it.
func guard(dev *ops.Device, a *array, end int) (*guarded, error) {
	g := &guarded{array: a}
	n := a.offset + end + 1
	for i, d := range a.shape {
		n += max(d-1, 0) * a.strides[i]
	}
	g.raw = slices.Repeat([]uint64{poison(a.dtype)}, n)
	var err error
	if g.base, err = dev.Upload(context.Background(), tensorOf(a.dtype, g.raw)); err != nil {
		return nil, err
	}
	g.view, err = g.base.AsStrided(a.shape, a.strides, a.offset)
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
			return nil, fmt.Errorf("stray write: element %d of the buffer holds %s; the output %s begins at %d with shape %v, strides %v",
				i, show(g.dtype, b), g.name, g.offset, g.shape, g.strides)
		}
	}
	g.raw = got
	return g.dense(), nil
}

// placed keeps device tensors until they are closed together, a case's outputs among them.
type placed struct {
	dev     *ops.Device
	open    []*tensor.Tensor
	bases   map[*array]*tensor.Tensor // for the inputs
	outputs []*guarded
	counts  func() (ops.VoxelCounts, error) // of the plan, if it counts
	err     error
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
	if p.bases == nil {
		p.bases = map[*array]*tensor.Tensor{}
	}
	p.open, p.bases[a] = append(p.open, base), base
	return a.view(base)
}

// out makes a guarded output. It begins with the elements in begin, if there are any.
func (p *placed) out(name string, a *array, end int, begin ...uint64) *tensor.Tensor {
	if p.err != nil {
		return nil
	}
	g, err := guard(p.dev, a, end)
	if err != nil {
		p.err = err
		return nil
	}
	g.name = name
	p.open, p.outputs = append(p.open, g.base), append(p.outputs, g)
	if g.begun = slices.Clone(g.raw); len(begin) > 0 {
		g.each(func(n, at int) { g.begun[at] = begin[n] })
		p.err = p.dev.Copy(context.Background(), g.base, tensorOf(a.dtype, g.begun))
	}
	return g.view
}

// read downloads the outputs.
func (p *placed) read() (*result, error) {
	r := &result{out: map[string]*array{}}
	for _, g := range p.outputs {
		raw, err := g.read(p.dev)
		if err != nil {
			return nil, err
		}
		r.add(g.name, packed(g.dtype, raw, g.shape...))
	}
	return r, nil
}

func (p *placed) close() error {
	var err error
	for _, t := range p.open {
		err = errors.Join(err, t.Close())
	}
	return err
}

// planned makes a case's plan on device tensors, with guards around its outputs, and returns each run's result. An error in values ends it.
func planned(dev *ops.Device, c operation, l layout, mode ops.LaunchMode, runs int) (all []*result, err error) {
	p := &placed{dev: dev}
	defer func() { err = errors.Join(err, p.close()) }()
	plan, err := c.plan(p, l, mode)
	if p.err != nil {
		return nil, p.err
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, plan.Close()) }()
	for round := range runs {
		if err := plan.Run(dev.Queue()); err != nil {
			return nil, fmt.Errorf("Run: %w", err)
		}
		fault := dev.Synchronize(context.Background())
		if again := dev.Synchronize(context.Background()); again != nil {
			return nil, fmt.Errorf("a second Synchronize returned %w; the first %v", again, fault)
		}
		r, err := p.read()
		if err == nil {
			err = fault
		}
		if err == nil && p.counts != nil {
			r.found, err = p.counts()
		}
		if err != nil {
			return nil, err
		}
		r.round, r.kernels = round, kernelsOf(plan)
		all = append(all, r)
	}
	return all, nil
}

// once runs a case's plan.
func (s *suite) once(t *testing.T, dev *ops.Device, c operation, l layout) *result {
	t.Helper()
	all, err := planned(dev, c, l, ops.LaunchDefault, 1)
	require.NoError(t, err, c.name())
	return all[0]
}

// check runs a case by a call and as plans in each layout and launch mode, against its reference and the CPU's bits, unless only the long set has it.
func (s *suite) check(t *testing.T, c operation, ls ...layout) {
	if s.fresh(c) {
		t.Helper()
		s.run(t, c, ls...)
	}
}

// fresh reports whether a case is in the set that runs: in the default set are those with a property that none before it in its group had.
func (s *suite) fresh(c operation) bool {
	if s.long || s.all {
		return true
	}
	fresh := false
	for _, property := range strings.Fields(c.describe()) {
		fresh = fresh || !s.seen[property]
		s.seen[property] = true
	}
	return fresh
}

func (s *suite) run(t *testing.T, c operation, ls ...layout) {
	t.Helper()
	tr := c.traits()
	fail := func(form, msg string, got *result) {
		t.Helper()
		t.Errorf("%s: %s\ncase: %s: %s%s", form, msg, c.name(), c.describe(), got.by())
	}
	if tr.wrong {
		for _, l := range ls {
			if _, err := planned(s.dev, c, l, tr.modes[0], 1); err != nil && !errors.Is(err, ops.ErrOutOfRange) {
				fail("plan, "+l.name, err.Error(), nil)
			}
		}
		return
	}
	fault, compare := c.solve(s)
	verify := func(form string, got *result, err error) bool {
		msg := mistake(fault, compare, got, err)
		if msg != "" {
			fail(form, msg, got)
		}
		return msg == ""
	}
	runs := max(tr.runs, 1)
	if tr.again && (s.long || !s.simulated) {
		runs = 2
	}
	call, ls, modes := s.forms(&tr, ls)
	if call {
		got, err := c.call(s.dev)
		verify("call", got, err)
	}
	for _, l := range ls {
		for _, mode := range modes {
			form := fmt.Sprintf("plan, %s, launched %v", l.name, mode)
			all, err := planned(s.dev, c, l, mode, runs)
			if err != nil || fault != nil {
				verify(form, nil, err)
				continue
			}
			right := true
			for _, got := range all {
				right = right && verify(form, got, nil)
			}
			if right && s.cpu != nil && !tr.exact {
				ref, err := planned(s.cpu, c, l, mode, 1)
				require.NoError(t, err, "the CPU device")
				if msg := all[0].same(ref[0]); msg != "" {
					fail(form, "not the CPU's bits: "+msg, all[0])
				}
			}
		}
	}
}

// mistake returns the difference between a result or an error and the right one, or "".
func mistake(fault *ops.ValueError, compare func(*result) string, got *result, err error) string {
	var e *ops.ValueError
	switch {
	case fault != nil && errors.As(err, &e) && *e == *fault:
		return ""
	case fault != nil:
		return fmt.Sprintf("got error %v, want %v", err, fault)
	case err != nil:
		return "error: " + err.Error()
	}
	return compare(got)
}

// forms are whether a case runs by a call, which launches its work plainly, and its plans' layouts and launch modes. In the default set for a
// simulated device a case takes the call or its plan in the first layout by turns, or one launch mode if it is only planned, in no step with the loops
// that cases come from.
func (s *suite) forms(tr *traits, ls []layout) (call bool, plans []layout, modes []ops.LaunchMode) {
	modes = tr.modes
	if s.cpu == nil {
		modes = modes[:1]
	}
	if !tr.planned {
		modes = modes[len(modes)-max(len(modes)-1, 1):]
	}
	if s.long || !s.simulated || len(ls) == 0 {
		return !tr.planned, ls, modes
	}
	s.turns++
	turn := int(s.turns * 0x9e3779b1 >> 31)
	if tr.planned {
		return false, ls, modes[min(turn, len(modes)-1):][:1]
	}
	return turn == 0, ls[1-turn:], modes
}

// called returns the result of a call.
func (s *suite) called(t *testing.T, c operation) *result {
	t.Helper()
	got, err := c.call(s.dev)
	require.NoError(t, err, c.describe())
	return got
}
