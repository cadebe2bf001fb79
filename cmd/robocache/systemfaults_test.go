//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/internal/test/s3test"
	"github.com/robocache/robocache/internal/test/thorough"
)

// faultyCall makes call number k of a command fail, and records it.
type faultyCall struct {
	k, calls atomic.Int64
	op, path atomic.Pointer[string]
	error    syscall.Errno
}

func (f *faultyCall) check(op, path string) error {
	if f.calls.Add(1)-1 != f.k.Load() {
		return nil
	}
	f.op.Store(&op)
	f.path.Store(&path)
	return f.error
}

// errorOf is the error that a call of an operation fails with: no free descriptor, a failing disk, or a full one.
func errorOf(k int64) []syscall.Errno {
	return [][]syscall.Errno{{syscall.EMFILE}, {syscall.EIO}, {syscall.EACCES}, {syscall.ENOSPC}}[k%4]
}

// Each call of the file system fails in turn, in every command.
func TestAnErrorOfTheSystemEndsEveryCommand(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	data := filepath.Join("..", "..", "dataset")
	folder := t.TempDir() // a folder of recordings
	streams, err := os.ReadFile(numpyStreams)
	require.NoError(t, err)
	for i := range 3 {
		require.NoError(t, os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.npz", i)), streams, 0o600))
	}
	s3test.Shared().PutFolder(t, "faults", "set", folder)
	g1 := filepath.Join("..", "..", "examples", "data", "g1")
	trained := filepath.Join(t.TempDir(), "policy")
	size := "small"
	if thorough.Long {
		size = "seed" // the same calls, and 50 times the arithmetic
	}
	short := shortPlan(t)
	code, _, stderr := execute("train", g1, short, "--size", size, "--steps=1", "--batch=2", "--hold-out=1", "--backend=cpu", "--out", trained)
	require.Equal(t, exitGood, code, stderr)
	grey := greyLog(t, 0)
	commands := []string{
		"inspect " + folder, "inspect " + g1, "inspect " + data + "/calvin/testdata/small", "inspect " + data + "/rlds/testdata/kinds",
		"inspect " + data + "/rosbag2/testdata/log.db3", "inspect ../../examples/data/turtles2", "inspect " + data + "/rosbag/testdata/small-lz4.bag",
		"inspect " + data + "/mcap/testdata/zstd.mcap", "inspect " + data + "/robomimic/testdata/demo.hdf5", "inspect " + data + "/aloha/testdata/jpeg.hdf5",
		"inspect " + data + "/ulog/testdata/sample_log_small.ulg", "inspect " + data + "/safetensors/testdata/streams.safetensors",
		"inspect s3://faults/set", "stats s3://faults/set", "pack s3://faults/set -o OUT/store.safetensors",
		"doctor " + folder, "doctor " + g1, "doctor " + data + "/aloha/testdata/jpeg.hdf5", "doctor " + data + "/calvin/testdata/small",
		"stats " + folder + " -o OUT/stats.json", "stats " + g1 + " -o OUT/stats.json",
		"pack " + folder + " -o OUT/store.safetensors", "pack " + g1 + " -o OUT/store.safetensors",
		"plan " + g1 + " -o OUT/plan.yaml", "resample testdata/ramp.npz -o OUT/o.npz --backend cpu", "fuse " + numpyStreams + " --hz 10 -o OUT/o.npz --backend cpu",
		"voxelize " + data + "/ply/testdata/lidar.ply --size 1 -o OUT/o.npz --backend cpu",
		"convert " + folder + " --to mcap -o OUT/o", "convert " + folder + " --to safetensors -o OUT/o", "convert " + g1 + " --to lerobot -o OUT/o",
		"batches " + folder + " --hz 10 --backend cpu --batch 2 --steps 2", "batches " + folder + " --hz 10 --backend cpu --batch 2 --steps 2 --state OUT/state.json --out OUT/shards",
		"batches " + folder + " --hz 10 --backend cpu --batch 2 --steps 2 --streaming --shard-windows 4 --mix-shards 1 --out OUT/shards",
		"train " + g1 + " " + short + " --size " + size + " --steps 1 --batch 2 --hold-out 1 --backend cpu --out OUT/policy",
		"policy " + trained + " " + g1 + " --backend cpu -o OUT/o.npz",
		"batches " + g1 + " --backend cpu --batch 2 --steps 2",
	}
	if _, err := exec.LookPath("ffmpeg"); err == nil {
		commands = append(commands, "batches "+grey+" --hz=10 --batch=2 --steps=2 --backend=cpu --stream=/vec --camera=/video=8x6 --out OUT/shards", "convert "+grey+" --to lerobot --codec h264 --hz 10 -o OUT/o")
	}
	for _, c := range commands {
		t.Run(strings.ReplaceAll(strings.NewReplacer(short+" ", "", trained, "policy", folder, "folder", grey, "grey", "../", "").Replace(c), "/", "_"), func(t *testing.T) {
			sweep(t, c)
		})
	}
}

// batchesIn returns the batches of a folder as text.
func batchesIn(t *testing.T, folder string) (list []string) {
	paths, err := filepath.Glob(filepath.Join(folder, "shards", "batch-*"))
	require.NoError(t, err)
	for _, path := range paths {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		list = append(list, string(b))
	}
	return list
}

func sweep(t *testing.T, command string) {
	points := 4
	if name, _, _ := strings.Cut(command, " "); name == "train" || name == "policy" || name == "batches" || strings.Contains(command, "--codec") { // which take long
		points = 2
	}
	out := ""
	run := func(f *faultyCall) (code int, batches []string, stderr string, left []string) {
		out = t.TempDir()
		defer fault.Inject(f.check)()
		code, _, stderr = execute(strings.Fields(strings.ReplaceAll(command, "OUT", out))...)
		return code, batchesIn(t, out), strings.ReplaceAll(stderr, out, "OUT"), listed(t, out)
	}
	var all faultyCall
	all.k.Store(-1)
	code, written, stderr, _ := run(&all)
	require.Equal(t, exitGood, code, stderr)
	n := all.calls.Load()
	step := max(1, n/int64(thorough.Of(points, 1<<20)))
	for k := int64(0); k < n; k += step {
		for _, errno := range errorOf(k / step) {
			f := faultyCall{error: errno}
			f.k.Store(k)
			code, batches, stderr, left := run(&f)
			if code == exitGood && (strings.Contains(command, "--streaming") || strings.Contains(command, "--camera")) { // the call was one ahead
				require.NotEmpty(t, written)
				assert.True(t, slices.Equal(written, batches), "call %d/%d: the batches are others", k, n)
				continue
			}
			if f.op.Load() == nil {
				continue // fewer calls than before
			}
			if *f.op.Load() == "lock" && errno == syscall.EACCES {
				continue // as on a disk that cannot lock
			}
			name := filepath.Base(strings.Replace(*f.path.Load(), out, "OUT", 1))
			if strings.HasPrefix(name, "encoding-") { // a video is copied from it, and the error may name the video
				name = "OUT/"
			}
			what := fmt.Sprintf("call %d/%d: %s %s: %v", k, n, *f.op.Load(), *f.path.Load(), errno)
			assert.Equal(t, exitOther, code, "%s: %s", what, stderr)
			assert.Contains(t, stderr, errno.Error(), what)
			assert.Contains(t, stderr, name, what)
			if strings.HasPrefix(command, "batches ") { // batches are whole one by one
				assert.True(t, slices.Equal(batches, written[:min(len(batches), len(written))]), "%s: the batches are others", what)
				continue
			}
			if into := *f.path.Load(); !slices.Contains(left, ".o.convert.journal") && !strings.Contains(into, ".o.convert.journal") && !strings.HasSuffix(into, "store.safetensors") && filepath.Base(into) != "loss.png" {
				// Neither a conversion that the next one goes on with, nor an output that is whole and could not be looked at.
				assert.Empty(t, left, what)
			}
		}
	}
}
