package policy_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	sameBits(t, "sim:0,sim:1", build(t, robots(t, 20, 20)), policy.Options{HoldOut: []int{1}, Plan: plan, Steps: 3, Batch: 4}, 3)
}

// Training on two devices goes on on two, to the bit, and on no other number of them.
func TestTwoDevicesGoOnToTheBit(t *testing.T) {
	ctx := context.Background()
	store := build(t, robots(t, 60, 60, 60))
	o := policy.Options{HoldOut: []int{1}, Steps: 12, Batch: 4, Seed: 5}
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
