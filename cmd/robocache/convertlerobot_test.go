package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/convert"
	"github.com/robocache/robocache/tensor"
)

func TestFlagsOfLeRobotThatCannotBe(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--to=npz", "--state=a"}, "--state is for LeRobot datasets, got --to npz, want --to lerobot"},
		{[]string{"--to=lerobot", "--name=a"}, `--name: got "a", want FROM=TO`},
		{[]string{"--to=lerobot", "--name=a=b", "--name=a=c"}, "--name: got a twice"},
		{[]string{"--to=lerobot", "--cameras=film"}, `--cameras: got "film", want auto, video, image`},
		{[]string{"--to=lerobot", "--codec=theora"}, `--codec: got "theora", want av1, h264, hevc`},
		{[]string{"--to=lerobot", "--state=a,b", "--action=b"}, "--action: got b, which is of the state too"},
		{[]string{"--to=lerobot", "--extra=keep"}, `--extra: got "keep", want error, drop, skip`},
		{[]string{"--to=lerobot"}, "want --hz F or --plan FILE"},
	} {
		code, _, stderr := execute(append([]string{"convert", flight, "-o", out}, c.args...)...)
		assert.Equal(t, exitUsage, code, "%v: %s", c.args, stderr)
		assert.Contains(t, stderr, c.want, "%v", c.args)
	}
	assert.NoDirExists(t, out)
}

// TestConvertMakesALeRobotDataset gives streams the names that LeRobot's policies look for, and reads the dataset by the recording's own times.
func TestConvertMakesALeRobotDataset(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	args := []string{"convert", "../../examples/data/turtles2", "-o", out, "--to=lerobot", "--hz=20", "--state=/turtle2/pose,/turtle1/pose",
		"--action=/turtle2/cmd_vel", "--task=follow", "--robot=turtle", "--json"}
	good(t, args...)
	_, again := good(t, args...)
	assert.NotContains(t, again, "converting shard", "it is there, whole")
	stdout, _ := good(t, "inspect", out, "--clock=capture_time")
	for _, want := range []string{"lerobot v3.0", `tasks: "follow"`, "observation.state", "1396293888.78", "clock capture_time (--clock: also frame_index, timestamp)"} {
		assert.Contains(t, stdout, want)
	}
}

// Errors and notes name flags, not options.
func TestConvertSpeaksOfFlags(t *testing.T) {
	dir := t.TempDir()
	in, more := filepath.Join(dir, "in.npz"), filepath.Join(dir, "more.npz")
	writeStreams(t, in, []int64{0, 1e8, 2e8, 3e8, 4e8}, []int64{0, 1e8, 2e8, 3e8, 4e8})
	code, _, stderr := execute("convert", in, "-o", filepath.Join(dir, "a"), "--to=lerobot", "--hz=10", "--name", "on=task")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "want another: --name FROM=TO gives it another")
	assert.NotContains(t, stderr, "WriteOptions")

	arrays := map[string]*tensor.Tensor{}
	for _, name := range []string{"back", "extra", "on"} {
		arrays[name+".times"] = tensor.Must(tensor.Of([]int64{0, 1e8, 2e8}, 3))
		arrays[name+".values"] = tensor.Must(tensor.New(tensor.F32, 3, 1))
	}
	require.NoError(t, os.Rename(writeNPZ(t, arrays), more))
	code, _, stderr = execute("convert", in, more, "-o", filepath.Join(dir, "b"), "--to=lerobot", "--hz=10")
	assert.Equal(t, exitInput, code)
	assert.NotContains(t, stderr, "usage:")
	assert.Contains(t, stderr, "--extra: got error, and episode 1, more, has extra, which the first, in, has not: want drop")
	stdout, _ := good(t, "convert", in, more, "-o", filepath.Join(dir, "b"), "--to=lerobot", "--hz=10", "--extra=drop")
	assert.Contains(t, stdout, "converted 2 episodes, 2 streams, 8 rows")
}

func TestTheSummaryCountsWhatWasWritten(t *testing.T) {
	r := &convert.Report{Streams: []convert.StreamAccount{{Kind: "stream", Rows: 5}, {Kind: "stream", Read: 7}, {Kind: "media", Rows: 5}, {Kind: "media"}, {Kind: "clouds", Rows: 2}}}
	assert.Equal(t, "2 streams, 1 camera", writtenOf(r))
}
