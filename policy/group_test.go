package policy_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/sim"
	"github.com/robocache/robocache/policy"
)

// Two devices draw the windows that one draws with a batch twice as large, and learn what it learns: but for windows in which some ticks have no
// target, since the loss is the mean of the devices' means.
func TestTwoDevicesLearnWhatOneDoes(t *testing.T) {
	plan := "version: 1\nrate: 30\nstreams: [{name: state}, {name: action}]\nwindows: {state: [-200ms, 0s]}\n"
	store := build(t, robots(t, 60, 60, 60))
	o := policy.Options{Size: "seed", HoldOut: []int{1}, Plan: plan, Steps: 4, Batch: 4, Rate: 1e-4, Seed: 3} // without dropout, which is a rank's own
	one := trainer(t, "cpu", store, o)
	want := train(t, one, 4)
	o.Batch = 2
	two := trainer(t, "cpu,cpu", store, o)
	for i, loss := range train(t, two, 4) {
		assert.InEpsilon(t, want[i], loss, 0.02, i)
	}
	assert.Equal(t, 1, one.Config().Devices)
	assert.Equal(t, 2, two.Config().Devices)
	a, err := one.Evaluate(context.Background(), nil)
	require.NoError(t, err)
	b, err := two.Evaluate(context.Background(), nil)
	require.NoError(t, err)
	assert.InEpsilon(t, a.Skills[0].MSE, b.Skills[0].MSE, 0.02)
}

func TestTwoSimulatedDevicesTrainToTheSameBits(t *testing.T) {
	t.Setenv(sim.CountEnv, "2")
	plan := "version: 1\nrate: 30\nstreams: [{name: state}, {name: action}]\nwindows: {state: [-67ms, 0s], action: [0s, 100ms]}\n"
	sameBits(t, "sim:0,sim:1", build(t, robots(t, 20, 20)), policy.Options{HoldOut: []int{1}, Plan: plan, Steps: 3, Batch: 2, EMA: fraction(0.75), Accumulate: 2}, 3)
}

// NCCL's sum of two gradients has one order, so two devices that share by it train to the bits of two that share by themselves. The checkpoint says
// which it was, and is resumed by the same.
func TestTwoDevicesByNCCLTrainToTheSameBits(t *testing.T) {
	t.Setenv(sim.CountEnv, "2")
	plan := "version: 1\nrate: 30\nstreams: [{name: state}, {name: action}]\nwindows: {state: [-67ms, 0s], action: [0s, 100ms]}\n"
	byNCCL(t, "sim:0,sim:1", build(t, robots(t, 20, 20)), policy.Options{HoldOut: []int{1}, Plan: plan, Steps: 3, Batch: 4}, 3)
}

func TestTwoGPUsByNCCLTrainToTheSameBits(t *testing.T) {
	devices, err := ops.OpenAll("cuda:0,cuda:1")
	if err != nil {
		t.Skipf("no second GPU: %v", err)
	}
	for _, d := range devices {
		require.NoError(t, d.Close())
	}
	byNCCL(t, "cuda:0,cuda:1", recorded(t, "examples/data/g1"), policy.Options{HoldOut: []int{2}, Steps: 40}, 40)
}

func byNCCL(t *testing.T, backend string, store *store.Store, o policy.Options, steps int) {
	ctx := context.Background()
	var all []map[string]string
	var dir string
	for _, nccl := range []bool{false, true} {
		o.NCCL = nccl
		tr := trainer(t, backend, store, o)
		train(t, tr, steps)
		dir = t.TempDir()
		require.NoError(t, tr.Save(ctx, dir))
		all = append(all, files(t, dir))
		assert.Equal(t, nccl, tr.Config().NCCL)
	}
	require.NotEmpty(t, all[0]["model.safetensors"])
	assert.True(t, all[0]["model.safetensors"] == all[1]["model.safetensors"])
	o.NCCL = false
	var bad *policy.CheckpointError
	require.ErrorAs(t, trainer(t, backend, store, o).Resume(ctx, dir), &bad)
	assert.Equal(t, "nccl", bad.What)
}

// Training on two devices goes on on two, to the bit, and on no other number of them.
func TestTwoDevicesGoOnToTheBit(t *testing.T) {
	ctx := context.Background()
	store := build(t, robots(t, 60, 60, 60))
	o := policy.Options{HoldOut: []int{1}, Steps: 12, Batch: 4, Seed: 5, EMA: fraction(0.75)}
	whole := trainer(t, "cpu,cpu", store, o)
	losses := train(t, whole, 12)
	dirs := []string{t.TempDir(), t.TempDir()}
	require.NoError(t, whole.Save(ctx, dirs[0]))
	first := trainer(t, "cpu,cpu", store, o)
	got := train(t, first, 5)
	require.NoError(t, first.Save(ctx, dirs[1]))
	second := trainer(t, "cpu,cpu", store, o)
	require.NoError(t, second.Resume(ctx, dirs[1]))
	got = append(got, train(t, second, 7)...)
	assert.Equal(t, losses, got)
	for _, backends := range []string{"cpu", "cpu,cpu,cpu"} {
		var bad *policy.CheckpointError
		require.ErrorAs(t, trainer(t, backends, store, o).Resume(ctx, dirs[1]), &bad)
		assert.Equal(t, "devices", bad.What)
	}
	require.NoError(t, second.Save(ctx, dirs[1]))
	a, b := files(t, dirs[0]), files(t, dirs[1])
	for name := range a {
		assert.True(t, a[name] == b[name], name)
	}
	p, err := policy.Open(ctx, open(t, "cpu"), dirs[1]) // which runs on one
	require.NoError(t, err)
	require.NoError(t, p.Close())
}
