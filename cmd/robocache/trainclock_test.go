package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset/mcap"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// For recordings without a rate, --rate is enough: the policy equals the policy of a plan with this rate, to the bit.
func TestTrainTakesTheRateOfTheClock(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	var times []int64
	var values []float32
	for i := range 60 {
		times, values = append(times, int64(i)*1e8), append(values, float32(i%5), float32(i%3))
	}
	rows := tensor.Must(tensor.Of(values, 60, 2))
	episode := writeNPZ(t, map[string]*tensor.Tensor{"state.values": rows, "state.times": vec(times...), "action.values": rows, "action.times": vec(times...)})
	plan := filepath.Join(dir, "plan.yaml")
	require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 10\n"), 0o600))
	var kept [2][]byte
	for i, args := range [][]string{{"--hz=10"}, {"--plan", plan}} {
		out := filepath.Join(dir, "policy", args[0])
		good(t, append([]string{"train", episode, "--steps=2", "--batch=2", "--backend=cpu", "--out", out}, args...)...)
		for _, name := range []string{"config.json", "model.safetensors"} {
			data, err := os.ReadFile(filepath.Join(out, name))
			require.NoError(t, err)
			data, _, _ = bytes.Cut(data, []byte(`"settings"`)) // the flags differ
			kept[i] = append(kept[i], data...)
		}
	}
	assert.Equal(t, string(kept[1]), string(kept[0]))

	code, _, stderr := execute("train", episode, "--hz=10", "--plan", plan)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "--plan: got it with --hz")
	code, _, stderr = execute("train", episode, "--backend=cpu")
	assert.Equal(t, exitUsage, code)
	assert.NotContains(t, stderr, "nothing is kept")
	assert.Contains(t, stderr, "--hz: got none, and a dataset without a rate, want the clock's rate, or a plan that has it: action has 10 Hz")
	code, _, stderr = execute("train", g1, "--hz=1e-9")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "--hz: got 1e-09")
}

// Streams that are called otherwise are named: the policy is that of a plan which names them, to the bit.
func TestTrainTakesTheStreamsThatAreNamed(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	var times []int64
	var values []float32
	for i := range 60 {
		times, values = append(times, int64(i)*1e8), append(values, float32(i%5), float32(i%3))
	}
	rows, arrays := tensor.Must(tensor.Of(values, 60, 2)), map[string]*tensor.Tensor{}
	for _, name := range []string{"joints", "cmd_vel", "imu", "action"} {
		arrays[name+".values"], arrays[name+".times"] = rows, vec(times...)
	}
	episode, plan := writeNPZ(t, arrays), filepath.Join(dir, "plan.yaml")
	require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 10\nstreams: [{name: joints}, {name: action, from: cmd_vel}]\n"), 0o600))
	var kept [2][]byte
	for i, args := range [][]string{{"--hz=10", "--action=cmd_vel", "--state=joints"}, {"--plan", plan}} {
		out := filepath.Join(dir, "policy", args[0])
		stdout, stderr := good(t, append([]string{"train", episode, "--steps=2", "--batch=2", "--backend=cpu", "--out", out}, args...)...)
		assert.Contains(t, stdout, "states: joints (2 columns); action: "+[]string{"cmd_vel", "action"}[i]+" (2 columns)\n")
		assert.NotContains(t, stderr, "not states")
		var err error
		kept[i], err = os.ReadFile(filepath.Join(out, "model.safetensors"))
		require.NoError(t, err)
		stdout, _ = good(t, "policy", out, episode, "--backend=cpu")
		assert.Contains(t, stdout, "it was trained on episode 0")
	}
	assert.Equal(t, kept[1], kept[0])
	stdout, stderr := good(t, "train", episode, "--steps=1", "--batch=2", "--backend=cpu", "--hz=10", "--action=cmd_vel")
	assert.Regexp(t, `^states: (imu|joints) \(2 columns\), (imu|joints) \(2 columns\); action: cmd_vel \(2 columns\)\n`, stdout)
	assert.Contains(t, stderr, "not states: action (a form of the action)")
}

// robotLog writes a log of a state and an action that follows it, published 250 ms before it was recorded.
func robotLog(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "run.mcap")
	require.NoError(t, mcap.WriteFile(path, mcap.WriterOptions{}, func(w *mcap.Writer) error {
		for i := range uint64(60) {
			for _, topic := range []string{"state", "action"} {
				channel, err := w.AddChannel(topic, "json", 0, nil)
				if err == nil {
					err = w.Message(&mcap.Message{ChannelID: channel, LogTime: 1e9 + i*1e8, PublishTime: 1e9 + i*1e8 - 25e7, Data: fmt.Appendf(nil, `{"x": %d, "y": %d}`, i%5, i%3)})
				}
				if err != nil {
					return err
				}
			}
		}
		return nil
	}))
	return path
}

// A policy sees recordings on the clock that it was trained on, unless another is asked for.
func TestPolicyTakesTheClockThatItWasTrainedOn(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	log, out, store := robotLog(t), filepath.Join(t.TempDir(), "policy"), filepath.Join(t.TempDir(), "store.safetensors")
	_, stderr := good(t, "train", log, "--hz=10", "--clock=publish", "--steps=2", "--batch=2", "--backend=cpu", "--out", out)
	assert.NotContains(t, stderr, "clock")
	config, err := os.ReadFile(filepath.Join(out, "config.json"))
	require.NoError(t, err)
	assert.Contains(t, string(config), `"clock": "publish"`)
	predicted := func(first int64, remark string, in string, args ...string) {
		npz := filepath.Join(t.TempDir(), "o.npz")
		_, stderr := good(t, append([]string{"policy", out, in, "--backend=cpu", "-o", npz}, args...)...)
		anchors, err := open(t, npz).Tensor("anchors")
		require.NoError(t, err)
		list, err := tensor.Data[int64](anchors)
		require.NoError(t, err)
		assert.Equal(t, first, list[0], args)
		if remark == "" {
			assert.Empty(t, stderr)
		} else {
			assert.Contains(t, stderr, remark)
		}
	}
	other := "the timestamps come from the clock log, but in training from publish"
	predicted(85e7, "", log)
	predicted(85e7, "", log, "--clock=publish")
	predicted(11e8, other, log, "--clock=log")
	good(t, "pack", log, "-o", store) // by its log
	predicted(11e8, other, store)
	code, _, stderr := execute("policy", out, store, "--clock=publish", "--backend=cpu")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "--clock: got publish, want log: "+store+" is a store, which has its times")
	code, _, stderr = execute("policy", out, log, "--clock=sun", "--backend=cpu")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "--clock: got sun")

	code, _, stderr = execute("train", log, "--clock=log", "--out", out, "--resume")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, `got "log", want "publish", as the checkpoint has`)
}
