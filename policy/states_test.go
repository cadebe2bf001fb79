package policy_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/policy"
)

// Streams that know the future, that no robot senses, or that are the action in another form, are no states unless a plan names them; what is left out is
// listed with its reason.
func TestStreamsThatAreNoStatesAreLeftOutAndListed(t *testing.T) {
	reasons := map[string]string{
		"next.reward": "of the tick to come", "next.done": "of the tick to come", "next_obs/eef_pos": "of the tick to come",
		"annotation.human.action.task_description": "an annotation",
		"rewards": "a reward, or where an episode ends", "reward": "a reward, or where an episode ends", "dones": "a reward, or where an episode ends",
		"discount": "a reward, or where an episode ends", "is_first": "a reward, or where an episode ends",
		"rel_actions": "a form of the action", "action_dict/gripper": "a form of the action", "action.left_arm": "a form of the action",
		"language_embedding": "language", "observation/natural_language_embedding": "language",
		"timestamp": "a time or an index", "frame_index": "a time or an index", "observation/tick": "a time or an index",
	}
	states := []string{"observation.state", "obs/eef_pos", "robot_obs", "joint_torques", "context", "timing_belt", "reactions"}
	d := robots(t, 80, 80)
	for _, e := range d {
		e.Streams = e.Streams[1:]
		for _, name := range states {
			e.Streams = append(e.Streams, table(t, name, 80, joints[:2], func(row, j int) float64 { return float64(row % (3 + j)) }))
		}
		for name := range reasons {
			e.Streams = append(e.Streams, table(t, name, 80, joints[:1], func(row, _ int) float64 { return float64(row) }))
		}
	}
	store := build(t, d)
	tr := trainer(t, "cpu", store, policy.Options{HoldOut: []int{1}, Steps: 1})
	c := tr.Config()
	var got []string
	for _, s := range c.States {
		got = append(got, s.Name)
		assert.Len(t, s.Columns, 2)
	}
	assert.ElementsMatch(t, states, got)
	assert.Equal(t, "action", c.Action.Name)
	left := map[string]string{}
	for _, n := range c.NotStates {
		left[n.Stream] = n.Reason
	}
	assert.Equal(t, reasons, left)

	train(t, tr, 1)
	dir := t.TempDir()
	require.NoError(t, tr.Save(context.Background(), dir))
	p, err := policy.Open(context.Background(), open(t, "cpu"), dir)
	require.NoError(t, err)
	defer p.Close()
	assert.Equal(t, c, p.Config(), "config.json has them")
	_, err = p.Evaluate(context.Background(), store, []int{1}, nil)
	assert.NoError(t, err)

	named := trainer(t, "cpu", store, policy.Options{Steps: 1, Plan: "version: 1\nrate: 30\nstreams: [{name: next.reward}, {name: action}]\n"})
	assert.Equal(t, "next.reward", named.Config().States[0].Name, "what a plan names is taken")
	assert.Empty(t, named.Config().NotStates)
	open := trainer(t, "cpu", store, policy.Options{Steps: 1, Plan: "version: 1\nrate: 15\n"})
	assert.Len(t, open.Config().States, len(states), "a plan that names no streams leaves the choice as it is")
	assert.Equal(t, 15., open.Config().Hz)

	_, err = policy.NewTrainer(context.Background(), all(t, "cpu"), store, policy.Options{Plan: "version: 1\nrate: 30\nwindows: {acton: [0s, 1s]}\n"})
	assert.ErrorContains(t, err, `windows.acton`, "windows are of the streams that are taken")

	for _, e := range d {
		e.Streams = e.Streams[:1]
		e.Streams = append(e.Streams, table(t, "reward", 80, joints[:1], func(row, _ int) float64 { return float64(row) }))
	}
	_, err = policy.NewTrainer(context.Background(), all(t, "cpu"), build(t, d), policy.Options{})
	assert.ErrorContains(t, err, "stream state: got none beside action; reward, a reward, or where an episode ends, want a stream of states")
}

// filmed are recordings that declare two cameras.
type filmed struct{ made }

func (f filmed) Info() dataset.Info {
	info := f.made.Info()
	info.Features = []dataset.Feature{{Name: "state"}, {Name: "wrist camera", DType: "video", Media: true}, {Name: "front", DType: "uint8", Media: true}}
	return info
}

// A plan that a conversion takes with its cameras, whatever their kind, trains the policy of the streams beside them.
func TestAPlansCamerasAreLeftOutAndListed(t *testing.T) {
	ctx := context.Background()
	store := build(t, filmed{robots(t, 80, 80)})
	const numbers = "version: 1\nrate: 30\nstreams: [{name: state}, {name: action}%s]\nwindows: {action: [0s, 300ms]%s}\n"
	o := policy.Options{Steps: 1, Batch: 2, Plan: fmt.Sprintf(numbers, ", {name: eye, from: wrist camera, kind: nearest}, {name: front}", ", eye: [-1s, 1s]")}
	with := trainer(t, "cpu", store, o)
	assert.Equal(t, []policy.NotState{{Stream: "eye", Reason: policy.Camera}, {Stream: "front", Reason: policy.Camera}}, with.Config().NotStates)
	train(t, with, 1)
	dir := t.TempDir()
	require.NoError(t, with.Save(ctx, dir))
	p, err := policy.Open(ctx, open(t, "cpu"), dir)
	require.NoError(t, err)
	defer p.Close()
	_, err = p.Evaluate(ctx, store, []int{1}, nil)
	assert.NoError(t, err, "a policy whose plan names cameras runs")

	o.Plan = fmt.Sprintf(numbers, "", "")
	without := trainer(t, "cpu", store, o)
	train(t, without, 1)
	assert.Equal(t, without.Parameters(), with.Parameters())
	assert.Equal(t, without.Config().Inputs, with.Config().Inputs)

	_, err = policy.NewTrainer(ctx, all(t, "cpu"), store, policy.Options{Plan: "version: 1\nrate: 30\nstreams: [{name: front}]\n"})
	assert.ErrorContains(t, err, "line 3, column 10: streams: got cameras alone, want states and actions beside them")
}
