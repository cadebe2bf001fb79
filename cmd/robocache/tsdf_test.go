package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/ply"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// wallFolder writes a folder of the TUM benchmark: six images of 40 x 30 pixels, 0.1 s apart. The first is before the first pose, and the
// fourth is broken. A camera that looks along z moves 0.1 m along x between images; it sees a wall at z = 2. In each image, two pixels have
// no depth and one is 4 m away. The colour is (200, 100, 50), and absent at the third image.
func wallFolder(t *testing.T) string { return wallFrom(t, 0, 0) }

// wallFrom is like wallFolder, with other coordinates of the first image.
func wallFrom(t *testing.T, x, y float64) string {
	dir := filepath.Join(t.TempDir(), "wall")
	picture := func(name string, img image.Image) {
		var b bytes.Buffer
		require.NoError(t, png.Encode(&b, img))
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o600))
	}
	depths, colors, poses := "", "", "# timestamp tx ty tz qx qy qz qw\n"
	for i := range 6 {
		at := float64(i) / 10
		deep, rgb := image.NewGray16(image.Rect(0, 0, 40, 30)), image.NewNRGBA(image.Rect(0, 0, 40, 30))
		for k := range 40 * 30 {
			deep.SetGray16(k%40, k/40, color.Gray16{Y: map[int]uint16{0: 0, 39: 0, 40: 20000}[k]})
			if k > 40 || k > 0 && k < 39 {
				deep.SetGray16(k%40, k/40, color.Gray16{Y: 10000})
			}
			rgb.SetNRGBA(k%40, k/40, color.NRGBA{200, 100, 50, 255})
		}
		file := fmt.Sprintf("depth/%d.png", i)
		picture(file, deep)
		depths += fmt.Sprintf("%.1f %s\n", 1+at, file)
		if i == 3 {
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte("no picture"), 0o600))
		}
		if i != 2 {
			file = fmt.Sprintf("rgb/%d.png", i)
			picture(file, rgb)
			colors += fmt.Sprintf("%.1f %s\n", 1+at, file)
		}
		if i > 0 {
			poses += fmt.Sprintf("%.1f %.1f %.1f 0 0 0 0 1\n", 1+at, x+at, y)
		}
	}
	for name, text := range map[string]string{"depth.txt": depths, "rgb.txt": colors, "groundtruth.txt": poses} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func TestVoxelizeTSDFWritesTheMeshOfDepthImages(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := wallFolder(t)
	out, plot := filepath.Join(t.TempDir(), "wall.ply"), filepath.Join(t.TempDir(), "wall.png")
	args := []string{"voxelize", dir, "--tsdf", "--size=.05", "--far=3", "--intrinsics=30,30,19.5,14.5", "--backend=cpu", "-o"}
	text, _ := good(t, append(args, out, "--plot", plot, "--json")...)
	report := unmarshal(t, text)
	assert.Equal(t, map[string]any{"name": "robocache.tsdf", "version": 1.0}, report["schema"])
	for key, want := range map[string]float64{
		"frames": 6, "frames_integrated": 3, "frames_without_pose": 1, "frames_without_color": 1, "frames_unreadable": 1,
		"pixels": 3600, "pixels_valid": 3591, "pixels_without_depth": 6, "pixels_out_of_range": 3,
	} {
		assert.Equal(t, want, report[key], key)
	}
	assert.Contains(t, text, `"code": "frames-unread"`)

	cloud, err := ply.ReadFile(out, dataset.Options{Strict: true})
	require.NoError(t, err)
	assert.Equal(t, []string{"nx", "ny", "nz", "red", "green", "blue"}, cloud.Names())
	assert.EqualValues(t, report["vertices"], cloud.Len())
	assert.EqualValues(t, report["triangles"], cloud.Notes[0].Count)
	points, err := tensor.Data[float32](cloud.Points)
	require.NoError(t, err)
	features, err := tensor.Data[float32](cloud.Features)
	require.NoError(t, err)
	for i := range cloud.Len() {
		require.InDelta(t, 2, points[3*i+2], 1e-5, "the wall")
		require.InDeltaSlice(t, []float32{0, 0, -1, 200, 100, 50}, features[6*i:6*i+6], 1e-5, "it faces the camera")
	}
	assert.InDelta(t, 2, report["min"].([]any)[2], 1e-5)
	assert.InDelta(t, 0.1-19.5/30*2, report["min"].([]any)[0], 0.05, "the left end of the first image with a pose")
	assert.InDelta(t, 0.5+20.5/30*2, report["max"].([]any)[0], 0.1)
	drawn, err := os.ReadFile(plot)
	require.NoError(t, err)
	_, err = png.Decode(bytes.NewReader(drawn))
	require.NoError(t, err)

	arrays := filepath.Join(t.TempDir(), "wall.npz")
	text, said := good(t, append(args, arrays)...)
	assert.Contains(t, text, "       6           3              1              1           1\n")
	assert.Contains(t, said, "1 of 6 depth images cannot be read")
	file := open(t, arrays)
	assert.Equal(t, points, array[float32](t, file, "points"))
	assert.Equal(t, []int{cloud.Len(), 3}, shape(t, file, "normals"))
	assert.Equal(t, []uint8{200, 100, 50}, array[uint8](t, file, "colors")[:3])
	assert.Len(t, array[int32](t, file, "triangles"), 3*int(report["triangles"].(float64)))
}

// In UTM coordinates a float32 has steps of 3 cm and more, so a mesh is near its own origin.
func TestVoxelizeTSDFMovesAFarOrigin(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	mesh := func(dir string) map[string]any {
		text, _ := good(t, "voxelize", dir, "--tsdf", "--size=.05", "--far=3", "--intrinsics=30,30,19.5,14.5", "--backend=cpu", "--json", "-o", filepath.Join(t.TempDir(), "wall.ply"))
		return unmarshal(t, text)
	}
	near, far := mesh(wallFolder(t)), mesh(wallFrom(t, 500_000, 4_649_776))
	assert.Equal(t, []any{0., 0., 0.}, near["origin"])
	assert.Equal(t, []any{500_000., 4_649_776., 0.}, far["origin"])
	for _, key := range []string{"pixels_valid", "pixels_out_of_range", "blocks", "vertices", "triangles"} {
		assert.Equal(t, near[key], far[key], key)
	}
	assert.InDeltaSlice(t, near["min"], far["min"], 1e-5)
	assert.InDeltaSlice(t, near["max"], far["max"], 1e-5)
	assert.NotContains(t, fmt.Sprint(near["notes"]), "origin-moved")
	assert.Contains(t, fmt.Sprint(far["notes"]), "origin-moved")
}

func TestVoxelizeTSDFRefusesAndWritesNothing(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir, out := wallFolder(t), filepath.Join(t.TempDir(), "o.ply")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--size=.05"}, exitUsage, "--intrinsics: got none in the recording"},
		{[]string{"--size=.05", "--intrinsics=30,30"}, exitUsage, "--intrinsics: got 2 numbers, want fx,fy,cx,cy"},
		{[]string{"--size=.05", "--intrinsics=a,b"}, exitUsage, `--intrinsics: got "a,b", want numbers`},
		{[]string{"--size=.05", "--intrinsics=0,0,0,0"}, exitUsage, "--intrinsics: got four zeros, want fx,fy,cx,cy"},
		{[]string{"--size=.05", "--output="}, exitUsage, "no output given, want -o OUT.npz or -o OUT.ply"},
		{[]string{"--size=.05", "--intrinsics=0,30,1,1"}, exitUsage, "--intrinsics"},
		{[]string{"--intrinsics=30,30,19.5,14.5"}, exitUsage, `--size: got "" with --tsdf, want one number`},
		{[]string{"--size=1,2,1"}, exitUsage, "want one number"},
		{[]string{"--size=1", "--mode=hard"}, exitUsage, "--mode is not for --tsdf"},
		{[]string{"--size=1", "--far=-1"}, exitUsage, "--far"},
		{[]string{"--size=.05", "--intrinsics=30,30,19.5,14.5", "--truncation=.01"}, exitUsage, "--truncation: got 0.01, want from 1 to 64 voxels"},
		{[]string{"--size=2e6", "--intrinsics=30,30,19.5,14.5"}, exitUsage, "--size: got 2e+06, want"},
		{[]string{"--size=.05", "--intrinsics=30,30,19.5,14.5", "--far=1"}, exitInput, "and no surface"},
		{[]string{"--size=.05", "--intrinsics=30,30,19.5,14.5", "--strict"}, exitInput, "frame 3 of depth"},
		{[]string{"--size=.05", "--stream=rgb"}, exitUsage, `--stream: got rgb, want one of ["depth"]`},
		{[]string{"--size=.05", "--output=" + out + ".stl"}, exitUsage, ".npz or .ply"},
	} {
		code, _, stderr := execute(append([]string{"voxelize", dir, "--tsdf", "--backend=cpu", "-o", out}, c.args...)...)
		assert.Equal(t, c.code, code, "%v: %s", c.args, stderr)
		assert.Contains(t, stderr, c.want, "%v", c.args)
	}
	code, _, stderr := execute("voxelize", pointsFile(t, 0, 0, 0), "--tsdf", "--size=1", "-o", out)
	assert.Equal(t, exitInput, code, stderr)
	assert.Contains(t, stderr, "no depth images in it")
	code, _, stderr = execute("voxelize", pointsFile(t, 0, 0, 0), "--size=1", "--truncation=1", "-o", out)
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "--truncation is for --tsdf")
	assert.NoFileExists(t, out)
}
