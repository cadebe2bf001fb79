package cuda_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/gputest"
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/ops/opstest"
	"github.com/robocache/robocache/ops/sim"
)

// varied makes each plan with another of its candidates, in turn, or with the first of those that are wanted.
type varied struct {
	ops.Backend
	wanted func(tuned.Choice) bool
	t      testing.TB
	stream ops.Stream
	mu     sync.Mutex
	turn   map[string]int // of each kernel
	others map[string]int // plans of a kernel that were not made by the model
}

func (v *varied) Resample(job *ops.ResampleJob) (ops.Plan, error) {
	return v.vary(func() (ops.Plan, error) { return v.Backend.Resample(job) })
}

func (v *varied) Fuse(job *ops.FuseJob) (ops.Plan, error) {
	return v.vary(func() (ops.Plan, error) { return v.Backend.Fuse(job) })
}

func (v *varied) vary(plan func() (ops.Plan, error)) (ops.Plan, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	require.NoError(v.t, v.stream.(tuned.Device).Tune(nil))
	p, err := plan()
	if err != nil {
		return nil, err
	}
	class, list, err := p.(tuned.Plan).Candidates()
	require.NoError(v.t, err)
	if len(list) < 2 {
		return p, nil
	}
	n := v.turn[class.Variant] % len(list)
	v.turn[class.Variant]++
	if v.wanted != nil {
		n = max(0, slices.IndexFunc(list, v.wanted))
	}
	if n == 0 {
		return p, nil
	}
	require.NoError(v.t, p.Close())
	require.NoError(v.t, tuneTo(v.stream, class, list[n]))
	v.others[class.Variant]++
	return plan()
}

// tuneTo makes a device launch a class by a choice, and all others by the model.
func tuneTo(s ops.Stream, class tuned.Class, c tuned.Choice) error {
	d := s.(tuned.Device)
	now, _ := d.Tuned()
	table := tuned.New(now.For)
	table.Set(tuned.Entry{Class: class, Choice: c})
	return d.Tune(table)
}

// eachDevice runs a test on a simulated device, where a launch takes milliseconds and every plan is made twice, and on a GPU.
func eachDevice(t *testing.T, run func(t *testing.T, b ops.Backend, simulated bool)) {
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

// vary opens a device whose plans are not the model's.
func vary(t *testing.T, b ops.Backend, wanted func(tuned.Choice) bool) (*varied, *ops.Device) {
	v := &varied{Backend: b, wanted: wanted, t: t, turn: map[string]int{}, others: map[string]int{}}
	var err error
	v.stream, err = b.NewStream()
	require.NoError(t, err)
	dev, err := ops.NewDevice(v)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, v.stream.Close())
		assert.NoError(t, dev.Close())
	})
	return v, dev
}

// No choice of a launch's shape changes a bit: the conformance suite, each of its plans with another candidate.
func TestNoChoiceChangesAResult(t *testing.T) {
	eachDevice(t, func(t *testing.T, b ops.Backend, simulated bool) {
		v, dev := vary(t, b, nil)
		slow := 4
		if simulated {
			slow = 24
		}
		opstest.Run(t, dev, opstest.Config{Slow: slow, More: 2, Only: map[string]bool{"named": !simulated, "generated": true, "odd": true, "fuse-generated": true, "fuse-named": true}, Skip: map[string]bool{"life": true, "misuse": true}})
		for _, kernel := range []string{"resample_plain_", "resample_odd_", "resample_f", "resample_bf16", "resample_channels_", "resample_curves_", "resample_poses_", "fuse_plain_", "fuse_odd_", "fuse_chunks", "fuse"} {
			n := 0
			for name, plans := range v.others {
				if strings.HasPrefix(name, kernel) && (kernel != "fuse" || name == "fuse") {
					n += plans
				}
			}
			assert.GreaterOrEqual(t, n, 10, kernel)
		}
		t.Logf("plans with a choice that is not the model's: %v", v.others)
	})
}
