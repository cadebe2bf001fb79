package policy_test

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/ops/sim"
	"github.com/robocache/robocache/policy"
)

// occupied is the memory of a device that is in use, 0 of a CPU.
func occupied(t *testing.T, d *ops.Device) uint64 {
	t.Helper()
	if strings.HasPrefix(d.Name(), "cpu") {
		return 0
	}
	queue, err := cuda.Stream(d.Queue())
	require.NoError(t, err)
	require.NoError(t, queue.Context().Synchronize(context.Background())) // memory comes back in the order of a stream
	_, used, err := queue.Context().PoolInfo()
	require.NoError(t, err)
	return used
}

// heap is the program's memory that is in use.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what finalisers and cleanups have let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Ten thousand steps, with checkpoints and comparisons among them, leave the program's memory, the devices' and the goroutines as they were.
func TestTrainingLeavesNothing(t *testing.T) {
	t.Setenv(sim.CountEnv, "2")
	ctx := context.Background()
	store := build(t, robots(t, 30, 30))
	plan := "version: 1\nrate: 30\nstreams: [{name: state}, {name: action}]\nwindows: {state: [-67ms, 0s], action: [0s, 100ms]}\n"
	for _, c := range []struct {
		backends       string
		steps, between int
	}{{"cpu", thorough.Of(1200, 10000), thorough.Of(200, 1000)}, {"cpu,cpu", thorough.Of(600, 2000), thorough.Of(200, 500)}, {"sim:0,sim:1", thorough.Of(3, 6), thorough.Of(1, 2)}, {"cuda:0", 10000, 1000}, {"cuda:0,cuda:1", 10000, 1000}} {
		t.Run(c.backends, func(t *testing.T) {
			if testing.Short() {
				c.steps, c.between = c.steps/10+4, max(c.between/10, 2)
			}
			goroutines := runtime.NumGoroutine()
			devices, err := ops.OpenAll(c.backends)
			if err != nil && strings.HasPrefix(c.backends, "cuda") {
				t.Skipf("no GPU: %v", err)
			}
			require.NoError(t, err)
			open := func() *policy.Trainer {
				tr, err := policy.NewTrainer(ctx, devices, store, policy.Options{HoldOut: []int{1}, Plan: plan, Steps: 1 << 14, Batch: 1})
				require.NoError(t, err)
				return tr
			}
			require.NoError(t, open().Close()) // after which a device has what it keeps for plans to come
			var at []uint64
			for _, d := range devices {
				at = append(at, occupied(t, d))
			}
			tr := open()
			dir := t.TempDir()
			turn := func() {
				for n := 0; n < c.between; {
					losses, err := tr.Run(ctx, c.between-n)
					require.NoError(t, err)
					n += len(losses)
				}
				require.NoError(t, tr.Save(ctx, dir))
				_, err := tr.Evaluate(ctx, nil)
				require.NoError(t, err)
			}
			turn() // after which everything is there that is kept
			memory, running := heap(), runtime.NumGoroutine()
			var during []uint64
			for _, d := range devices {
				during = append(during, occupied(t, d))
			}
			for tr.Steps() < c.steps {
				turn()
			}
			assert.Less(t, heap()-memory, int64(128<<10), "bytes of the program")
			assert.LessOrEqual(t, runtime.NumGoroutine(), running)
			for i, d := range devices {
				assert.Equal(t, during[i], occupied(t, d), "bytes of %s", d.Name())
			}
			require.NoError(t, tr.Close())
			for i, d := range devices {
				assert.Equal(t, at[i], occupied(t, d), "bytes of %s after Close", d.Name())
				require.NoError(t, d.Close())
			}
			for until := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(until); {
				time.Sleep(10 * time.Millisecond)
			}
			assert.LessOrEqual(t, runtime.NumGoroutine(), goroutines)
		})
	}
}
