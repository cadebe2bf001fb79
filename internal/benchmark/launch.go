package benchmark

import (
	"errors"
	"fmt"

	"github.com/robocache/robocache/cudadrv"
)

// LaunchJob is what giving work to the device costs: empty, an empty kernel in a graph; direct, the same launched one by one;
// graph, launching a graph that holds one; plan, the plan of the smallest Resample. The CPU has the last only.
type LaunchJob struct {
	Form string `json:"form"`
}

var launchForms = []string{"empty", "direct", "graph", "plan"}

var launchSuite = suite{
	name: "launch", about: "what giving work to the device costs the program, and the device",
	jobs: func() []Job {
		var out []Job
		for _, f := range launchForms {
			out = append(out, &LaunchJob{f})
		}
		return out
	},
	empty: func() Job { return &LaunchJob{} },
}

func (j *LaunchJob) Suite() string { return "launch" }
func (j *LaunchJob) Name() string  { return j.Form }
func (j *LaunchJob) Keys() []Key   { return keysOf("form", j.Form) }

func (j *LaunchJob) check() error {
	for _, f := range launchForms {
		if f == j.Form {
			return nil
		}
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
	if r.queue == nil {
		return nil, &skipped{"the CPU launches no kernels"}
	}
	l, err := bind(r.module, "rc_null", cudadrv.LaunchConfig{Grid: [3]uint32{1}, Block: [3]uint32{32}})
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
