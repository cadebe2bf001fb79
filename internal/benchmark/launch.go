package benchmark

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// LaunchJob measures the cost of submitting work to the device. Form is one of:
//
//	empty   an empty kernel in a graph
//	direct  the same kernel launched one by one
//	graph   launching a graph with one empty kernel
//	plan    the plan of the smallest Resample
//	shared  such plans run by several goroutines, each with its own plan and stream
//	each    Plans small requests with different shapes, one Run each
//	batch   the same as an ops.PlanBatch, with AtOnce plans in parallel
//	chain   Plans small operations that each read the previous output, one Run each
//	replay  the same as a graph
//
// One call in the last four forms covers all plans. The CPU lacks the first three forms.
type LaunchJob struct {
	Form       string `json:"form"`
	Goroutines int    `json:"goroutines,omitempty"` // for shared
	Plans      int    `json:"plans,omitempty"`      // for each, batch, chain and replay
	AtOnce     int    `json:"at_once,omitempty"`    // for batch; 0 lets PlanBatch choose
}

// sharedCalls is how often each goroutine runs its plan before it waits.
const sharedCalls = 50

var launchForms = []string{"empty", "direct", "graph", "plan", "shared", "each", "batch", "chain", "replay"}

var launchSuite = suite{
	name: "launch", about: "what giving work to the device costs the program, and the device",
	jobs: func() []Job {
		var out []Job
		for _, f := range launchForms[:4] {
			out = append(out, &LaunchJob{Form: f})
		}
		for _, n := range []int{1, 64} {
			out = append(out, &LaunchJob{Form: "shared", Goroutines: n})
		}
		out = append(out, &LaunchJob{Form: "each", Plans: 64})
		for _, n := range []int{0, 1, 4, 16, 64} {
			out = append(out, &LaunchJob{Form: "batch", Plans: 64, AtOnce: n})
		}
		out = append(out, &LaunchJob{Form: "chain", Plans: 20}, &LaunchJob{Form: "replay", Plans: 20})
		return out
	},
	empty: func() Job { return &LaunchJob{} },
}

func (j *LaunchJob) Suite() string { return "launch" }

// Name returns the form, with the number of goroutines or plans.
func (j *LaunchJob) Name() string {
	switch {
	case j.Form == "shared":
		return fmt.Sprintf("shared by %d", j.Goroutines)
	case j.AtOnce > 0:
		return fmt.Sprintf("%s of %d, %d at once", j.Form, j.Plans, j.AtOnce)
	case j.many():
		return fmt.Sprintf("%s of %d", j.Form, j.Plans)
	}
	return j.Form
}

func (j *LaunchJob) Keys() []Key {
	keys := keysOf("form", j.Form)
	for _, k := range []struct {
		name string
		n    int
	}{{"goroutines", j.Goroutines}, {"plans", j.Plans}, {"at_once", j.AtOnce}} {
		if k.n > 0 {
			keys = append(keys, keysOf(k.name, k.n)...)
		}
	}
	return keys
}

// many reports whether a call covers several plans.
func (j *LaunchJob) many() bool {
	return slices.Contains([]string{"each", "batch", "chain", "replay"}, j.Form)
}

func (j *LaunchJob) check() error {
	if !slices.Contains(launchForms, j.Form) {
		return &InputError{"form", fmt.Sprintf("%q", j.Form), fmt.Sprintf("one of %v", launchForms)}
	}
	only := func(what, whose string, n, most int, mine bool) error {
		if mine {
			return within(what, n, 1, most)
		}
		return within(what+", but of "+whose, n, 0, 0)
	}
	return errors.Join(only("goroutines", "shared", j.Goroutines, 1024, j.Form == "shared"),
		only("plans", "each, batch, chain and replay", j.Plans, 1024, j.many()),
		only("at_once", "batch", j.AtOnce, 1024, j.Form == "batch" && j.AtOnce != 0))
}

func (j *LaunchJob) prepare(r *rig) (*work, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	if j.Form == "plan" {
		w, err := (&ResampleJob{B: 1, S: 2, T: 1, D: 1}).prepare(r)
		if err != nil {
			return nil, err
		}
		w.sets, w.direct, w.limit, w.read, w.written = 1, true, false, 0, 0
		return w, nil
	}
	if j.Form == "shared" {
		return j.together(r)
	}
	if j.many() {
		return j.several(r)
	}
	if r.queue == nil {
		return nil, &skipped{"the CPU launches no kernels"}
	}
	l, err := r.bind("rc_null", 1, 32)
	if err != nil {
		return nil, err
	}
	w := &work{sets: 1, direct: j.Form != "empty", run: func(int) error { return l.Run(r.queue) }}
	if j.Form == "graph" {
		g, err := r.queue.Capture(l.Run)
		if err != nil {
			return nil, err
		}
		x, err := g.Instantiate()
		if err = errors.Join(err, g.Close()); err != nil {
			return nil, err
		}
		w.later(x.Close)
		w.run = func(int) error { return x.Launch(r.queue) }
	}
	return w, nil
}

// together runs the goroutines' plans in parallel. A call is one run of one plan; the time includes the waits.
func (j *LaunchJob) together(r *rig) (*work, error) {
	w := &work{sets: 1, own: true, per: j.Goroutines * sharedCalls}
	shape := &PipelineJob{B: 1, S: 2, T: 1, D: 1}
	var pipes []*pipe
	for i := range j.Goroutines {
		p, err := shape.pipe(r, w, i)
		if err == nil {
			err = p.batch(r.dev, false) // copy the inputs
		}
		if err != nil {
			return nil, errors.Join(err, w.close())
		}
		pipes = append(pipes, p)
	}
	w.run = func(int) error {
		errs := make(chan error, len(pipes))
		for _, p := range pipes {
			go func() {
				var err error
				for range sharedCalls {
					err = errors.Join(err, p.plan.Run(p.stream))
				}
				errs <- errors.Join(err, p.stream.Synchronize(context.Background()))
			}()
		}
		var err error
		for range pipes {
			err = errors.Join(err, <-errs)
		}
		return err
	}
	return w, nil
}

// several prepares the requests or the chain, and the function that submits all of them in one call.
func (j *LaunchJob) several(r *rig) (*work, error) {
	w := &work{sets: 1, direct: true, launches: j.Plans}
	fail := func(err error) (*work, error) { return nil, errors.Join(err, w.close()) }
	prepare := j.requests
	if j.Form == "chain" || j.Form == "replay" {
		prepare = j.links
	}
	plans, err := prepare(r, w)
	if err != nil {
		return fail(err)
	}
	w.run = func(int) error {
		for _, p := range plans {
			if err := p.Run(r.stream); err != nil {
				return err
			}
		}
		return nil
	}
	switch j.Form {
	case "batch":
		if r.queue == nil && j.AtOnce > 0 {
			return fail(&skipped{"the CPU takes as many at once as it has threads"})
		}
		p, err := r.dev.PlanBatch(plans, ops.BatchOptions{AtOnce: j.AtOnce})
		if err != nil {
			return fail(err)
		}
		w.later(p.Close)
		w.run = func(int) error { return p.Run(r.stream) }
	case "replay":
		run := w.run
		g, err := r.stream.Capture(func() error { return run(0) })
		if err != nil {
			return fail(err)
		}
		w.later(g.Close)
		w.run = func(int) error { return g.Launch(r.stream) }
	}
	return w, nil
}

// small copies timestamps and, unless src is given, values to the device, and returns a plan for them.
func (j *LaunchJob) small(r *rig, w *work, rng *rand.Rand, mode ops.LaunchMode, src *tensor.Tensor, b, s, t, d int) (dst *tensor.Tensor, plan *ops.Plan, err error) {
	var in [3]*tensor.Tensor // values, timestamps, targets
	put := func(i int, host *tensor.Tensor, err error) error {
		if err == nil {
			in[i], err = r.alloc(w, host.DType(), append([]int{1}, host.Shape()...)...)
		}
		if err == nil {
			err = r.fill(in[i], host)
		}
		if err == nil {
			in[i] = at(in[i], 0)
		}
		return err
	}
	if in[0] = src; src == nil {
		host, err := values(rng, tensor.F32, b, s, d)
		if err := put(0, host, err); err != nil {
			return nil, nil, err
		}
	}
	times, err1 := timestamps(rng, tensor.F32, b, s)
	targets, err2 := timestamps(nil, tensor.F32, b, t)
	if err := errors.Join(put(1, times, err1), put(2, targets, err2)); err != nil {
		return nil, nil, err
	}
	if dst, err = r.alloc(w, tensor.F32, b, t, d); err != nil {
		return nil, nil, err
	}
	plan, err = r.dev.PlanResample(ops.ResampleArgs{Dst: dst, Src: in[0], SrcTimes: in[1], Targets: ops.At(in[2])}, ops.ResampleOptions{Launch: mode})
	if err == nil {
		w.later(plan.Close)
	}
	return dst, plan, err
}

// requests returns plans for 1 to 4 rows with 20 to 120 samples, onto 10 to 60 targets, with 32 features.
func (j *LaunchJob) requests(r *rig, w *work) (plans []*ops.Plan, err error) {
	rng := rand.New(rand.NewPCG(seed, 5))
	for range j.Plans {
		_, p, err := j.small(r, w, rng, r.opt.Launch, nil, 1+rng.IntN(4), 20+rng.IntN(101), 10+rng.IntN(51), 32)
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	return plans, nil
}

// links returns plans for 4 rows with 50 samples and 32 features, onto 50 targets. Each reads the previous output.
func (j *LaunchJob) links(r *rig, w *work) (plans []*ops.Plan, err error) {
	rng := rand.New(rand.NewPCG(seed, 6))
	mode := min(r.opt.Launch, ops.LaunchDependent) // their inputs are not ready
	var last *tensor.Tensor
	for range j.Plans {
		dst, p, err := j.small(r, w, rng, mode, last, 4, 50, 50, 32)
		if err != nil {
			return nil, err
		}
		last, plans = dst, append(plans, p)
	}
	return plans, nil
}
