package benchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/kernels"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/tensor"
)

// Options say how long and over how much is measured. The zero value is what published figures are taken with.
type Options struct {
	Samples int           // the least number of samples that count; 31 unless given, at least 5
	Time    time.Duration // the least time that the samples of a job take together; 200 ms unless given
	Rotate  int64         // bytes that a job's sets exceed together; 300 MB on a GPU, 64 MB on the CPU unless given
	Batch   time.Duration // about how long a sample takes; 10 ms unless given

	// Launch is the mode of the plans of resample and fuse jobs, up to LaunchDependent of draw jobs, and of the kernels that they are
	// measured against. Under
	// LaunchInputsReady calls that take one set again write over each other, always the same bits.
	Launch ops.LaunchMode

	// With are further devices, of the kind of the first, with which it does a job together: one of the suite train. Others are skipped.
	With []*ops.Device
	NCCL bool // these share by NCCL, not by themselves

	// Progress is told what is measured next, if it is there.
	Progress func(done, all int, job Job)
	// Measured is told what was measured, if it is there.
	Measured func(done, all int, row *Row)

	clock func(w *work) (Stats, error) // in place of measuring, in tests
}

// The floors of the options, and of what is thrown away.
const (
	minSamples = 5
	maxSamples = 2000
	warmUps    = 5
	maxSets    = 10_000
)

func (o Options) withDefaults(gpu bool) (Options, error) {
	if o.Samples == 0 {
		o.Samples = 31
	}
	if err := within("samples", o.Samples, minSamples, maxSamples); err != nil {
		return o, err
	}
	if o.Time < 0 || o.Batch < 0 || o.Rotate < 0 {
		return o, &InputError{"options", "a negative time or size", "0 or more"}
	}
	if o.Time == 0 {
		o.Time = 200 * time.Millisecond
	}
	if o.Batch == 0 {
		o.Batch = 10 * time.Millisecond
	}
	if o.Rotate == 0 {
		if o.Rotate = 64e6; gpu {
			o.Rotate = 300e6
		}
	}
	return o, nil
}

// Stats are microseconds a call. Each sample is the mean of the calls of one batch.
type Stats struct {
	Median  float64 `json:"median_us"`
	P10     float64 `json:"p10_us"`
	P90     float64 `json:"p90_us"`
	Min     float64 `json:"min_us"`
	Samples int     `json:"samples"`
	Calls   int     `json:"calls_per_sample"`

	samples []float64 // in the order of size
}

func newStats(samples []float64, calls int) Stats {
	slices.Sort(samples)
	q := func(p float64) float64 { return quantile(samples, p) }
	return Stats{Median: q(0.5), P10: q(0.1), P90: q(0.9), Min: samples[0], Samples: len(samples), Calls: calls, samples: samples}
}

// quantile interpolates between the two nearest of sorted samples.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// work is a job ready to be measured.
type work struct {
	sets int
	run  func(set int) error // gives one call to the rig's stream, or does it
	// own means that run does the whole call, waits included, and is timed by the clock on the wall; direct that it must not be
	// captured in a graph, and is timed by events around a batch of calls.
	own, direct   bool
	read, written int64            // the least bytes of a call
	limit         bool             // whether the kernel that moves those bytes is the limit
	floor         *work            // or this work is
	per           int              // calls in one run; 0 counts as 1
	launches      int              // that a call gives to the driver's queue; 0 counts as 1
	plan          *ops.Plan        // of the first set, if a call is the run of a plan
	again         func() error     // makes the plans anew
	outputs       []*tensor.Tensor // that those plans write, of all sets
	closers       []func() error
}

func (w *work) close() error {
	var err error
	for _, c := range slices.Backward(w.closers) {
		err = errors.Join(err, c())
	}
	w.closers = nil
	return err
}

func (w *work) later(close func() error) { w.closers = append(w.closers, close) }

// skipped is a job that the backend cannot do.
type skipped struct{ why string }

func (s *skipped) Error() string { return s.why }

// rig is a device and what measuring on it needs.
type rig struct {
	ctx     context.Context // ends the sampling
	dev     *ops.Device
	stream  *ops.Queue
	queue   *cudadrv.Stream // nil on the CPU
	kernels *kernels.Set    // those that others are measured against; nil on the CPU
	events  [2]*cudadrv.Event
	opt     Options
	most    int // sets; 0 is maxSets
}

func newRig(dev *ops.Device, opt Options) (*rig, error) {
	r := &rig{ctx: context.Background(), dev: dev, stream: dev.Queue()}
	if dev.Info().Backend != "cpu" {
		var err error
		if r.queue, err = cuda.Stream(r.stream); err != nil {
			return nil, err
		}
	}
	var err error
	if r.opt, err = opt.withDefaults(r.queue != nil); err != nil || r.queue == nil {
		return r, err
	}
	r.kernels = kernels.New(r.queue.Context())
	if _, err := r.kernels.Load("copy"); err != nil {
		return nil, err
	}
	for i := range r.events {
		if r.events[i], err = r.queue.Context().NewEvent(cudadrv.EventOptions{}); err != nil {
			return nil, errors.Join(err, r.close())
		}
	}
	return r, nil
}

func (r *rig) close() error {
	if r.queue == nil {
		return nil
	}
	var err error
	for _, e := range r.events {
		if e != nil {
			err = errors.Join(err, e.Close())
		}
	}
	return errors.Join(err, r.kernels.Close())
}

// sets is how many sets of that many bytes the rotation takes.
func (r *rig) sets(each int64) int {
	return int(min(max((r.opt.Rotate+each-1)/max(each, 1), 1), int64(cmp.Or(r.most, maxSets))))
}

// alloc allocates a tensor on the device, which lives as long as the work.
func (r *rig) alloc(w *work, dtype tensor.DType, shape ...int) (*tensor.Tensor, error) {
	t, err := r.dev.Alloc(dtype, shape...)
	if err == nil {
		w.later(t.Close)
	}
	return t, err
}

func (r *rig) wait() error { return r.stream.Synchronize(context.Background()) }

// time measures a work.
func (r *rig) time(w *work) (Stats, error) {
	if r.opt.clock != nil {
		return r.opt.clock(w)
	}
	if r.queue == nil || w.own {
		return r.onTheWall(w)
	}
	calls := func(n int) func() error {
		return func() error {
			for i := range n {
				if err := w.run(i % w.sets); err != nil {
					return err
				}
			}
			return nil
		}
	}
	// A few calls without a graph, which warm up, say how many make a batch.
	probe := min(max(w.sets, 3), 50)
	var one float64
	for range 2 {
		took, err := r.between(calls(probe))
		if err != nil {
			return Stats{}, err
		}
		one = took / float64(probe)
	}
	if err := r.wait(); err != nil { // and errors in values show before anything is measured
		return Stats{}, err
	}
	n := max(r.batch(one), w.sets)
	launch := calls(n)
	if !w.direct {
		graph, err := r.stream.Capture(calls(n))
		if err != nil {
			return Stats{}, err
		}
		defer graph.Close()
		launch = func() error { return graph.Launch(r.stream) }
	}
	samples, err := r.sample(func() (float64, error) { return r.between(launch) })
	if err != nil {
		return Stats{}, err
	}
	return newStats(scaled(samples, n), n), r.wait()
}

// batch is how many calls of that many microseconds make a sample.
func (r *rig) batch(one float64) int {
	return int(min(max(math.Ceil(float64(r.opt.Batch.Nanoseconds())/1e3/max(one, 1e-3)), 1), 2000))
}

// between is the time on the device from before launch to its end, in microseconds.
func (r *rig) between(launch func() error) (float64, error) {
	if err := r.queue.Record(r.events[0]); err != nil {
		return 0, err
	}
	if err := launch(); err != nil {
		return 0, err
	}
	if err := r.queue.Record(r.events[1]); err != nil {
		return 0, err
	}
	if err := r.events[1].Synchronize(context.Background()); err != nil {
		return 0, err
	}
	d, err := r.events[1].Elapsed(r.events[0])
	return float64(d.Nanoseconds()) / 1e3, err
}

// sample takes samples until there are enough, of which the first do not count.
func (r *rig) sample(take func() (float64, error)) ([]float64, error) {
	var samples []float64
	var spent time.Duration
	for i := 0; len(samples) < r.opt.Samples || spent < r.opt.Time && len(samples) < maxSamples; i++ {
		if err := r.ctx.Err(); err != nil {
			return nil, err
		}
		began := time.Now()
		v, err := take()
		if err != nil {
			return nil, err
		}
		if i >= warmUps {
			samples = append(samples, v)
			spent += time.Since(began)
		}
	}
	return samples, nil
}

func scaled(samples []float64, n int) []float64 {
	for i := range samples {
		samples[i] /= float64(n)
	}
	return samples
}

// onTheWall times batches of calls, each with a wait at its end.
func (r *rig) onTheWall(w *work) (Stats, error) {
	set := 0
	batch := func(n int) (float64, error) {
		began := time.Now()
		for range n {
			if err := w.run(set); err != nil {
				return 0, err
			}
			set = (set + 1) % w.sets
		}
		err := r.wait()
		return float64(time.Since(began).Nanoseconds()) / 1e3, err
	}
	var one float64
	for range 2 {
		var err error
		if one, err = batch(1); err != nil {
			return Stats{}, err
		}
	}
	n := r.batch(one)
	samples, err := r.sample(func() (float64, error) { return batch(n) })
	if err != nil {
		return Stats{}, err
	}
	per := n * max(w.per, 1)
	return newStats(scaled(samples, per), per), nil
}

// host is what giving a call of that many microseconds to the stream costs the program, in nanoseconds and allocations. A batch
// is no longer than the driver's queue, so that no call waits for room in it.
func (r *rig) host(w *work, one float64) (ns, allocs float64, err error) {
	const batches, most = 11, 200
	n := min(r.batch(one), max(most/max(w.launches, 1), 1))
	var times []float64
	var before, after runtime.MemStats
	for i := range batches {
		if i == 1 {
			runtime.ReadMemStats(&before)
		}
		began := time.Now()
		for k := range n {
			if err := w.run(k % w.sets); err != nil {
				return 0, 0, err
			}
		}
		took := float64(time.Since(began).Nanoseconds()) / float64(n)
		if err := r.wait(); err != nil {
			return 0, 0, err
		}
		if i > 0 {
			times = append(times, took)
		}
	}
	runtime.ReadMemStats(&after)
	slices.Sort(times)
	// Rounded down, as testing.AllocsPerRun does: the waits between batches and the runtime allocate now and then.
	return quantile(times, 0.5), math.Floor(float64(after.Mallocs-before.Mallocs) / float64((batches-1)*n)), nil
}

// Runs gives a job's sets to the device, n runs in turn, measures nothing, and returns the least bytes of a call. It is for a
// profiler, which does the measuring.
func Runs(dev *ops.Device, j Job, n int) (read, written int64, err error) {
	err = prepared(dev, j, n, ops.LaunchDefault, func(r *rig, w *work) error {
		read, written = w.read, w.written
		for i := range n {
			if err := errors.Join(w.run(i%w.sets), r.wait()); err != nil {
				return err
			}
		}
		return nil
	})
	return read, written, err
}

// Explain returns the launches of a job's plan in a launch mode, as [cuda.Explain] does, and why there are none.
func Explain(dev *ops.Device, j Job, mode ops.LaunchMode) (list []cuda.Launch, why string, err error) {
	err = prepared(dev, j, 1, mode, func(r *rig, w *work) error {
		switch {
		case r.queue == nil:
			return &skipped{"the CPU launches no kernels"}
		case w.plan == nil:
			return &skipped{"a call is not the run of a plan"}
		}
		list, err = cuda.Explain(w.plan)
		return err
	})
	if why, lacks := lacking(err); lacks {
		return nil, why, nil
	}
	return list, "", err
}

// prepared does something with a job of at most so many sets.
func prepared(dev *ops.Device, j Job, sets int, mode ops.LaunchMode, fn func(r *rig, w *work) error) error {
	r, err := newRig(dev, Options{Launch: mode})
	if err != nil {
		return err
	}
	r.most = sets
	w, err := j.prepare(r)
	if err == nil {
		err = errors.Join(fn(r, w), w.close())
	}
	if err = errors.Join(err, r.close()); err != nil {
		return fmt.Errorf("%s %s: %w", j.Suite(), j.Name(), err)
	}
	return nil
}
