package benchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/kernels"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/tensor"
)

// Options set how long and how much to measure. Published figures use the zero value.
type Options struct {
	Samples int           // minimum samples that count; default 31, at least 5
	Time    time.Duration // minimum total time for a job's samples; default 200 ms
	Rotate  int64         // minimum total bytes of a job's sets; default 300 MB on a GPU, 64 MB on the CPU
	Batch   time.Duration // approximate time for a sample; default 10 ms

	// Launch is the launch mode for resample and fuse plans, and for the kernels that they are compared with. Draw jobs use it up to
	// LaunchDependent. With LaunchInputsReady, calls on the same set overwrite each other's output with the same bits.
	Launch ops.LaunchMode

	// With lists further devices, like the first one, that share each job in the suite train. Other jobs are skipped.
	With []*ops.Device
	NCCL bool // the devices use NCCL to add gradients

	// Videos is the folder for the videos that jobs decode. Missing videos are encoded. "" is a temporary folder.
	Videos string

	// Progress, if not nil, is called before each job is measured.
	Progress func(done, all int, job Job)
	// Measured, if not nil, is called after each job is measured.
	Measured func(done, all int, row *Row)

	clock func(w *work) (Stats, error) // replaces the measurement in tests
}

// Limits for the options, and for the samples and calls that do not count.
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

// Stats are in microseconds per call. Each sample is the mean over one batch of calls.
type Stats struct {
	Median  float64 `json:"median_us"`
	P10     float64 `json:"p10_us"`
	P90     float64 `json:"p90_us"`
	Min     float64 `json:"min_us"`
	Samples int     `json:"samples"`
	Calls   int     `json:"calls_per_sample"`

	samples []float64 // sorted
}

func newStats(samples []float64, calls int) Stats {
	slices.Sort(samples)
	q := func(p float64) float64 { return quantile(samples, p) }
	return Stats{Median: q(0.5), P10: q(0.1), P90: q(0.9), Min: samples[0], Samples: len(samples), Calls: calls, samples: samples}
}

// quantile interpolates between the two nearest sorted samples.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// work is a prepared job.
type work struct {
	sets int
	run  func(set int) error // submits one call to the rig's stream, or does it
	// own means that run does the whole call, waits included, so that the wall clock times it. direct means that a graph cannot capture
	// run, so that events around a batch time it.
	own, direct   bool
	read, written int64            // the least bytes that a call reads and writes
	limit         bool             // whether the kernel that moves those bytes is the limit
	floor         *work            // another work that is the limit instead
	how           string           // floor's name
	per           int              // calls in one run; 0 counts as 1
	launches      int              // launches that a call submits; 0 counts as 1
	plan          *ops.Plan        // for the first set, if a call is a plan's run
	again         func() error     // creates the plans again
	outputs       []*tensor.Tensor // outputs of those plans, for all sets
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

// skipped reports a job that the backend cannot do.
type skipped struct{ why string }

func (s *skipped) Error() string { return s.why }

// rig is a device with the resources for measuring.
type rig struct {
	ctx     context.Context // stops the sampling
	dev     *ops.Device
	stream  *ops.Queue
	queue   *cudadrv.Stream // nil on the CPU
	kernels *kernels.Set    // reference kernels, such as the limit; nil on the CPU
	events  [2]*cudadrv.Event
	opt     Options
	most    int // maximum sets; 0 is maxSets

	temporary string // the temporary folder for videos, or ""
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
	var err error
	if r.temporary != "" {
		err = os.RemoveAll(r.temporary)
	}
	if r.queue == nil {
		return err
	}
	for _, e := range r.events {
		if e != nil {
			err = errors.Join(err, e.Close())
		}
	}
	return errors.Join(err, r.kernels.Close())
}

// sets returns how many sets with the given bytes each exceed the rotation size.
func (r *rig) sets(each int64) int {
	return int(min(max((r.opt.Rotate+each-1)/max(each, 1), 1), int64(cmp.Or(r.most, maxSets))))
}

// alloc allocates a device tensor that is freed with the work.
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
	// A few calls without a graph warm up, and determine the calls per batch.
	probe := min(max(w.sets, 3), 50)
	var one float64
	for range 2 {
		took, err := r.between(calls(probe))
		if err != nil {
			return Stats{}, err
		}
		one = took / float64(probe)
	}
	if err := r.wait(); err != nil { // report errors in values before measuring
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
	return newStats(scaled(samples, n*max(w.per, 1)), n*max(w.per, 1)), r.wait()
}

// batch returns the calls per sample, for calls that take the given microseconds.
func (r *rig) batch(one float64) int {
	return int(min(max(math.Ceil(float64(r.opt.Batch.Nanoseconds())/1e3/max(one, 1e-3)), 1), 2000))
}

// between returns the device time for the launched work, in microseconds.
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

// sample takes samples until there are enough. The first ones do not count.
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

// onTheWall measures batches by the wall clock. Each batch ends with a wait.
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

// host returns the program's cost to submit a call, in nanoseconds and allocations. A batch is at most as long as the driver's queue,
// so that no call waits for a free slot.
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
	// Rounded down like testing.AllocsPerRun, because waits between batches and the runtime allocate occasionally.
	return quantile(times, 0.5), math.Floor(float64(after.Mallocs-before.Mallocs) / float64((batches-1)*n)), nil
}

// Runs runs a job n times, on its sets in turn, without measuring. It returns the least bytes per call. It is for profilers.
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

// Explain returns the launches in a job's plan in a launch mode, like [cuda.Explain]. If there are none, why is the reason.
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

// prepared calls fn with a prepared job that has at most the given number of sets.
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
