//go:build unix

package main

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// writer is a command whose outputs lie in one folder.
type writer struct {
	name string
	args func(root string) []string
	// stays reports whether a path below the folder may be there after a signal: by it the same command goes on. Nil for none.
	stays func(path string) bool
	// goesOn is set if the command ends with code 0 after a signal, before the output is whole.
	goesOn bool
}

// writers are all commands that write files.
func writers(t *testing.T) []writer {
	t.Helper()
	values := tensor.Must(tensor.New(tensor.F32, 10_000, 4))
	times := make([]int64, 10_000)
	for i := range times {
		times[i] = int64(i) * 1e6
	}
	clock := tensor.Must(tensor.Of(times, len(times)))
	batch := writeNPZ(t, map[string]*tensor.Tensor{"values": values, "times": clock})
	streams := writeNPZ(t, map[string]*tensor.Tensor{"a.values": values, "a.times": clock})
	points := writeNPZ(t, map[string]*tensor.Tensor{"points": tensor.Must(tensor.New(tensor.F32, 20_000, 3))})
	store := filepath.Join(t.TempDir(), "kinds.safetensors")
	good(t, "pack", kindsRLDS, "-o", store, "--rate=10")
	file := func(name string, args ...string) func(string) []string {
		return func(root string) []string { return append(slices.Clip(args), filepath.Join(root, name)) }
	}
	list := []writer{
		{name: "resample", args: func(root string) []string {
			return []string{"resample", batch, "--hz=5000", "--backend=cpu", "-o", filepath.Join(root, "o.npz"), "--plot", filepath.Join(root, "o.png")}
		}},
		{name: "fuse", args: file("o.safetensors", "fuse", streams, "--hz=5000", "--backend=cpu", "-o")},
		{name: "voxelize", args: file("o.npz", "voxelize", points, "--size=.04", "--min=0,0,0", "--max=4,4,4", "--backend=cpu", "-o")},
		{name: "plan", args: file("plan.yaml", "plan", kindsRLDS, "--rate=10", "-o")},
		{name: "doctor", args: file("page.html", "doctor", flight, "--html")},
		{name: "inspect", args: file("clocks.png", "inspect", kindsRLDS, "--rate=10", "--episode=0", "--plot")},
		{name: "stats", args: file("stats.json", "stats", kindsRLDS, "--rate=10", "-o")},
		{name: "pack", args: file("o.safetensors", "pack", kindsRLDS, "--rate=10", "-o")},
		{
			name: "pack shards", args: file("deep/er", "pack", kindsRLDS, "--rate=10", "--shards=2", "-o"),
			stays: func(path string) bool { return strings.HasSuffix(path, ".safetensors") },
		},
		{
			name: "batches", goesOn: true,
			args: func(root string) []string {
				return []string{
					"batches", store, "--hz=200", "--seed=7", "--backend=cpu", "--stream=action", "--stream=reward", "--batch=43",
					"--out", filepath.Join(root, "out"), "--state", filepath.Join(root, "state.json"),
				}
			},
			stays: func(path string) bool {
				return path == "/state.json" || strings.HasPrefix(path, "/out/") && strings.HasSuffix(path, ".safetensors")
			},
		},
		{
			name: "train", goesOn: true, args: file("deep/policy", "train", g1, shortPlan(t), "--steps=1", "--batch=1", "--backend=cpu", "--resume", "--out"),
			stays: func(path string) bool { return strings.HasPrefix(path, "/deep/policy/") },
		},
	}
	for _, target := range []string{"lerobot", "mcap", "npz", "safetensors", "webdataset", "zarr"} {
		args := []string{"convert", kindsRLDS, "--to", target, "--rate=10", "--media=none", "--hz=20", "-o"}
		list = append(list, writer{
			name: "convert " + target, args: file("deep/er/"+target, args...),
			stays: func(path string) bool {
				return path == "/deep/er/."+target+".convert.journal" || strings.HasPrefix(path, "/deep/er/"+target+"/")
			},
		})
	}
	return list
}

// paths lists all that lies below a folder, with folders that are empty, but without other folders.
func paths(t *testing.T, dir string) []string {
	t.Helper()
	list := []string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		if d.IsDir() {
			below, err := os.ReadDir(path)
			if err != nil || len(below) > 0 {
				return err
			}
		}
		list = append(list, strings.TrimPrefix(path, dir))
		return nil
	}))
	return list
}

// A signal at any moment ends each command as in docs/command-line.md, with nothing beside the outputs. After a SIGKILL at any moment the same command
// succeeds, and nothing is left of the killed one, in the folder of temporary files either. Each command that resumes is killed twice while it
// writes, and the others and a conversion to another format than LeRobot once, or all of them 200 times at any moment with ROBOCACHE_LONG=1.
func TestEveryOutputIsWholeOrAbsentAfterAKill(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	for number, c := range writers(t) {
		t.Run(c.name, func(t *testing.T) {
			once := c.stays == nil || strings.HasPrefix(c.name, "convert ") && c.name != "convert lerobot"
			run := func(root, temp string) (*exec.Cmd, *bytes.Buffer) {
				cmd, _ := program(t, c.args(root)...)
				cmd.Env = append(cmd.Env, "TMPDIR="+temp)
				var said bytes.Buffer
				cmd.Stdout, cmd.Stderr = &said, &said
				return cmd, &said
			}
			dir, temp := t.TempDir(), t.TempDir()
			want := filepath.Join(dir, "want")
			require.NoError(t, os.Mkdir(want, 0o700))
			t.Setenv("TMPDIR", temp)
			begin := time.Now()
			good(t, c.args(want)...)
			took := time.Since(begin)
			all := paths(t, want)
			require.NotEmpty(t, all)
			random := rand.New(rand.NewPCG(3, 5))
			cut := map[syscall.Signal]int{}
			for i := range thorough.Of(2, 200) { // by default while it writes
				if !thorough.Long && once && i%2 != number%2 {
					continue
				}
				sig := []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL}[i%2]
				root := filepath.Join(dir, "killed")
				require.NoError(t, os.RemoveAll(root))
				require.NoError(t, os.Mkdir(root, 0o700))
				cmd, said := run(root, temp)
				require.NoError(t, cmd.Start())
				ended := make(chan struct{})
				go func() { _ = cmd.Wait(); close(ended) }()
				if i%4 < 2 {
					whenWriting(root, false, ended)
					time.Sleep(time.Duration(random.Int64N(int64(took)/4 + 1)))
				} else {
					time.Sleep(time.Duration(random.Int64N(int64(took) + 1)))
				}
				_ = cmd.Process.Signal(sig) // it may have ended
				<-ended
				status := cmd.ProcessState.Sys().(syscall.WaitStatus)
				if status.Signaled() {
					cut[sig]++
					assert.Equal(t, sig, status.Signal())
				} else {
					assert.Equal(t, 0, status.ExitStatus(), said.String())
				}
				if sig == syscall.SIGTERM {
					c.checkRest(t, paths(t, root), all, status.Signaled())
					assert.Empty(t, listed(t, temp))
				}
				good(t, c.args(root)...)
				assert.Equal(t, all, paths(t, root), "after %v and another run", sig)
				assert.Empty(t, listed(t, temp))
			}
			t.Logf("it took %v, and %v ended it in its midst", took, cut)
		})
	}
}

// checkRest fails the test if the paths that are left after a signal are neither the whole output nor documented.
func (c *writer) checkRest(t *testing.T, left, all []string, ended bool) {
	t.Helper()
	if slices.Equal(left, all) {
		return
	}
	if len(left) > 0 && c.stays == nil || !ended && !c.goesOn {
		assert.Empty(t, left)
	}
	for _, path := range left {
		if c.stays != nil && c.stays(path) && !strings.HasSuffix(path, ".tmp") && !strings.HasSuffix(path, ".lock") {
			continue
		}
		assert.Fail(t, "a file or an empty folder stays", "%s of %v", path, left)
	}
}
