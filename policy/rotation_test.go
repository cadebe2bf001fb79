package policy_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/policy"
	"github.com/robocache/robocache/tensor"
)

// Columns of the action that the recording, or their names, say to be of a quaternion are told, and no others.
func TestQuaternionsAmongTheActionsAreTold(t *testing.T) {
	named := func(names ...string) (list []dataset.Column) {
		for _, name := range names {
			list = append(list, dataset.Column{Name: name})
		}
		return list
	}
	said := named("a", "b", "c", "d", "seq")
	for i := range 4 {
		said[i].Rotation = dataset.RotationWXYZ
	}
	for name, c := range map[string]struct {
		columns []dataset.Column
		plan    string
		want    []string
	}{
		"said":           {said, "", []string{"a", "b", "c", "d"}},
		"named":          {named("x", "qx", "qy", "qz", "ee_qw", "gripper"), "", []string{"qx", "qy", "qz", "ee_qw"}},
		"by the word":    {named("x", "left_Quat_0", "left_Quat_1"), "", []string{"left_Quat_0", "left_Quat_1"}},
		"none":           {named("seqx", "torque", "qpos", "q1"), "", nil},
		"said elsewhere": {said, "version: 1\nrate: 30\nstreams:\n  - name: state\n  - {name: actions, from: action}\n", []string{"a", "b", "c", "d"}},
	} {
		d := made{&dataset.Episode{Name: "e", Streams: []dataset.Stream{
			table(t, "state", 70, joints, func(row, j int) float64 { return float64(row % (3 + j)) }),
			table(t, "action", 70, c.columns, func(row, j int) float64 { return float64((row+j)%7)/7 + 0.1 }),
		}}}
		store := build(t, d)
		tr := trainer(t, "cpu", store, policy.Options{Steps: 1, Batch: 4, Plan: c.plan})
		got, err := tr.Config().Rotations(store)
		require.NoError(t, err, name)
		assert.Equal(t, c.want, got, name)
	}
}

// A trace has the whole episode as it was recorded, and beside it what was known and predicted before.
func TestATraceHasTheWholeEpisode(t *testing.T) {
	ctx := context.Background()
	store := build(t, robots(t, 90, 80))
	tr := trainer(t, "cpu", store, policy.Options{HoldOut: []int{1}, Steps: 1, Batch: 4})
	trace := policy.NewTrace(tr.Config(), 1)
	_, err := tr.Evaluate(ctx, trace.Add)
	require.NoError(t, err)
	streams, err := trace.Streams()
	require.NoError(t, err)
	require.Len(t, streams, 3)
	skill, err := policy.Ridge(ctx, tr.Config(), store)
	require.NoError(t, err)
	again, err := trace.Ridge(ctx, store)
	require.NoError(t, err)
	assert.Equal(t, skill, again)
	streams, err = trace.Streams()
	require.NoError(t, err)
	require.Len(t, streams, 4)
	episode, err := store.Episode(ctx, 1)
	require.NoError(t, err)
	times, chunk := episode.Stream("action").Nanoseconds(), tr.Config().Recipe.Chunk
	recorded, predicted, held, ridge := &streams[0], &streams[1], &streams[2], &streams[3]
	assert.Equal(t, times, recorded.Nanoseconds())
	assert.Equal(t, "predicted 1 s before", predicted.Name)
	for _, s := range []*dataset.Stream{predicted, held, ridge} {
		assert.Equal(t, times[chunk:], s.Nanoseconds(), s.Name)
	}
	was, err := recorded.Values.Slice(0, 0, len(times)-chunk)
	require.NoError(t, err)
	assert.Equal(t, floats(t, was), floats(t, held.Values), "what is held is a chunk old")
	std, mse := tr.Config().Targets, 0.0
	for i, v := range floats(t, ridge.Values) {
		e := (v - floats(t, recorded.Values)[chunk*len(std)+i]) / std[i%len(std)].Std
		mse += e * e
	}
	assert.InDelta(t, again.Skills[2].MSE, mse/float64(len(floats(t, ridge.Values))), 1e-9, "the curve of the ridge has the ridge's error")
}

func floats(t *testing.T, x *tensor.Tensor) []float64 {
	t.Helper()
	list, err := tensor.Floats(x)
	require.NoError(t, err)
	return list
}
