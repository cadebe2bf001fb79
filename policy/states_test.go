package policy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/isaaclab"
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
	_, err = policy.NewTrainer(context.Background(), all(t, "cpu"), store, policy.Options{Plan: "version: 1\nrate: 30\nstreams: [{name: state}, {name: action}]\nwindows: {state: {at: [-0.1, 0]}}\n"})
	assert.ErrorContains(t, err, `windows.state: got at -100ms, 0s, want a range`)

	for _, e := range d {
		e.Streams = e.Streams[:1]
		e.Streams = append(e.Streams, table(t, "reward", 80, joints[:1], func(row, _ int) float64 { return float64(row) }))
	}
	_, err = policy.NewTrainer(context.Background(), all(t, "cpu"), build(t, d), policy.Options{})
	assert.ErrorContains(t, err, "stream state: got none beside action; reward, a reward, or where an episode ends, want a state stream")
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
	o := policy.Options{Steps: 1, Batch: 2, Plan: fmt.Sprintf(numbers, ", {name: eye, from: wrist camera, method: nearest}, {name: front}", ", eye: [-1s, 1s]")}
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
	assert.ErrorContains(t, err, "line 3, column 10: streams: got cameras alone, want states and actions next to them")
}

// What is known only after an action was chosen, or because of it, is no state, and neither are such columns of a state.
func TestColumnsThatAreNoStatesAreLeftOutAndListed(t *testing.T) {
	reasons := map[string]string{
		"processed_actions": "a form of the action", "absolute_actions": "a form of the action", "obs/last_action": "a form of the action", "robot/rawActions": "a form of the action",
		"future_state": "of the tick to come", "observation.state_next": "of the tick to come",
		"states/rigid_object/cube/root_pose": "recorded after the step", "obs_after_step": "recorded after the step",
		"leader_state": "of the leader arm, or of who steers", "master.joint": "of the leader arm, or of who steers", "teleop/pose": "of the leader arm, or of who steers",
		"target_qpos": "a target or command", "obs/datagen_info/target_eef_pose": "a target or command", "/arm/joint_cmd": "a target or command",
		"returns": "an estimate of rewards to come", "advantage": "an estimate of rewards to come", "value": "an estimate of rewards to come", "dense_reward": "a reward, or where an episode ends",
		"__index_level_0__": "a time or an index", "episode_id": "a time or an index", "step-idx": "a time or an index",
	}
	states := []string{"states", "env_states/cube", "joints/valve", "hand/index_finger", "obs/goal", "temperature/value"}
	d := robots(t, 80, 80)
	mixed := []dataset.Column{{Name: "shoulder"}, {Name: "leader_joint"}, {Name: "is_grasped"}, {Name: "frame_index"}}
	fingers := []dataset.Column{{Name: "thumb"}, {Name: "index"}}
	for _, e := range d {
		for _, name := range states {
			e.Streams = append(e.Streams, table(t, name, 80, joints[:1], func(row, _ int) float64 { return float64(row % 7) }))
		}
		for name := range reasons {
			e.Streams = append(e.Streams, table(t, name, 80, joints[:1], func(row, _ int) float64 { return float64(row) }))
		}
		e.Streams = append(e.Streams, table(t, "mixed", 80, mixed, func(row, j int) float64 { return float64(row % (3 + j)) }),
			table(t, "hand", 80, fingers, func(row, j int) float64 { return float64(row % (3 + j)) }))
	}
	store := build(t, d)
	tr := trainer(t, "cpu", store, policy.Options{HoldOut: []int{1}, Steps: 1})
	c := tr.Config()
	var got []string
	for _, s := range c.States {
		got = append(got, s.Name)
	}
	assert.ElementsMatch(t, append(states, "state", "mixed", "hand"), got)
	columns := map[string]string{}
	left := map[string]string{}
	for _, n := range c.NotStates {
		if n.Column == "" {
			left[n.Stream] = n.Reason
		} else {
			columns[n.String()] = n.Stream
		}
	}
	assert.Equal(t, reasons, left)
	assert.Equal(t, map[string]string{"leader_joint of mixed (of the leader arm, or of who steers)": "mixed", "frame_index of mixed (a time or an index)": "mixed"}, columns)
	assert.Contains(t, c.States, policy.Stream{Name: "mixed", Columns: []string{"shoulder", "is_grasped"}})

	train(t, tr, 1)
	dir := t.TempDir()
	require.NoError(t, tr.Save(context.Background(), dir))
	p, err := policy.Open(context.Background(), open(t, "cpu"), dir)
	require.NoError(t, err)
	defer p.Close()
	_, err = p.Evaluate(context.Background(), store, []int{1}, nil)
	assert.NoError(t, err, "the policy takes the same columns")

	named := trainer(t, "cpu", store, policy.Options{Steps: 1, States: []string{"mixed", "target_qpos"}})
	assert.ElementsMatch(t, []policy.Stream{{Name: "mixed", Columns: []string{"shoulder", "leader_joint", "is_grasped", "frame_index"}}, {Name: "target_qpos", Columns: []string{"shoulder"}}},
		named.Config().States, "a name given by hand wins")
}

// declaring is a dataset that declares two of its streams.
type declaring struct{ made }

func (d declaring) Info() dataset.Info {
	info := d.made.Info()
	info.Features = []dataset.Feature{{Name: "state"}, {Name: "action"}}
	return info
}

func TestStreamsThatADatasetDoesNotDeclareAreNoStates(t *testing.T) {
	d := robots(t, 80, 80)
	for _, e := range d {
		e.Streams = append(e.Streams, table(t, "copied", 80, joints, func(row, _ int) float64 { return float64(row) }))
	}
	c := trainer(t, "cpu", build(t, declaring{d}), policy.Options{Steps: 1}).Config()
	assert.Equal(t, []policy.NotState{{Stream: "copied", Reason: "not declared by the dataset"}}, c.NotStates)
	for code, n := range map[dataset.Code]policy.NotState{dataset.CodeNotState: c.NotStates[0],
		dataset.CodeColumnsNotState: {Stream: "a", Column: "b"},
		dataset.CodePlanCamera:      {Stream: "a", Reason: policy.Camera}} {
		text, err := json.Marshal(n)
		require.NoError(t, err)
		assert.Contains(t, string(text), `"code":"`+code.String()+`"`)
	}
}

// noisy trains a policy on recordings of white noise, and returns its skills and those of a ridge.
func noisy(t *testing.T, d dataset.Dataset, action string, holdOut ...int) (got []policy.Skill) {
	t.Helper()
	store := build(t, d)
	plan := fmt.Sprintf("version: 1\nrate: %v\nwindows: {%s: [0s, 110ms]}\n", d.Info().Rate, action)
	tr := trainer(t, "cpu", store, policy.Options{HoldOut: holdOut, Steps: 300, Plan: plan})
	train(t, tr, 300)
	e, err := tr.Evaluate(t.Context(), nil)
	require.NoError(t, err)
	ridge, err := policy.Ridge(t.Context(), tr.Config(), store)
	require.NoError(t, err)
	return append(e.Skills, ridge.Skills...)
}

// Isaac Lab's actions of this case are white noise: the mean has half of the error of the last action, and no policy has less.
func TestIsaaclabTrainSeesTheAction(t *testing.T) {
	const path = "../../shared/cases/isaaclab-train-sees-the-action/demos.hdf5"
	if _, err := os.Stat(path); err != nil {
		t.Skip("no shared recordings: ", err)
	}
	d, err := dataset.Open(t.Context(), path, dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	for _, s := range noisy(t, d, "actions", 6, 7) {
		assert.Less(t, s.Skill, .53, "%d ticks ahead", s.Ticks)
	}
}

func TestActionsOfWhiteNoiseCannotBePredicted(t *testing.T) {
	var d made
	for i := range 6 {
		r := rand.New(rand.NewPCG(uint64(i), 1))
		noise := make([]float64, 3*200)
		for k := range noise {
			noise[k] = r.NormFloat64()
		}
		drawn := func(row, j int) float64 { return noise[row*3+j] }
		e := &dataset.Episode{Name: fmt.Sprint(i), Streams: []dataset.Stream{table(t, "action", 200, joints, drawn),
			table(t, "observation.state", 200, append(slices.Clone(joints), dataset.Column{Name: "target_shoulder"}), func(row, j int) float64 {
				if j == 3 {
					return drawn(row, 0)
				}
				return math.Sin(float64(row * (j + 1)))
			})}}
		for _, name := range []string{"next.state", "target_qpos", "observation.leader", "relative_actions", "advantage"} {
			e.Streams = append(e.Streams, table(t, name, 200, joints, func(row, j int) float64 { return 2*drawn(row, j) + 1 }))
		}
		d = append(d, e)
	}
	for _, s := range noisy(t, d, "action", 4, 5) {
		assert.Less(t, s.Skill, .55, "%d ticks ahead", s.Ticks)
	}
}
