package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// --episodes and --leave-out select alike in each command that reads a dataset.
func TestEpisodesAreSelectedInEachCommand(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir, g1 := t.TempDir(), "../../examples/data/g1"
	store := filepath.Join(dir, "all.safetensors")
	good(t, "pack", g1, "-o", store)
	for _, in := range []string{g1, store} {
		for _, c := range []struct {
			args []string
			want string
		}{
			{[]string{"stats", in, "--episodes=0-1"}, "2 episodes of 2"},
			{[]string{"stats", in, "--leave-out=1"}, "2 episodes of 2"},
			{[]string{"pack", in, "--episodes=0,2", "-o", filepath.Join(dir, "some.safetensors")}, "packed 2 episodes"},
			{[]string{"convert", in, "--leave-out=0", "--to=npz", "-o", filepath.Join(dir, "out-"+strings.TrimSuffix(filepath.Base(in), ".safetensors"))}, "converted 2 episodes"},
			{[]string{"batches", in, "--episodes=0-2", "--leave-out=0,2", "--steps=1", "--backend=cpu"}, " in 1 episode, "},
			{[]string{"train", in, "--episodes=0-1", "--steps=1", "--batch=2", "--backend=cpu"}, "windows of 2 episodes"},
			{[]string{"train", in, "--leave-out=0-1", "--steps=1", "--batch=2", "--backend=cpu"}, "windows of 1 episode"},
			{[]string{"plan", in, "--episodes=1", "--json"}, `"episodes": 1,`},
		} {
			stdout, _ := good(t, c.args...)
			assert.Contains(t, stdout, c.want, c.args)
			for flag, bad := range map[string]string{"--episodes": "1-7", "--leave-out": "7"} {
				var args []string
				for _, arg := range c.args {
					if !strings.HasPrefix(arg, "--episodes") && !strings.HasPrefix(arg, "--leave-out") {
						args = append(args, arg)
					}
				}
				code, stdout, stderr := execute(append(args, flag, bad)...)
				assert.Equal(t, exitUsage, code, args)
				assert.Contains(t, stdout+stderr, flag+": got 7, want numbers for the dataset's 3 episodes, 0 to 2", args)
			}
		}
	}
	for _, args := range [][]string{{"convert", g1, store, "--to=npz", "-o", filepath.Join(dir, "two")}, {"batches", g1, store, "--backend=cpu"}} {
		for _, flag := range []string{"--episodes", "--leave-out"} {
			code, _, stderr := execute(append(args, flag+"=0")...)
			assert.Equal(t, exitUsage, code)
			assert.Contains(t, stderr, flag+": got a selection for 2 ")
		}
	}
	for _, command := range []string{"stats", "plan", "batches", "train"} {
		for flag, want := range map[string]string{"--rate": "none", "--clock": "frame_index"} {
			code, _, stderr := execute(command, store, flag, "7")
			assert.Equal(t, exitUsage, code, command)
			assert.Contains(t, stderr, flag+": got 7, want "+want+": "+store+" is a store, which has its times", command)
		}
	}
	code, _, stderr := execute("stats", g1, "--episodes=first")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, `--episodes: got "first", want the numbers of episodes`)
}

// A conversion, a store in shards and batches of selected recordings have the bytes of a folder with these alone.
func TestSelectedEpisodesAreWrittenAsTheseAlone(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	good(t, "convert", "../../examples/data/g1", "--to=npz", "-o", at("all"))
	good(t, "pack", at("all"), "-o", at("all.safetensors"))
	filetest.Write(t, at("plan.yaml"), []byte("version: 1\nrate: 30\ndefaults: {normalise: mean-std}\nshuffle: shards\n"))
	name := func(n int) string { return fmt.Sprintf("episode-%06d.npz", n) }
	drawn := func(args ...string) string {
		stdout, _ := good(t, append(args, "--plan="+at("plan.yaml"), "--batch=16", "--steps=4", "--backend=cpu", "--digest")...)
		lines := strings.Split(stdout, "\n")
		require.Greater(t, len(lines), 4)
		return strings.Join(lines[:4], "\n")
	}
	for flag, numbers := range map[string][]int{"--episodes=2": {2}, "--leave-out=1": {0, 2}} {
		some := at("some" + flag)
		require.NoError(t, os.Mkdir(some, 0o700))
		for _, n := range numbers {
			filetest.Write(t, filepath.Join(some, name(n)), filetest.Read(t, filepath.Join(at("all"), name(n))))
		}
		for _, to := range []string{"npz", "lerobot"} {
			want, got := at(to+flag), at(to+"-selected"+flag)
			good(t, "convert", some, "--to="+to, "-o", want)
			good(t, "convert", at("all"), flag, "--to="+to, "-o", got)
			files := 0
			require.NoError(t, fs.WalkDir(os.DirFS(want), ".", func(path string, entry fs.DirEntry, err error) error {
				if err == nil && !entry.IsDir() && path != "convert.json" { // which names the input
					files++
					assert.Equal(t, filetest.Read(t, filepath.Join(want, path)), filetest.Read(t, filepath.Join(got, path)), path)
				}
				return err
			}))
			assert.GreaterOrEqual(t, files, len(numbers))
		}
		want := drawn("batches", some)
		assert.Equal(t, want, drawn("batches", at("all"), flag), flag)
		assert.Equal(t, want, drawn("batches", at("all.safetensors"), flag), flag)
		good(t, "pack", at("all.safetensors"), "--shards=2", flag, "-o", at("shards"+flag))
		assert.Equal(t, want, drawn("batches", at("shards"+flag)), flag)
		assert.Equal(t, drawn("batches", some, "--streaming"), drawn("batches", at("all"), flag, "--streaming"), flag)
	}
	code, _, stderr := execute("stats", filepath.Join(at("all"), name(0)), "--episodes=1")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "--episodes: got 1, want numbers for the dataset's 1 episodes, 0 to 0", "an archive")
	filetest.Write(t, filepath.Join(at("all"), name(1)), "cut")
	_, stderr = good(t, "train", at("all"), "--hz=30", "--episodes=0", "--steps=1", "--batch=2", "--backend=cpu")
	assert.NotContains(t, stderr, "skipped", "others are not read")
}

// A shard of a store, a conversion and a state of statistics are resumed with the same episodes alone.
func TestASelectionIsPartOfAnOutput(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir, g1 := t.TempDir(), "../../examples/data/g1"
	for _, args := range [][]string{
		{"pack", g1, "--shards=2", "-o", filepath.Join(dir, "store")},
		{"convert", g1, "--to=npz", "-o", filepath.Join(dir, "out")},
	} {
		good(t, append(args, "--episodes=0-1")...)
		good(t, append(args, "--leave-out=2")...)
		code, _, stderr := execute(append(args, "--episodes=1-2")...)
		assert.Equal(t, exitUsage, code)
		assert.Regexp(t, "episodes (1-2, where .* has 0-1|0-1, where 1-2 is asked for), want", stderr)
		code, _, stderr = execute(args...)
		assert.Equal(t, exitUsage, code)
		assert.Regexp(t, "episodes (all, where .* has 0-1|0-1, where all is asked for)[,;]", stderr)
	}
	state := filepath.Join(dir, "state")
	good(t, "stats", g1, "--episodes=0-1", "--shard=0/2", "-o", state)
	good(t, "stats", g1, "--episodes=1-2", "--shard=1/2", "-o", state+"2")
	code, _, _ := execute("stats", "--merge", state, state+"2", "-o", state+"3")
	assert.Equal(t, exitInput, code)
}

func TestARecordingIsFoundByItsIDOnTheHub(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HF_HUB_CACHE", "HF_LEROBOT_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HF_HOME", home)
	snapshot := filepath.Join(home, "hub", "datasets--unitree--walk", "snapshots", "0123")
	require.NoError(t, os.CopyFS(snapshot, os.DirFS("../../examples/data/g1")))
	for _, args := range [][]string{{"inspect"}, {"doctor"}, {"plan"}, {"stats"}, {"pack", "-o", filepath.Join(home, "s.safetensors")}} {
		good(t, append(args, "unitree/walk")...)
	}
	stdout, _ := good(t, "inspect", "unitree/walk")
	assert.True(t, strings.HasPrefix(stdout, "walk, lerobot "), stdout)
	good(t, "batches", filepath.Join(home, "s.safetensors"), "--check-fresh=unitree/walk", "--steps=1", "--backend=cpu")
	code, _, stderr := execute("inspect", "unitree/run")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "hf download unitree/run --repo-type dataset")
	_, _, stderr = execute("inspect", "nowhere/log.mcap")
	assert.NotContains(t, stderr, "hf download", "a file")
}

func TestMessagesNameTheNearestAndHaveNoGoValues(t *testing.T) {
	for want, args := range map[string][]string{
		"unknown flag: --epsode (did you mean --episode?)": {"inspect", "--epsode", "3", "x"},
		"no command \"inspct\", want inspect":              {"inspct", "x"},
		`got 2: "a", "b"`:                                  {"stats", "a", "b"},
		"--backend nothing: no such backend":               {"batches", "../../examples/data/g1", "--backend=nothing"},
	} {
		code, _, stderr := execute(args...)
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, stderr, want)
	}
}
