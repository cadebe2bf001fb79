package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFlagsOfLeRobotThatCannotBe(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--to=npz", "--state=a"}, "--state is of LeRobot datasets, got --to npz, want --to lerobot"},
		{[]string{"--to=lerobot", "--name=a"}, `--name: got "a", want FROM=TO`},
		{[]string{"--to=lerobot", "--name=a=b", "--name=a=c"}, "--name: got a twice"},
		{[]string{"--to=lerobot", "--cameras=film"}, `--cameras: got "film", want auto, video, image`},
		{[]string{"--to=lerobot", "--codec=theora"}, `--codec: got "theora", want av1, h264, hevc`},
		{[]string{"--to=lerobot", "--state=a,b", "--action=b"}, "--action: got b, which is in State"},
		{[]string{"--to=lerobot"}, "want --hz F or --plan FILE"},
	} {
		code, _, stderr := cli(append([]string{"convert", flight, "-o", out}, c.args...)...)
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
	for _, want := range []string{"lerobot v3.0", `tasks: "follow"`, "observation.state", "1396293888.78", "clock capture_time of frame_index, timestamp, capture_time"} {
		assert.Contains(t, stdout, want)
	}
}
