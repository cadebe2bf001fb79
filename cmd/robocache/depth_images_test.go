package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/dataset/ply"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// cameraOf are the intrinsics of wallFolder's camera.
const cameraOf = "--intrinsics=30,30,19.5,14.5"

func TestVoxelizeTakesDepthImages(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir, folder := wallFolder(t), t.TempDir()
	out, plot := filepath.Join(folder, "wall.npz"), filepath.Join(folder, "wall.png")
	args := []string{"voxelize", dir, "--size=.25", "--far=3", cameraOf, "--backend=cpu", "-o"}
	text, _ := good(t, append(args, out, "--plot", plot, "--json")...)
	report := unmarshal(t, text)
	assert.EqualValues(t, 3591, report["points"], "3 images of 1200 pixels, 2 without a depth and 1 too far")
	assert.EqualValues(t, 3591, report["in_range"])
	assert.Equal(t, map[string]any{"frames": 6.0, "frames_without_pose": 1.0, "frames_without_color": 1.0, "frames_unreadable": 1.0,
		"pixels": 3600.0, "pixels_valid": 3591.0, "pixels_without_depth": 6.0, "pixels_out_of_range": 3.0}, report["depth_images"])
	assert.Contains(t, text, `"code": "frames-unread"`)
	assert.FileExists(t, plot)
	// The images are at x = 0.1, 0.4 and 0.5 m. By numpy: floor of x = (u-19.5)/30*2 + pose and y = (v-14.5)/30*2 over 0.25.
	file := open(t, out)
	assert.Equal(t, []float64{-1.25, -1, 2}, array[float64](t, file, "min"))
	counts := array[int32](t, file, "grid")
	want := map[[2]int]int32{}
	for _, pose := range []float32{.1, .4, .5} {
		for i := range 1200 {
			if u, v := i%40, i/40; i != 0 && i != 39 && i != 40 {
				x, y := (float32(u)-19.5)*2/30+pose, (float32(v)-14.5)*2/30
				want[[2]int{int((x + 1.25) / .25), int((y + 1) / .25)}]++
			}
		}
	}
	sizes := shape(t, file, "grid")
	require.Equal(t, 1, sizes[0], "all points lie at z = 2")
	for i, n := range counts {
		assert.Equal(t, want[[2]int{i % sizes[2], i / sizes[2]}], n, "cell %d", i)
	}

	text, _ = good(t, append(args, out, "--mode=mean")...)
	assert.Contains(t, text, "       6            3              1              1           1\n")
	assert.Contains(t, text, "features: red, green, blue\n")
	means := array[float32](t, open(t, out), "grid")
	for i, n := range counts {
		if n > 0 {
			assert.Equal(t, []float32{200, 100, 50}, means[3*i:3*i+3])
		}
	}
}

// A PLY file has the mean of the points in each voxel, and colours as bytes. voxelize reads it again.
func TestVoxelizeWritesACloudOfMeans(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	out := filepath.Join(t.TempDir(), "wall.ply")
	args := []string{"voxelize", wallFolder(t), "--size=5", "--far=3", cameraOf, "--backend=cpu", "--plot", out + ".png", "-o", out}
	grid := []string{"--min=-10,-10,0", "--max=10,10,5"}
	for _, more := range [][]string{grid, {"--preset=open3d"}} {
		text, _ := good(t, append(args, more...)...)
		cloud, err := ply.ReadFile(out, dataset.Options{Strict: true})
		require.NoError(t, err)
		require.Equal(t, []string{"red", "green", "blue"}, cloud.Names())
		points, err := tensor.Floats(cloud.Points)
		require.NoError(t, err)
		colors, err := tensor.Floats(cloud.Features)
		require.NoError(t, err)
		for i := range cloud.Len() {
			assert.InDelta(t, 2, points[3*i+2], 1e-5)
			assert.Equal(t, []float64{200, 100, 50}, colors[3*i:3*i+3])
		}
		b, err := os.ReadFile(out)
		require.NoError(t, err)
		assert.Contains(t, string(b), "property uchar red\n")
		assert.Contains(t, text, "voxels: ")
		if len(more) == 2 {
			assert.Equal(t, 4, cloud.Len(), "the wall's four quarters")
			x, y, n := 0.0, 0.0, 0.0
			for _, pose := range []float64{.1, .4, .5} {
				for k := range 1200 {
					if u, v := (float64(k%40)-19.5)/15+pose, (float64(k/40)-14.5)/15; u < 0 && v < 0 && k != 0 && k != 39 && k != 40 {
						x, y, n = x+u, y+v, n+1
					}
				}
			}
			assert.InDeltaSlice(t, []float64{x / n, y / n}, points[:2], 1e-5, "the first is the least x and y")
		}
	}
	again := filepath.Join(t.TempDir(), "again.npz")
	text, _ := good(t, "voxelize", out, "--size=1", "--mode=mean", "--backend=cpu", "-o", again)
	assert.Contains(t, text, "features: red, green, blue")

	values := filepath.Join(t.TempDir(), "points.ply") // a cloud without features
	good(t, "voxelize", pointsFile(t, 1, 2, 3, 3, 2, 3), "--size=10", "--min=0,0,0", "--max=10,10,10", "--backend=cpu", "-o", values)
	cloud, err := ply.ReadFile(values, dataset.Options{Strict: true})
	require.NoError(t, err)
	points, err := tensor.Floats(cloud.Points)
	require.NoError(t, err)
	assert.Equal(t, []float64{2, 2, 3}, points)
	assert.Empty(t, cloud.Names())
}

// If few depth images have a colour, no image is left out for it, and a note has their number.
func TestFewColorsAreNotUsed(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir, out := wallFolder(t), filepath.Join(t.TempDir(), "o.npz")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rgb.txt"), []byte("1.4 rgb/4.png\n"), 0o600))
	for _, method := range []string{"--mode=mean", "--tsdf"} {
		text, said := good(t, "voxelize", dir, "--size=.25", cameraOf, "--backend=cpu", "-o", out, method)
		assert.Contains(t, text, "  1              0           1\n", "one image has no pose, and one cannot be read")
		assert.Contains(t, said, "depth: 1 of 5 images have a color image within 20ms, so colors are not used")
		assert.NotContains(t, text, "features")
	}
}

// Points may be in a frame of tf, and the colours and the gap between poses may be given.
func TestFramesGapsAndColorsOfDepthImages(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	log, out := wallLog(t), filepath.Join(t.TempDir(), "o.npz")
	for fixed, want := range map[string][2]float64{"world": {1.75, 2.25}, "camera": {1.25, 2}} { // the wall, and the distances to it
		for _, method := range []string{"--mode=count", "--tsdf"} {
			good(t, "voxelize", log, "--size=.25", "--fixed", fixed, "--backend=cpu", "-o", out, method)
			if method == "--tsdf" {
				points := array[float32](t, open(t, out), "points")
				assert.InDelta(t, 2, points[2], 0.75)
				continue
			}
			assert.InDelta(t, want[0], array[float64](t, open(t, out), "min")[2], 0.25, fixed)
			assert.InDelta(t, want[1], array[float64](t, open(t, out), "max")[2], 0.25, fixed)
		}
	}
	good(t, "voxelize", log, "--size=.25", "--color=/rgb", "--backend=cpu", "-o", out, "--tsdf")
	assert.Equal(t, []uint8{200, 100, 50}, array[uint8](t, open(t, out), "colors")[:3])
	dir := wallFolder(t)
	batch := writeNPZ(t, map[string]*tensor.Tensor{"points": rows(3, 1, 2, 3, 4, 5, 6), "offsets": vec[int64](0, 1, 2)})
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{log, "--fixed=base"}, exitUsage, `--fixed: got base, want one of ["camera" "world"]`},
		{[]string{log, "--color=/depth"}, exitUsage, `--color: got /depth, want one of ["/rgb"]`},
		{[]string{log, "--max-gap=1ms"}, exitInput, "0 of 6 depth images used, 0 of 0 pixels valid, and no point"},
		{[]string{log, "--cloud=1"}, exitUsage, "--cloud is for point clouds, got depth images"},
		{[]string{dir, "--columns=x,y,z"}, exitUsage, "--columns is for .bin files"},
		{[]string{dir, "--far=1", cameraOf}, exitInput, "and no point"},
		{[]string{dir}, exitUsage, "--intrinsics: got none in the recording"},
		{[]string{dir, "--scale=-1"}, exitUsage, "--scale"},
		{[]string{dir, cameraOf, "--near=3", "--far=2"}, exitUsage, "--far: got 2, want at least Near, 3"},
		{[]string{dir, cameraOf, "--strict"}, exitInput, "frame 3 of depth"},
		{[]string{dir, cameraOf, "-o", out + ".ply", "--mode=hard"}, exitUsage, "-o: a .ply file has the mean of the points in each voxel, got --mode hard"},
		{[]string{dir, cameraOf, "-o", out + ".ply", "--mode=sparse", "--reduce=max"}, exitUsage, "got --mode sparse of max"},
		{[]string{batch, "-o", out + ".ply"}, exitUsage, "-o: a .ply file has one cloud, got a batch of 2"},
		{[]string{pointsFile(t, 0, 0, 0), "--near=1"}, exitUsage, "the flags of depth images are for recordings"},
	} {
		code, _, stderr := execute(append([]string{"voxelize", "--size=.25", "--backend=cpu", "-o", filepath.Join(t.TempDir(), "none.npz")}, c.args...)...)
		assert.Equal(t, c.code, code, "%v: %s", c.args, stderr)
		assert.Contains(t, strings.ReplaceAll(stderr, "\n", " "), c.want, "%v", c.args)
	}
}

// In UTM coordinates the points of depth images are float64, so the cells are those of a wall near the origin, moved by whole metres.
func TestVoxelizeTakesDepthImagesFarAway(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	cells := func(dir string) (coords []int32, lo []float64) {
		out := filepath.Join(t.TempDir(), "wall.npz")
		_, _ = good(t, "voxelize", dir, "--size=.25", "--far=3", "--mode=sparse", cameraOf, "--backend=cpu", "-o", out)
		file, err := npz.Open(out)
		require.NoError(t, err)
		defer func() { require.NoError(t, file.Close()) }()
		return array[int32](t, file, "coords"), array[float64](t, file, "min")
	}
	near, from := cells(wallFolder(t))
	far, moved := cells(wallFrom(t, 500_000, 4_649_776))
	assert.Equal(t, near, far)
	assert.Equal(t, []float64{from[0] + 500_000, from[1] + 4_649_776, from[2]}, moved)
}
