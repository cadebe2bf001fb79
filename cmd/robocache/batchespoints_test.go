package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// pointsPlan writes a plan with points of wallFolder's images, with more keys of the points and of the stream.
func pointsPlan(t *testing.T, keys, more string) string {
	plan := filepath.Join(t.TempDir(), "points.yaml")
	text := "version: 1\nrate: 10\nshuffle: none\nstreams:\n  - name: pose\n  - name: points\n    from: depth\n    points: {" + keys + "}\n" + more + "windows:\n  points: [-200ms, 0s]\n"
	require.NoError(t, os.WriteFile(plan, []byte(text), 0o600))
	return plan
}

const wallPoints = "k: 6, far: 3, intrinsics: [30, 30, 19.5, 14.5], min: [0, -0.04, 1], max: [0.15, 0.04, 3]"

// farOnWall returns the points of wallPoints that a camera at (x, 0, 0) sees, far apart, by a loop over its definition.
func farOnWall(x float32) (chosen []float32) {
	var seen [][3]float32
	for v := range 30 {
		for u := range 40 {
			p := [3]float32{(float32(u)-19.5)*2/30 + x, (float32(v) - 14.5) * 2 / 30, 2}
			if p[0] >= 0 && p[0] <= 0.15 && p[1] >= -0.04 && p[1] <= 0.04 {
				seen = append(seen, p)
			}
		}
	}
	distances := make([]float32, len(seen))
	for i := range distances {
		distances[i] = math.MaxFloat32
	}
	for range 6 {
		far := 0
		for i, d := range distances {
			if d > distances[far] {
				far = i
			}
		}
		chosen = append(chosen, seen[far][:]...)
		for i, p := range seen {
			dx, dy := p[0]-seen[far][0], p[1]-seen[far][1]
			distances[i] = min(distances[i], dx*dx+dy*dy)
		}
	}
	return chosen
}

func TestBatchesHavePointsFromDepthImages(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir, out := wallFolder(t), t.TempDir()
	plan := pointsPlan(t, wallPoints, "    method: nearest\n")
	stdout, _ := good(t, "batches", dir, "--plan", plan, "--batch=5", "--backend=cpu", "--json", "--out", out)
	for _, text := range []string{"1 of 6 depth images have no pose", "1 of 6 depth images cannot be read", "2 of 6 depth images have fewer than 6 points"} {
		assert.Contains(t, stdout, text)
	}
	values, err := batchIn(t, out).Tensor("points.values")
	require.NoError(t, err)
	require.Equal(t, []int{5, 2, 6, 3}, values.Shape())
	list, err := tensor.Data[float32](values)
	require.NoError(t, err)
	for tick, x := range map[int]float32{0: 0.1, 1: 0.2, 3: 0.4, 4: 0.5} { // at 1.1 s, 1.2 s, and so on; the image at 1.3 s is broken
		now := list[(2*tick+1)*18:][:18]
		assert.InDeltaSlice(t, farOnWall(x), now, 1e-6, "tick %d", tick)
		if tick < 4 && tick != 1 {
			assert.Equal(t, now, list[(2*tick+2)*18:][:18], "the next window begins 100 ms earlier")
		}
	}
	args := []string{"batches", dir, "--batch=2", "--camera=rgb=20x15", "--digest", "--plan"}
	want, _ := good(t, append(args, plan, "--backend=cpu")...)
	for _, flags := range [][]string{{"--backend=sim"}, {"--backend=cpu", "--streaming"}} {
		got, _ := good(t, append(append(args, plan), flags...)...)
		assert.Equal(t, want, got, flags)
	}
	want, _ = good(t, append(args, pointsPlan(t, wallPoints, "    method: previous\n"), "--backend=cpu")...)
	got, _ := good(t, append(args, pointsPlan(t, wallPoints, "defaults: {method: linear}\n"), "--backend=cpu")...)
	assert.Equal(t, want, got, "the default is for numbers, which are linear anyway")
	good(t, append(args, pointsPlan(t, wallPoints, "defaults: {normalise: mean-std}\n"), "--backend=cpu")...)
}

// gridOf returns PerAct's grid of points, by its rule in float32: 102 cells along each axis without the first and the last.
func gridOf(points []float32, lo, hi [3]float32) []uint8 {
	grid := make([]uint8, 100*100*100)
	for ; len(points) > 0; points = points[3:] {
		cell, inside := 0, true
		for i := range 3 {
			size := (hi[i] - lo[i]) / 100
			at := int(math.Floor(float64((points[i] - (lo[i] - size)) / (size + 1e-12))))
			cell, inside = 100*cell+at-1, inside && at >= 1 && at <= 100
		}
		if inside {
			grid[cell] = 1
		}
	}
	return grid
}

func TestBatchesHaveTheGridOfPoints(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir, out, samples, state := wallFolder(t), t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "state.json")
	keys := strings.Replace(wallPoints, "0.15, 0.04, 3]", "0.2, 0.0333333333, 3], grid: peract", 1)
	plan := pointsPlan(t, keys, "") // both streams have the same window and dtype
	text, err := os.ReadFile(plan)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(plan, []byte(string(text)+"  pose: [-200ms, 0s]\n"), 0o600))
	run := []string{"batches", dir, "--plan", plan, "--batch=2", "--steps=1", "--backend=cpu", "--out", out, "--state", state}
	stdout, _ := good(t, append(run, "--json")...)
	assert.Contains(t, stdout, "of 24 points are in no cell of the grid")
	read := func(name string) *tensor.Tensor {
		x, err := batchIn(t, out).Tensor(name)
		require.NoError(t, err)
		return x
	}
	require.Equal(t, []int{2, 2, 100, 100, 100}, read("points.grid").Shape())
	values, err := tensor.Data[float32](read("points.values"))
	require.NoError(t, err)
	grid, err := tensor.Data[uint8](read("points.grid"))
	require.NoError(t, err)
	for row := range 4 {
		want := gridOf(values[18*row:][:18], [3]float32{0, -0.04, 1}, [3]float32{0.2, 0.0333333333, 3})
		assert.True(t, bytes.Equal(want, grid[1000000*row:][:1000000]), row)
		n := bytes.Count(want, []byte{1})
		assert.True(t, n > 0 && n <= 6, n)
	}
	assert.Equal(t, []int{2, 2, 7}, read("pose.values").Shape())
	good(t, run...) // goes on in the same folder

	args := []string{"batches", dir, "--batch=2", "--digest", "--plan", plan}
	want, _ := good(t, append(args, "--backend=cpu")...)
	for _, flags := range [][]string{{"--backend=sim"}, {"--backend=cpu", "--streaming"}} {
		got, _ := good(t, append(args, flags...)...)
		assert.Equal(t, want, got, flags)
	}
	good(t, "batches", dir, "--plan", plan, "--batch=2", "--steps=1", "--backend=cpu", "--format=webdataset", "--out", samples)
	tar, err := os.ReadFile(filepath.Join(samples, "shard-000000.tar"))
	require.NoError(t, err)
	assert.Contains(t, string(tar), "0000-000000000.points.grid.npy")

	code, _, stderr := execute(append(args, "--backend=cpu", "--dtype=f16")...)
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "streams[1].points.grid: got peract of f16, want points in f32")
	train := pointsPlan(t, keys, "  - name: action\n    from: pose\n")
	code, _, stderr = execute("train", dir, "--plan", train, "--batch=2", "--backend=cpu", "--steps=1")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "streams[1].points.grid: got peract, want none: a policy takes numbers")
}

func TestBatchesRefusePointsThatCannotBe(t *testing.T) {
	dir := wallFolder(t)
	for want, c := range map[string][2]string{
		"line 8, column 17: streams[1].points.k: got 0":              {"k: 0", ""},
		"streams[1].points.k: got 1.5, want a whole number":          {"k: 1.5", ""},
		"streams[1].points.max: got [1 0 1]":                         {"k: 1, max: [1, 0, 1]", ""},
		"streams[1].points.min: got 2 numbers, want 3":               {"k: 1, min: [1, 0]", ""},
		"streams[1].points.far: got 1":                               {"k: 1, near: 2, far: 1", ""},
		"streams[1].points: got \"size\"":                            {"k: 1, size: 2", ""},
		"streams[1].points.max: got [0 0 0], want finite and above":  {"k: 1, grid: peract", ""},
		"streams[1].points.grid: got \"cube\", want peract":          {wallPoints + ", grid: cube", ""},
		"streams[1].points.pose: got [1 0 0 0 0 1 0 0 0 0 1 0 1 2 3": {"k: 1, pose: [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 2, 3, 1]", ""},
		"4 of 6 depth images have no point in the box":               {"k: 1, intrinsics: [1, 1, 0, 0], min: [9, 9, 9], max: [10, 10, 10]", ""},
		"streams[1].points.intrinsics: got none in the recording":    {"k: 1", ""},
		"streams[1].points.pose: got a pose":                         {"k: 1, intrinsics: [1, 1, 0, 0], pose: [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]", ""},
		"streams[1].method: got \"linear\", want previous, nearest":  {wallPoints, "    method: linear\n"},
		"streams[1].normalise: got mean-std":                         {wallPoints, "    normalise: mean-std\n"},
		"streams[1]: got columns, want none of points":               {wallPoints, "    columns: [0.x]\n"},
	} {
		code, stdout, stderr := execute("batches", dir, "--plan", pointsPlan(t, c[0], c[1]), "--batch=2", "--backend=cpu")
		assert.Equal(t, exitInput, code, want)
		assert.Contains(t, stdout+stderr, want)
	}
	code, _, stderr := execute("batches", dir, "--plan", pointsPlan(t, wallPoints, ""), "--batch=2", "--backend=cpu", "--strict")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "frame 3 of depth", "a broken image")
	wrong := pointsPlan(t, wallPoints, "")
	text, err := os.ReadFile(wrong)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(wrong, []byte(strings.Replace(string(text), "from: depth", "from: rgb", 1)), 0o600))
	code, _, stderr = execute("batches", dir, "--plan", wrong, "--batch=2", "--backend=cpu")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, `streams[1].from: got rgb, want one of ["depth"]`)
	store := filepath.Join(t.TempDir(), "store.safetensors")
	good(t, "pack", dir, "-o", store)
	pose := filepath.Join(t.TempDir(), "pose.yaml")
	require.NoError(t, os.WriteFile(pose, []byte("version: 1\nrate: 10\nstreams:\n  - name: pose\n    points: {k: 2}\n"), 0o600))
	for _, plan := range []string{pointsPlan(t, wallPoints, ""), pose} { // a store has no depth images, and its pose is not points
		code, _, stderr = execute("batches", store, "--plan", plan, "--batch=2", "--backend=cpu")
		assert.Equal(t, exitInput, code)
		assert.Contains(t, stderr, ".points: got a recording without them")
	}
	code, _, stderr = execute("fuse", dir, "--plan", pointsPlan(t, wallPoints, ""), "--backend=cpu", "-o", filepath.Join(t.TempDir(), "x.npz"))
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "streams[1].points: got a recording without them")
}
