package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// As TestExitCodes, for voxelize.
func TestExitCodesOfVoxelize(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	out := filepath.Join(dir, "o.npz")
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	points := pointsFile(t, 0, 0, 0, 1, 1, 1)
	three := pointsFile(t, 0, 0, 0, 1, 1, 1, 0, 0, 1)
	holes := pointsFile(t, float32(math.NaN()), 0, 0)
	far, deep := pointsFile(t, 1e9, 0, 0), pointsFile(t, 0, 0, 1e20)
	flat := writeNPZ(t, map[string]*tensor.Tensor{"points": rows(2, 1, 2)})
	short := writeNPZ(t, map[string]*tensor.Tensor{"points": rows(3, 1, 2, 3), "features": rows(1, 1, 2)})
	long := writeNPZ(t, map[string]*tensor.Tensor{"points": rows(3, 1, 2, 3), "features": vec[float32](1, 2)})
	other := writeNPZ(t, map[string]*tensor.Tensor{"values": rows(3, 1, 2, 3)})
	backwards := writeNPZ(t, map[string]*tensor.Tensor{"points": rows(3, 1, 2, 3), "offsets": vec[int64](0, 2, 1)})
	fractions := writeNPZ(t, map[string]*tensor.Tensor{"points": rows(3, 1, 2, 3), "offsets": vec(0.0, 1.0)})
	to := func(in string, more ...string) []string {
		return append([]string{"voxelize", in, "-o", out, "--backend=cpu"}, more...)
	}
	box := func(in string, more ...string) []string {
		return append(to(in, "--size", "1", "--min", "-1,-1,-1", "--max", "2,2,2"), more...)
	}
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"voxelize", "-o", out}, exitUsage, []string{"one input file", "got none"}},
		{[]string{"voxelize", points, "--size=1"}, exitUsage, []string{"-o OUT.npz"}},
		{[]string{"voxelize", points, "-o", points, "--size=1"}, exitUsage, []string{"is the input"}},
		{to(points), exitUsage, []string{"--size"}},
		{to(points, "--size", "0"), exitUsage, []string{`"0"`, "above 0"}},
		{to(points, "--size=-1"), exitUsage, []string{`"-1"`, "above 0"}},
		{to(points, "--size", "-1"), exitUsage, []string{`"-1"`, "above 0"}},
		{to(points, "--size", "1,2"), exitUsage, []string{`"1,2"`, "three"}},
		{to(points, "--size", "nan"), exitUsage, []string{"finite"}},
		{to(points, "--size=1", "--min", "1,2"), exitUsage, []string{`"1,2"`, "x,y,z"}},
		{to(points, "--size=1", "--max", "1,2,inf"), exitUsage, []string{"finite"}},
		{to(points, "--size=1", "--min=0,0,0", "--max=0,1,1"), exitUsage, []string{"along x", "at least one cell"}},
		{to(points, "--size=1", "--min=1,1,1", "--max=-1,-1,-1"), exitUsage, []string{"at least one cell"}},
		{to(points, "--size=1e-5", "--min=0,0,0", "--max=1,1,1"), exitUsage, []string{"2^40"}},
		{to(points, "--size=1e-6"), exitInput, []string{"--size", "2^40"}},
		{to(points, "--size=1e-50"), exitUsage, []string{"--size"}},
		{to(points, "--size=.0002"), exitInput, []string{"GiB"}},
		{box(points, "--mode", "dense"), exitUsage, []string{"dense", "occupancy, count"}},
		{box(points, "--order", "yzx"), exitUsage, []string{"yzx", "zyx, xyz"}},
		{box(points, "--preset", "pcl"), exitUsage, []string{"pcl", "mmcv, open3d"}},
		{box(points, "--mode=hard", "--max-points=0"), exitUsage, []string{`"0"`, "from 1"}},
		{box(three, "--mode=hard", "--max-points=2000000000", "--max-voxels=20"), exitInput, []string{"--max-points", "GiB"}},
		{box(points, "--mode=hard", "--max-voxels=-1"), exitUsage, []string{`"-1"`, "from 0"}},
		{box(points, "--max-points=3"), exitUsage, []string{"--max-points is for --mode hard"}},
		{box(points, "--max-voxels=3"), exitUsage, []string{"--max-voxels is for"}},
		{box(points, "--reduce=max"), exitUsage, []string{"--reduce is for --mode sparse"}},
		{box(points, "--mode=sparse", "--reduce=majority"), exitUsage, []string{"majority", "mean, sum"}},
		{box(points, "--mode=hard", "--empty=1"), exitUsage, []string{"--empty is for grids"}},
		{box(points, "--empty=.5"), exitUsage, []string{"whole number"}},
		{box(points, "--preset=mmcv", "--mode=count"), exitUsage, []string{"count with --preset mmcv"}},
		{box(points, "--preset=open3d"), exitUsage, []string{"its own grid"}},
		{to(points, "--preset=open3d", "--size=1,2,1"), exitUsage, []string{"cubes"}},
		{to(points, "--preset=open3d", "--size=1", "--reduce=max"), exitUsage, []string{"want mean"}},
		{box(points, "--plot=p.jpg"), exitUsage, []string{".png"}},
		{box(points, "--backend=tpu"), exitUsage, []string{"tpu"}},

		{box(filepath.Join(dir, "missing.pcd")), exitInput, []string{"missing.pcd", "no such file"}},
		{box(t.TempDir()), exitInput, []string{"folder"}},
		{box(file("text", "neither")), exitInput, []string{".pcd, .ply, .bin, .npy or .npz"}},
		{box(file("a.pcd", "FIELDS x y z\nWIDTH 1\nDATA ascii\n1 2 x\n")), exitInput, []string{"a.pcd", "byte 36", "line 4", `"x"`}},
		{box(file("a.ply", "ply\nformat ascii 1.0\nelement vertex 9\n")), exitInput, []string{"a.ply", "truncated"}},
		{box(file("a.bin", "12345")), exitInput, []string{"a.bin", "5 bytes that do not look like whole points", "--columns"}},
		{box(file("zeros.bin", string(make([]byte, 240)))), exitInput, []string{"20 points of x,y,z or 15 points of x,y,z,intensity or", "--columns NAME"}},
		{box(file("a.bin", "12345"), "--columns=x,y,z"), exitInput, []string{"a.bin", "truncated"}},
		{box(file("a.bin", "12345"), "--columns=x,y,i"), exitUsage, []string{"--columns x,y,i", `no "z"`}},
		{box(file("a.bin", "12345"), "--columns=x,y,z,i,i"), exitUsage, []string{`"i" twice`}},
		{box(file("a.bin", "12345"), "--columns="), exitUsage, []string{"--columns", "x, y and z"}},
		{box(points, "--columns=x,y,z"), exitUsage, []string{"--columns is for .bin files", ".npz"}},
		{box(file("cut.pcd", "FIELDS x y z\nWIDTH 2\nDATA ascii\n0 0 0\n1 1"), "--strict"), exitInput, []string{"cut.pcd", "byte 41", "line 5", "point 1"}},
		{box(file("a.npy", "\x93NUMPY")), exitInput, []string{"a.npy", "truncated"}},
		{box(file("a.npz", "PK\x03\x04")), exitInput, []string{"a.npz"}},
		{box(flat), exitInput, []string{"points", "[1,2]", "[N,3]"}},
		{box(short), exitInput, []string{"features", "[1,F]"}},
		{box(long), exitInput, []string{"features", "[1,F]", "or [1]"}},
		{box(other), exitInput, []string{"points", "values"}},
		{box(backwards), exitInput, []string{"offsets"}},
		{box(fractions), exitInput, []string{"offsets", "whole numbers"}},
		{to(holes, "--size=1"), exitInput, []string{"no finite points", "--min and --max"}},
		{box(holes, "--plot", filepath.Join(dir, "p.png")), exitInput, []string{"to draw"}},
		{to(far, "--size", ".5,.5,1e20", "--min", "999999998,0,-1e20", "--max", "1000000002,1,1e20", "--plot", filepath.Join(dir, "p.png")), exitGood, nil},
		{to(deep, "--size", "1,1,.5", "--min", "0,0,1e20", "--max", "1,1,1.00001e20", "--plot", filepath.Join(dir, "p.png")), exitUsage, []string{"2^31"}},
		{box(holes), exitGood, nil},

		{[]string{"voxelize", points, "-o", filepath.Join(dir, "no", "folder.npz"), "--size=1"}, exitOther, []string{"folder.npz"}},
	} {
		require.NoError(t, os.RemoveAll(out))
		code, stdout, stderr := execute(c.args...)
		assert.Equal(t, c.code, code, "%q: %s", c.args, stderr)
		first, _, _ := strings.Cut(stderr, "\n")
		for _, w := range c.want {
			assert.Contains(t, first, w, "%q", c.args)
		}
		if c.code == exitGood {
			continue
		}
		assert.Empty(t, stdout, "%q", c.args)
		assert.NoFileExists(t, out, "%q: a command that fails leaves no file", c.args)
		code, stdout, stderr = execute(append(c.args, "--json")...)
		assert.Equal(t, c.code, code, "%q with --json", c.args)
		assert.Empty(t, stderr, "%q with --json", c.args)
		e := unmarshal(t, stdout)["error"].(map[string]any)
		assert.Equal(t, map[int]string{1: "other", 2: "usage", 3: "input"}[c.code], e["kind"], "%q", c.args)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*.tmp"))
	require.NoError(t, err)
	assert.Empty(t, left, "nothing half written")
}

// If few points make a grid too large, the error blames the file. If most points do, it blames --size.
func TestStraysAreNamedWhereTheyMakeTheGridTooLarge(t *testing.T) {
	cloud := func(n int, strays ...float32) string {
		var xyz []float32
		for i := range n {
			xyz = append(xyz, float32(i%10)-5, float32(i/10%10)*.5, float32(i%3))
		}
		return pointsFile(t, append(append(xyz, strays...), 1, 1, 1)...)
	}
	for name, c := range map[string]struct {
		in   string
		size string
		code int
		want []string
	}{
		"one":             {cloud(200, 3e38, 0, 1), "1", exitInput, []string{"point 200 at 3e+38,0,1, want --min and --max", "from -5,0,0 to 4,4.5,2"}},
		"for the memory":  {cloud(200, 1e4, 2e6, -1e5), ".1", exitInput, []string{"point 200 at 10000,2000000,-100000", "--min and --max"}},
		"of three":        {cloud(2), "1", exitGood, nil},
		"one of three":    {pointsFile(t, 0, 0, 0, 1e30, 0, 0, 1, 1, 1), "1", exitInput, []string{"point 1 at"}},
		"beside the same": {pointsFile(t, 0, 0, 0, 0, 0, 0, 0, 0, 0, -2e30, 0, 0), "1", exitInput, []string{"point 3 at -"}},
		"several":         {cloud(200, 3e38, 0, 1, 0, 1e30, 0, 0, 0, -3.2e38), "1", exitInput, []string{"point 202 at 0,0,-3.2e+38", "the farthest of 3"}},
		"no more than it": {cloud(200, 100, 0, 1), ".00001", exitInput, []string{"--size"}},
		"many":            {pointsFile(t, 0, 0, 0, 1e30, 0, 0, 0, 1e30, 0, 0, 0, 2e30, 1, 1, 1), "1", exitInput, []string{"--size"}},
		"two":             {pointsFile(t, 0, 0, 0, 3e38, 0, 0), "1", exitInput, []string{"--size"}},
	} {
		args := []string{"voxelize", c.in, "-o", filepath.Join(t.TempDir(), "o.npz"), "--size", c.size, "--backend=cpu"}
		code, _, stderr := execute(args...)
		assert.Equal(t, c.code, code, "%s: %s", name, stderr)
		for _, want := range c.want {
			assert.Contains(t, stderr, want, name)
		}
		if c.code != exitInput || c.want[0] == "--size" { // no point is named
			continue
		}
		_, stdout, _ := execute(append(args, "--json")...)
		e := unmarshal(t, stdout)["error"].(map[string]any)
		assert.Equal(t, c.in, e["path"], name)
		assert.Contains(t, e["got"], "point ", name)
		assert.Contains(t, e["want"], "--min and --max", name)
		good(t, append(args, "--min=-5,0,0", "--max=5,5,5")...)
		code, _, _ = execute(append(args, "--preset=open3d")...)
		assert.Equal(t, exitInput, code, name)
	}
}

// Intact data is used, and lost data is reported.
func TestDamageOfCloudsIsSaid(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, points, lost string }{
		"line.pcd":  {"FIELDS x y z\nWIDTH 3\nDATA ascii\n0 0 0\n1 1 1 extra\n2 2 2\n", "cloud: 2 points", "lost: points: 1, 12 bytes (pcd: "},
		"cut.pcd":   {"FIELDS x y z\nWIDTH 3\nDATA ascii\n0 0 0\n1 1", "cloud: 1 points", "lost: points: 2, 3 bytes (first: pcd: "},
		"mesh.ply":  {"ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nproperty float y\nproperty float z\nelement face 7\nproperty list uchar int v\nend_header\n1 2 3\n3 0", "cloud: 1 points", "lost: rows of face: 7, 3 bytes"},
		"short.bin": {string(make([]byte, 39)), "cloud: 2 points", "lost: points: 1, 7 bytes (kitti: "},
	} {
		in := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(in, []byte(c.text), 0o644))
		args := []string{"voxelize", in, "-o", filepath.Join(dir, "o.npz"), "--size=1", "--backend=cpu"}
		if name == "short.bin" {
			args = append(args, "--columns=x,y,z,i")
		}
		stdout, stderr := good(t, args...)
		assert.Contains(t, stdout, c.points)
		assert.Contains(t, stderr, c.lost)
		assert.Contains(t, stderr, in)
		code, _, _ := execute(append(args, "--strict")...)
		assert.Equal(t, exitInput, code)
	}
}

func TestErrorsInJSONNameByteAndLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.pcd")
	require.NoError(t, os.WriteFile(path, []byte("FIELDS x y z\nWIDTH 1\nDATA ascii\n1 2 x\n"), 0o644))
	_, stdout, _ := execute("voxelize", path, "-o", filepath.Join(t.TempDir(), "o.npz"), "--size=1", "--json")
	e := unmarshal(t, stdout)["error"].(map[string]any)
	assert.Equal(t, path, e["path"])
	assert.Equal(t, 36.0, e["offset"])
	assert.Equal(t, 4.0, e["line"])
}

func TestHelpOfVoxelize(t *testing.T) {
	stdout, _ := good(t, "voxelize", "--help")
	for _, word := range []string{"--size", "--min", "--max", "--mode", "--order", "--max-points", "--max-voxels", "--reduce", "--preset", "--plot", "--empty",
		"--backend", "--json", "point_voxel", "num_points", "row_splits", ".pcd.bin", "dropped_voxels", "--columns", "--strict"} {
		assert.Contains(t, stdout, word)
	}
	assert.Contains(t, stdout, "numpy files are always refused where they are broken")
	stdout, _ = good(t, "__complete", "voxelize", "x.pcd", "--mode", "")
	assert.Contains(t, stdout, "hard\n")
}
