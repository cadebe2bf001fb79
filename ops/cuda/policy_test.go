package cuda_test

import (
	"cmp"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/gputest"
	"github.com/robocache/robocache/internal/test/opstest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/ops/sim"
	"github.com/robocache/robocache/tensor"
)

// whole is what the backend has.
type whole interface {
	backend.Backend
	backend.Resampler
	backend.Fuser
	backend.Differentiator
	backend.Voxelizer
	backend.Drawer
	backend.Tallier
	backend.Batcher
}

// varied makes each plan with another of its candidates: one of the variant that was taken least, whose candidates take turns.
type varied struct {
	whole
	t      testing.TB
	queue  backend.Queue
	mu     sync.Mutex
	others map[string]int // plans that were not made by the heuristic, by their variant
}

func (v *varied) Resample(job *backend.ResampleJob) (backend.Plan, error) {
	return v.vary(func() (backend.Plan, error) { return v.whole.Resample(job) })
}

func (v *varied) Fuse(job *backend.FuseJob) (backend.Plan, error) {
	return v.vary(func() (backend.Plan, error) { return v.whole.Fuse(job) })
}

func (v *varied) vary(plan func() (backend.Plan, error)) (backend.Plan, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	require.NoError(v.t, v.queue.(tuned.Device).Tune(nil))
	p, err := plan()
	if err != nil {
		return nil, err
	}
	key, list, err := p.(tuned.Plan).Candidates()
	require.NoError(v.t, err)
	if len(list) < 2 {
		return p, nil
	}
	by, names := map[string][]tuned.Policy{}, []string{}
	for _, c := range list[1:] {
		if by[c.Variant] == nil {
			names = append(names, c.Variant)
		}
		by[c.Variant] = append(by[c.Variant], c)
	}
	rarest := slices.MinFunc(names, func(a, b string) int { return cmp.Compare(v.others[a], v.others[b]) })
	some := by[rarest]
	c := some[v.others[rarest]*7%len(some)]
	require.NoError(v.t, p.Close())
	require.NoError(v.t, tuneTo(v.queue, key, c))
	if p, err = plan(); err == nil {
		require.Equal(v.t, c.Variant, p.(interface{ Kernels() []string }).Kernels()[0])
		v.others[c.Variant]++
	}
	return p, err
}

// tuneTo makes a device launch a key by a policy, and all others by the heuristic.
func tuneTo(s backend.Queue, key tuned.Key, c tuned.Policy) error {
	d := s.(tuned.Device)
	now, _ := d.Tuned()
	table := tuned.New(now.For)
	table.Set(tuned.Entry{Key: key, Policy: c})
	return d.Tune(table)
}

// eachDevice runs a test on a simulated device, where a launch takes milliseconds and every plan is made twice, and on a GPU.
func eachDevice(t *testing.T, run func(t *testing.T, b backend.Backend, simulated bool)) {
	t.Run("sim", func(t *testing.T) {
		b, err := sim.New(cudasim.New(cudasim.Config{}))
		require.NoError(t, err)
		run(t, b, true)
	})
	t.Run("cuda", func(t *testing.T) {
		b, err := cuda.New(gputest.Require(t), 0)
		require.NoError(t, err)
		run(t, b, false)
	})
}

// No policy of a variant and of its numbers changes a bit: the conformance suite, each of its plans with another candidate.
func TestNoChoiceChangesAResult(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	eachDevice(t, func(t *testing.T, b backend.Backend, simulated bool) {
		v := &varied{whole: b.(whole), t: t, others: map[string]int{}}
		var err error
		v.queue, err = b.NewQueue()
		require.NoError(t, err)
		dev, err := ops.NewDevice(v)
		require.NoError(t, err)
		t.Cleanup(func() {
			assert.NoError(t, v.queue.Close())
			assert.NoError(t, dev.Close())
		})
		rounds, every := 3, 4
		if simulated && !thorough.Long {
			rounds, every = 2, 24
		}
		for operation, takes := range map[string]func(number int) bool{
			"resample": func(n int) bool { return n < 84 || n < rounds*84 && (n%84 >= 48 || n%84/12 == 1) }, // a round, and more plain jobs and f64 ones
			"fuse":     func(n int) bool { return n < 36 || n < 192 && n%every == 2 },
		} {
			sample := opstest.NewSample(t, dev, operation)
			for number := range 3 * 84 {
				if takes(number) {
					sample.Run(t, number)
				}
			}
		}
		parts := []string{"resample/golden", "resample/poses", "resample/weights", "resample/turns", "unaligned/f32", "unaligned/bf16"}
		if thorough.Long {
			parts = append(parts, "unaligned/rounding", "unaligned/timestamps at once")
		}
		if !simulated {
			parts = []string{"resample", "unaligned", "fuse/generated"}
		}
		opstest.Run(t, dev, opstest.Config{}, parts...)
		for _, kernel := range []string{"resample", "resample_f64", "resample_channels", "resample_channels_f64", "resample_curves", "resample_curves_f64", "resample_fast", "resample_small",
			"resample_unaligned", "resample_thread_per_row", "fuse", "fuse_chunks", "fuse_fast", "fuse_unaligned", "fuse_small"} {
			assert.GreaterOrEqual(t, v.others[kernel], 10, kernel)
		}
		t.Logf("plans with a choice that is not the heuristic's: %v", v.others)
	})
}

func floats(t *testing.T, x *tensor.Tensor) []float32 {
	t.Helper()
	v, err := tensor.Data[float32](x)
	require.NoError(t, err)
	return v
}
