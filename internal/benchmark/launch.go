package benchmark

import (
	"context"
	"errors"
	"fmt"
)

// LaunchJob is what giving work to the device costs: empty, an empty kernel in a graph; direct, the same launched one by one;
// graph, launching a graph that holds one; plan, the plan of the smallest Resample; shared, such plans by Goroutines, each with a plan
// and a stream of its own, at once. The CPU has the last two only.
type LaunchJob struct {
	Form       string `json:"form"`
	Goroutines int    `json:"goroutines,omitempty"` // of shared
}

// sharedCalls is how often each goroutine runs its plan before it waits.
const sharedCalls = 50

var launchForms = []string{"empty", "direct", "graph", "plan", "shared"}

var launchSuite = suite{
	name: "launch", about: "what giving work to the device costs the program, and the device",
	jobs: func() []Job {
		var out []Job
		for _, f := range launchForms[:4] {
			out = append(out, &LaunchJob{Form: f})
		}
		for _, n := range []int{1, 64} {
			out = append(out, &LaunchJob{"shared", n})
		}
		return out
	},
	empty: func() Job { return &LaunchJob{} },
}

func (j *LaunchJob) Suite() string { return "launch" }

// Name is the form, and how many goroutines there are.
func (j *LaunchJob) Name() string {
	if j.Form == "shared" {
		return fmt.Sprintf("shared by %d", j.Goroutines)
	}
	return j.Form
}

func (j *LaunchJob) Keys() []Key {
	if j.Form == "shared" {
		return keysOf("form", j.Form, "goroutines", j.Goroutines)
	}
	return keysOf("form", j.Form)
}

func (j *LaunchJob) check() error {
	for _, f := range launchForms {
		if f != j.Form {
			continue
		}
		if f == "shared" {
			return within("goroutines", j.Goroutines, 1, 1024)
		}
		return within("goroutines, but of shared", j.Goroutines, 0, 0)
	}
	return &InputError{"form", fmt.Sprintf("%q", j.Form), fmt.Sprintf("one of %v", launchForms)}
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

// together runs the goroutines' plans at once. A call is one run of one plan; the waits are part of the time.
func (j *LaunchJob) together(r *rig) (*work, error) {
	w := &work{sets: 1, own: true, per: j.Goroutines * sharedCalls}
	shape := &PipelineJob{B: 1, S: 2, T: 1, D: 1}
	var pipes []*pipe
	for i := range j.Goroutines {
		p, err := shape.pipe(r, w, i)
		if err == nil {
			err = p.batch(r.dev, false) // its inputs
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
