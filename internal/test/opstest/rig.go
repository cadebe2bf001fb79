package opstest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// subject is a case for tests of a plan's lifetime, with inputs that change between runs.
type subject struct {
	operation
	op     string
	inputs map[string]**array // by argument name
	change func(round int)    // changes some inputs' arrays for a round; nil if none change
	bad    *array             // a wrong value for the input badIn; nil if no value is an error
	badIn  string             // argument name
	goesOn bool               // a run continues from the outputs of the last run, instead of overwriting them
}

// subjects returns functions that make the subject of each operation; for Voxelize, one for each form.
func subjects() []func() *subject {
	list := []func() *subject{steps, fused, func() *subject { return gradientSubject(true) }, func() *subject { return gradientSubject(false) },
		func() *subject { return drawn(3) }, func() *subject { return drawn(31) }, tallySubject, // one block, and several
		func() *subject { return framesSubject(false) }, func() *subject { return framesSubject(true) },
		func() *subject { return deprojectSubject(false) }, func() *subject { return deprojectSubject(true) }, farthestSubject, integrateSubject}
	for i := range voxelForms {
		list = append(list, func() *subject { return voxels(i) })
	}
	return list
}

// voxels returns a Voxelize in one form.
func voxels(form int) *subject {
	r := rng(uint64(60 + form))
	cloud := func() *array { return vals(tensor.F32, uniformValues(r, 900), 300, 3) }
	c := &voxelizing{Name: fmt.Sprintf("%+v", voxelForms[form]), Points: cloud(), Offsets: arr([]int64{0, 40, 300}, 3), Box: cube(-8, 4, 4), Opts: voxelForms[form], V: 300}
	return &subject{operation: c, op: "Voxelize", inputs: map[string]**array{"Points": &c.Points, "Offsets": &c.Offsets},
		change: func(int) { c.Points = cloud() }, bad: arr([]int64{0, 40, 299}, 3), badIn: "Offsets"}
}

// tallySubject returns the first pass of a Tally.
func tallySubject() *subject {
	c := &tallying{title: "again and again", src: robot(tensor.F32, 200, 5, 3)}
	return &subject{operation: c, op: "Tally", inputs: map[string]**array{"Src": &c.src}, goesOn: true}
}

// scaled returns 5 samples with 2 features, multiplied by x.
func scaled(x float64) *array {
	return vals(tensor.F32, []float64{0, 5 * x, x, 4 * x, 2 * x, 3 * x, 3 * x, 2 * x, 4 * x, x}, 5, 2)
}

// steps returns a Resample with one row, 5 samples, 4 targets and 2 features.
func steps() *subject {
	c := &resampling{Name: "steps", Src: scaled(1), Times: arr([]int64{0, 10, 20, 30, 40}, 5), Targets: arr([]int64{0, 15, 25, 40}, 4)}
	return &subject{operation: c, op: "Resample", inputs: map[string]**array{"Src": &c.Src, "SrcTimes": &c.Times, "Targets": &c.Targets},
		change: func(round int) {
			c.Src, c.Times = scaled(float64(round+1)), arr([]int64{0, 10, 20, 30, 40 + int64(round)}, 5)
		}, bad: arr([]int64{0, 10, 5, 30, 40}, 5), badIn: "SrcTimes"}
}

// fused returns a normalised Fuse with two streams and a missing one.
func fused() *subject {
	one := &part{resampling: resampling{Src: scaled(1), Times: arr([]int64{0, 10, 20, 30, 40}, 5), SrcLengths: arr([]int64{4}, 1)}}
	one.Src, one.Times = packed(tensor.F32, one.Src.raw, 1, 5, 2), packed(tensor.I64, one.Times.raw, 1, 5)
	two := &part{resampling: resampling{Src: vals(tensor.BF16, count(1, 9), 1, 3, 3), Times: arr([]int64{5, 20, 30}, 3)}, Shift: []float32{1, 2, 3}, Scale: []float32{4, 5, 6}}
	f := &fusing{Name: "two streams", Out: tensor.F32, Streams: []*part{one, two, {Width: 2}}, Targets: arr([]int64{0, 15, 25, 40}, 4)}
	return &subject{operation: f, op: "Fuse",
		inputs: map[string]**array{"Streams[0].Src": &one.Src, "Streams[0].SrcLengths": &one.SrcLengths, "Streams[1].Src": &two.Src, "Streams[1].SrcTimes": &two.Times, "Targets": &f.Targets},
		change: func(round int) { one.Src = packed(tensor.F32, scaled(float64(round+1)).raw, 1, 5, 2) }, bad: arr([]int64{5, 4, 30}, 3), badIn: "Streams[1].SrcTimes"}
}

// gradientSubject returns a ResampleBackward if alone is set, otherwise a FuseBackward with the same stream.
func gradientSubject(alone bool) *subject {
	times := arr([]int64{0, 10, 20}, 3)
	b := single(&resampling{Name: "gradient", Src: vals(tensor.F32, make([]float64, 3), 3, 1), Times: times, Targets: arr([]int64{0, 5, 20, 25}, 4)}, vals(tensor.F32, []float64{1, 2, 4, 8}, 4, 1))
	x := &subject{operation: b, op: "FuseBackward", change: func(round int) { b.Grad = vals(tensor.F32, []float64{1, float64(round), 4, 8}, 4, 1) }, bad: arr([]int64{0, 5, 4, 25}, 4), badIn: "Targets",
		inputs: map[string]**array{"DstGrad": &b.Grad, "Targets": &b.Targets, "Streams[0].SrcTimes": &b.Streams[0].Times}}
	if b.Alone = alone; alone {
		x.op, x.inputs = "ResampleBackward", map[string]**array{"DstGrad": &b.Grad, "Targets": &b.Targets, "SrcTimes": &b.Streams[0].Times}
	}
	return x
}

// drawn returns a Draw of batches from a store, one after the other.
func drawn(batch int) *subject {
	c := (&drawing{Name: fmt.Sprint("batches of ", batch), Counts: []int64{40, 0, 1, 25, 0, 35}, Begins: []int64{5, 4, 3, 2, 1, 0}, Samples: [][]int64{{4, 5, 6, 7, 8, 9}, {0, 3, 0, 1, 2, 5}},
		Opts: ops.DrawOptions{Batch: batch, Shuffle: true, Seed: 5}, Batches: 20}).ready()
	return &subject{operation: c, op: "Draw", inputs: map[string]**array{"Windows": &c.Windows, "Streams[0].Offsets": &c.Offsets[0], "Streams[1].Offsets": &c.Offsets[1]},
		bad: arr([]int64{0, 4, 3, 15, 22, 30, 39}, 7), badIn: "Streams[0].Offsets", goesOn: true}
}

// rig is a subject's plan on device tensors, with guards around its outputs. The end of the test closes it.
type rig struct {
	*subject
	s     *suite
	p     *placed
	plan  *ops.Plan
	round int // number of runs since the outputs had their initial content
}

func (s *suite) rig(t *testing.T, x *subject) *rig { return s.rigIn(t, x, ops.LaunchDefault) }

func (s *suite) rigIn(t *testing.T, x *subject, mode ops.LaunchMode) *rig {
	t.Helper()
	r := &rig{subject: x, s: s, p: &placed{dev: s.dev}}
	var err error
	r.plan, err = x.plan(r.p, layouts[0], mode)
	require.NoError(t, r.p.err)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, r.plan.Close())
		assert.NoError(t, r.p.close())
	})
	return r
}

// tensor returns an input or output by its argument name.
func (r *rig) tensor(name string) *tensor.Tensor {
	for _, g := range r.p.outputs {
		if g.name == name {
			return g.view
		}
	}
	return r.p.bases[*r.inputs[name]]
}

// set writes the values of an array to an input.
func (r *rig) set(t *testing.T, name string, a *array) {
	t.Helper()
	old := *r.inputs[name]
	base := r.p.bases[old]
	require.NoError(t, r.s.dev.Copy(background, base, tensorOf(a.dtype, a.raw)))
	delete(r.p.bases, old)
	r.p.bases[a], *r.inputs[name] = base, a
}

// vary changes the inputs for a round.
func (r *rig) vary(t *testing.T, round int) {
	t.Helper()
	if r.change == nil {
		return
	}
	before := map[string]*array{}
	for name, at := range r.inputs {
		before[name] = *at
	}
	r.change(round)
	for name, at := range r.inputs {
		if now := *at; now != before[name] {
			*at = before[name]
			r.set(t, name, now)
		}
	}
}

// wipe restores the initial content of the outputs: poison, or the values that a run continues from.
func (r *rig) wipe(t *testing.T) {
	t.Helper()
	for _, g := range r.p.outputs {
		require.NoError(t, r.s.dev.Copy(background, g.base, tensorOf(g.dtype, g.begun)))
	}
	r.round = 0
}

// check compares the outputs with the expected ones for the current inputs, after `runs` more runs.
func (r *rig) check(t *testing.T, runs int, what string) {
	t.Helper()
	got, err := r.p.read()
	require.NoError(t, err, "%s, %s", r.op, what)
	if r.p.counts != nil {
		got.found, err = r.p.counts()
		require.NoError(t, err)
	}
	if r.round += runs; r.goesOn {
		got.round = r.round - 1
	}
	fault, compare := r.solve(r.s)
	assert.Empty(t, mistake(fault, compare, got, nil), "%s of %s, %s", r.op, r.name(), what)
}

// runs calls launch, which enqueues `runs` runs of the plan, synchronises the queue and checks the outputs. It first wipes outputs
// that a run does not continue from.
func (r *rig) runs(t *testing.T, q *ops.Queue, runs int, what string, launch func() error) {
	t.Helper()
	if !r.goesOn {
		r.wipe(t)
	}
	require.NoError(t, launch(), "%s, %s", r.op, what)
	require.NoError(t, q.Synchronize(background), "%s, %s", r.op, what)
	r.check(t, runs, what)
}

// on returns a function that runs the plan on a queue.
func (r *rig) on(q *ops.Queue) func() error { return func() error { return r.plan.Run(q) } }

// bits returns the bit patterns of the outputs.
func (r *rig) bits(t *testing.T) (all [][]uint64) {
	t.Helper()
	got, err := r.p.read()
	require.NoError(t, err)
	for _, g := range r.p.outputs {
		all = append(all, slices.Clone(got.out[g.name].raw))
	}
	return all
}

// wantFault fails the test unless err is the expected error for the inputs.
func (r *rig) wantFault(t *testing.T, err error) {
	t.Helper()
	fault, _ := r.solve(r.s)
	require.NotNil(t, fault)
	assert.Empty(t, mistake(fault, nil, nil, err), "%s", r.op)
	assert.ErrorContains(t, err, "ops."+r.op+": "+fault.Arg+": ")
}

func (s *suite) stream(t *testing.T) *ops.Queue {
	t.Helper()
	st, err := s.dev.NewQueue()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, st.Close()) })
	return st
}

// capture returns a graph of the work, which is closed at the end of the test.
func capture(t *testing.T, st *ops.Queue, work func() error) *ops.Graph {
	t.Helper()
	g, err := st.Capture(work)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, g.Close()) })
	return g
}

func (s *suite) alloc(t *testing.T, dtype tensor.DType, shape ...int) *tensor.Tensor {
	t.Helper()
	x, err := s.dev.Alloc(dtype, shape...)
	require.NoError(t, err)
	return x
}

func (s *suite) upload(t *testing.T, a *array) *tensor.Tensor {
	t.Helper()
	x, err := s.dev.Upload(background, a.host())
	require.NoError(t, err)
	return x
}
