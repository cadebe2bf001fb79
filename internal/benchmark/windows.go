package benchmark

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// WindowsJob draws a batch of Windows windows from a store on the device. From each window it makes two parts, the past and the future,
// with Ticks ticks at 50 Hz and D features, and with Valid and Pad: a Draw and two Fuses in sequence. The store has Episodes episodes
// with 500 float32 frames at a jittering 30 Hz. Outputs are bf16, in two buffers that alternate. The batch was drawn in advance, and
// the next one is drawn between the two Fuses. The first Fuse is then LaunchDependent and the others LaunchInputsReady.
type WindowsJob struct {
	Windows  int  `json:"windows"`
	Episodes int  `json:"episodes"`
	Ticks    int  `json:"ticks"`
	D        int  `json:"d"`
	Trusted  bool `json:"trusted,omitempty"` // neither tables nor timestamps are checked
}

var windowsSuite = suite{
	name: "windows", about: "batches of windows from a store: drawn, and made by two fusions",
	jobs: func() []Job {
		var out []Job
		for _, n := range []int{32, 4096} {
			out = append(out, &WindowsJob{n, 2000, 50, 26, false}, &WindowsJob{n, 2000, 50, 26, true})
		}
		return out
	},
	empty: func() Job { return &WindowsJob{} },
}

func (j *WindowsJob) Suite() string { return "windows" }

// Name returns the windows and their size.
func (j *WindowsJob) Name() string {
	name := fmt.Sprintf("%d of (%d + %d)x%d from %d", j.Windows, j.Ticks, j.Ticks, j.D, j.Episodes)
	if j.Trusted {
		name += ", trusted"
	}
	return name
}

func (j *WindowsJob) Keys() []Key {
	return keysOf("windows", j.Windows, "episodes", j.Episodes, "T", j.Ticks, "D", j.D, "trusted", j.Trusted)
}

func (j *WindowsJob) check() error {
	return errors.Join(within("windows", j.Windows, 1, 1<<20), within("episodes", j.Episodes, 1, 1<<16), within("ticks", j.Ticks, 1, 1<<12), within("d", j.D, 1, 1<<12))
}

const storeFrames = 500 // frames per episode

func (j *WindowsJob) prepare(r *rig) (*work, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	frames := j.Episodes * storeFrames
	n := int64(j.Windows * j.Ticks)
	// Read once: the frames around a window's ticks, 3 for every 5 ticks. Written: values, Valid and Pad.
	w := &work{sets: 1, read: 2 * n * 3 / 5 * int64(4*j.D+8), written: 2 * n * int64(2*j.D+2), limit: true}
	fail := func(err error) (*work, error) { return nil, errors.Join(err, w.close()) }
	rng := rand.New(rand.NewPCG(seed, 11))
	offsets, windows, begins := make([]int64, j.Episodes+1), make([]int64, j.Episodes+1), make([]int64, j.Episodes)
	times, last := make([]int64, frames), int64(0)
	for e := range j.Episodes {
		begins[e] = last
		for k := range storeFrames {
			times[e*storeFrames+k] = last
			last += 33_333_333 + rng.Int64N(4_000_001) - 2_000_000
		}
		offsets[e+1] = int64(e+1) * storeFrames
		windows[e+1] = windows[e] + (times[(e+1)*storeFrames-1]-begins[e])/20_000_000 + 1
	}
	var args ops.DrawArgs
	args.Streams = make([]ops.DrawStream, 1)
	var src [2]*tensor.Tensor
	var timestamps *tensor.Tensor
	var deltas [2]*tensor.Tensor
	put := func(to **tensor.Tensor, host *tensor.Tensor, err error) error {
		if err == nil {
			host, err = r.put(w, host, nil)
		}
		if err == nil {
			*to = at(host, 0)
		}
		return err
	}
	list := func(to **tensor.Tensor, data []int64) error {
		host, err := tensor.Of(data, len(data))
		return put(to, host, err)
	}
	past, future := make([]int64, j.Ticks), make([]int64, j.Ticks)
	for t := range past {
		past[t], future[t] = int64(t+1-j.Ticks)*20_000_000, int64(t)*20_000_000
	}
	errs := []error{list(&args.Windows, windows), list(&args.Begins, begins), list(&args.Streams[0].Offsets, offsets), list(&args.Cursor, make([]int64, 2)),
		list(&timestamps, times), list(&deltas[0], past), list(&deltas[1], future)}
	for m := range src {
		host, err := values(rng, tensor.F32, frames, j.D)
		errs = append(errs, put(&src[m], host, err))
	}
	if err := errors.Join(errs...); err != nil {
		return fail(err)
	}
	alloc := func(dtype tensor.DType, shape ...int) *tensor.Tensor {
		t, err := r.alloc(w, dtype, shape...)
		if errs = append(errs, err); err == nil {
			w.outputs = append(w.outputs, t)
		}
		return t
	}
	plan := func(p *ops.Plan, err error) *ops.Plan {
		if errs = append(errs, err); err == nil {
			w.later(p.Close)
		}
		return p
	}
	var draws [2]*ops.Plan
	var fuses [2][2]*ops.Plan
	for i := range draws {
		s := &args.Streams[0]
		args.Anchors, s.Starts, s.Lengths = alloc(tensor.I64, j.Windows), alloc(tensor.I64, j.Windows), alloc(tensor.I64, j.Windows)
		fuse := func(m int, mode ops.LaunchMode) (*ops.Plan, error) {
			return r.dev.PlanFuse(ops.FuseArgs{
				Dst: alloc(tensor.BF16, j.Windows, j.Ticks, j.D), Valid: alloc(tensor.U8, j.Windows, j.Ticks, 1), Pad: alloc(tensor.U8, j.Windows, j.Ticks, 1),
				Targets: ops.Anchored(args.Anchors, deltas[m]), Streams: []ops.FuseStream{{Src: src[m], SrcTimes: timestamps, SrcStarts: s.Starts, SrcLengths: s.Lengths}},
			}, ops.FuseOptions{TrustTimes: j.Trusted, Launch: mode})
		}
		mode := r.opt.Launch
		draws[i] = plan(r.dev.PlanDraw(args, ops.DrawOptions{Rate: 50, Count: int(windows[j.Episodes]), Batch: j.Windows, Shuffle: true, Seed: seed, TrustTables: j.Trusted, Launch: mode}))
		fuses[i] = [2]*ops.Plan{plan(fuse(0, min(mode, ops.LaunchDependent))), plan(fuse(1, mode))}
	}
	if errors.Join(errs...) == nil {
		errs = append(errs, draws[0].Run(r.stream), r.wait())
	}
	if err := errors.Join(errs...); err != nil {
		return fail(err)
	}
	w.sets, w.launches = len(draws), 3
	w.run = func(i int) error {
		return errors.Join(fuses[i][0].Run(r.stream), draws[1-i].Run(r.stream), fuses[i][1].Run(r.stream))
	}
	return w, nil
}
