package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// set is a dataset where each step is fused on its own clock, so that the output equals the recording.
type set struct {
	path     string
	rate     float64 // of its steps
	args     []string
	streams  []string
	episodes int
	steps    int // of all episodes
}

var sets = []set{
	{path: "../../dataset/rlds/testdata/kinds", rate: 10, args: []string{"--rate=10"}, streams: []string{"action", "observation/joint_f64", "reward"}, episodes: 4, steps: 21},
	{path: "../../dataset/robomimic/testdata/kinds.hdf5", rate: 20, streams: []string{"actions", "rewards"}, episodes: 3, steps: 15},
	{path: "../../dataset/calvin/testdata/small", rate: 30, streams: []string{"actions", "robot_obs", "scene_obs"}, episodes: 3, steps: 13},
	{path: "../../../shared/data/calvin_layout", rate: 30, streams: []string{"actions", "rel_actions", "robot_obs", "scene_obs"}, episodes: 2, steps: 18},
	{path: "../../examples/data/g1", rate: 30, streams: []string{"observation.state", "action"}, episodes: 3, steps: 1121},
	{path: "../../dataset/aloha/testdata/raw.hdf5", rate: 50, args: []string{"--rate=50"}, streams: []string{"action", "observations/qpos"}, episodes: 1, steps: 6},
	{path: "../../../shared/data/lerobot_v3_g1", rate: 30, streams: []string{"observation.state", "action"}, episodes: 8, steps: 3313},
	{path: "../../../shared/data/lerobot_v21_g1", rate: 30, streams: []string{"observation.state", "action"}, episodes: 8, steps: 3313},
	{path: "../../../shared/data/robosuite_hdf5", rate: 20, args: []string{"--rate=20"}, streams: []string{"actions", "states", "joint_torques"}, episodes: 1, steps: 174},
	{path: "../../../shared/data/bridge_rlds", rate: 5, streams: []string{"action", "observation/state", "reward", "is_last"}, episodes: 25, steps: 250},
	{path: "../../../shared/data/robomimic_bridge/lowdim_v18.hdf5", rate: 5, args: []string{"--rate=5"}, streams: []string{"actions", "obs/state", "rewards", "dones"}, episodes: 25, steps: 250},
}

func TestEveryStepOfADatasetIsFused(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	for _, s := range sets {
		t.Run(filepath.Base(s.path), func(t *testing.T) {
			if _, err := os.Stat(s.path); err != nil {
				t.Skip("the shared recordings are not here: ", s.path)
			}
			t.Run("cpu", func(t *testing.T) { s.fuse(t, "cpu") })
			t.Run("cuda", func(t *testing.T) {
				needGPU(t)
				s.fuse(t, "cuda")
			})
		})
	}
}

func (s *set) fuse(t *testing.T, backend string) {
	d, err := dataset.Open(context.Background(), s.path, dataset.Options{Rate: s.rate})
	require.NoError(t, err)
	defer d.Close()
	episodes, steps := 0, 0
	for e, err := range dataset.Episodes(context.Background(), d) {
		require.NoError(t, err)
		if e.Frames == 0 {
			continue // an episode without a step has nothing to fuse
		}
		out := filepath.Join(t.TempDir(), "o.npz")
		args := append([]string{"fuse", s.path, "-o", out, "--backend", backend, "--json", "--method=previous", fmt.Sprint("--hz=", s.rate), fmt.Sprint("--episode=", indexOf(t, d, e))}, s.args...)
		for _, name := range s.streams {
			args = append(args, "--stream", name)
		}
		stdout, _ := good(t, args...)
		assert.Zero(t, unmarshal(t, stdout)["dropped"], e.Name)
		f := open(t, out)
		assert.Equal(t, []int{e.Frames, len(s.streams)}, shape(t, f, "valid"), e.Name)
		for _, v := range array[uint8](t, f, "valid") {
			require.Equal(t, uint8(1), v, e.Name)
		}
		fused, err := f.Tensor("values")
		require.NoError(t, err)
		got, err := tensor.Floats(fused)
		require.NoError(t, err)
		column := 0
		for _, name := range s.streams {
			recorded := e.Stream(name)
			require.NotNil(t, recorded, name)
			want, err := tensor.Floats(recorded.Values)
			require.NoError(t, err)
			width := recorded.Values.Dim(1)
			for i, v := range want {
				require.Equal(t, v, got[i/width*fused.Dim(1)+column+i%width], "%s, %s, step %d", e.Name, name, i/width)
			}
			column += width
		}
		assert.Equal(t, column, fused.Dim(1))
		episodes++
		steps += e.Frames
	}
	assert.Equal(t, [2]int{s.episodes, s.steps}, [2]int{episodes, steps})
}

// indexOf returns an episode's number, by its name.
func indexOf(t *testing.T, d dataset.Dataset, e *dataset.Episode) int {
	t.Helper()
	for i := range d.Len() {
		other, err := d.Episode(context.Background(), i)
		require.NoError(t, err)
		if other.Name == e.Name {
			return i
		}
	}
	t.Fatal("no episode ", e.Name)
	return -1
}

// inspect reports the union of a dataset's episodes. An unreadable episode only affects itself.
func TestInspectSumsEpisodes(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	const kinds = "../../dataset/rlds/testdata/kinds"
	stdout, _ := good(t, "inspect", kinds, "--rate=10")
	assert.Regexp(t, `^kinds, rlds[^:]*: 5 episodes, \d+ streams, 21 frames \(0 to 7 an episode\), 10 Hz \(from caller\)\nsplits: train 5\ntasks: "do 0", "do 2", "do 3", "do 4"\n`, stdout)
	assert.Regexp(t, `action +21 `, stdout)
	stdout, _ = good(t, "inspect", kinds, "--json", "--rate=10")
	got := unmarshal(t, stdout)
	assert.EqualValues(t, 5, got["episodes"])
	assert.EqualValues(t, 21, got["frames"])
	assert.Len(t, got["tasks"], 4)
	assert.Equal(t, []any{map[string]any{"name": "train", "episodes": 5.0}}, got["splits"])

	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(kinds)))
	shard := filepath.Join(dir, "kinds-train.tfrecord-00000-of-00002")
	b, err := os.ReadFile(shard)
	require.NoError(t, err)
	b[100] ^= 1
	require.NoError(t, os.WriteFile(shard, b, 0o600))
	stdout, _ = good(t, "inspect", dir, "--json", "--rate=10")
	got = unmarshal(t, stdout)
	assert.EqualValues(t, 5, got["episodes"])
	problems := got["problems"].([]any)
	require.Len(t, problems, 1)
	assert.Equal(t, "episode 0", problems[0].(map[string]any)["where"])
	assert.Contains(t, problems[0].(map[string]any)["what"], "checksum")
	first := problems[0].(map[string]any)
	assert.Equal(t, []any{"episode-unread", "0", 1.0, 0.0, first["what"]}, []any{first["code"], first["subject"], first["count"], first["row"], first["text"]})
	assert.EqualValues(t, 16, got["frames"])
	code, _, stderr := execute("inspect", dir, "--strict", "--rate=10")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "checksum")
	code, _, _ = execute("inspect", dir, "--episode=0")
	assert.Equal(t, exitInput, code, "the one that was asked for")
	stdout, _ = good(t, "inspect", dir, "--episode=1", "--json")
	assert.EqualValues(t, 1, unmarshal(t, stdout)["episode"].(map[string]any)["number"])
}

func TestInspectDrawsAnEpisode(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	out := filepath.Join(t.TempDir(), "o.png")
	stdout, _ := good(t, "inspect", flight, "--plot", out)
	assert.True(t, strings.HasSuffix(stdout, "drew "+out+"\n"))
	assert.FileExists(t, out)
	const kinds = "../../dataset/rlds/testdata/kinds"
	for want, args := range map[string][]string{
		"ends in .png": {flight, "--plot=o.jpg"}, "want --episode 0 to 4": {kinds, "--plot", out}, "--episode: got 5": {kinds, "--episode=5"}, "want the number of an episode": {kinds, "--episode=-1"},
		"--clock: got log": {flight, "--clock=log"}, "is the input": {flight, "--plot", flight}, "--clock is for": {"testdata/ramp.npz", "--clock=x"},
	} {
		code, _, stderr := execute(append([]string{"inspect"}, args...)...)
		assert.Equal(t, exitUsage, code, want)
		if want != "is the input" { // its name does not end in .png
			assert.Contains(t, stderr, want)
		}
	}
	good(t, "inspect", kinds, "--episode=0", "--plot", out)
}

// Cameras are left out with a remark.
func TestMediaAreNamedWhereTheyAreLeftOut(t *testing.T) {
	const kinds = "../../dataset/rlds/testdata/kinds"
	out := filepath.Join(t.TempDir(), "o.npz")
	_, stderr := good(t, "resample", kinds, "--rate=10", "--episode=0", "--hz=10", "-o", out, "--backend=cpu")
	assert.Contains(t, stderr, "which have no numbers to put on a clock: observation/depth16")
	code, _, stderr := execute("fuse", kinds, "--rate=10", "--episode=0", "--hz=10", "-o", out, "--backend=cpu", "--stream=observation/depth16")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "observation/depth16 (5 png frames, which have no numbers to put on a clock)")
	code, _, stderr = execute("fuse", kinds, "--episode=train_0", "--hz=10", "-o", out)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "want the number of an episode, counted from 0")
}
