package depth_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/depth"
	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/tum"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

func cpu(t *testing.T) *ops.Device {
	t.Helper()
	d, err := ops.Open("cpu")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	return d
}

// greyPNG is a 16-bit png, 3 wide and 2 high, that begins with values.
func greyPNG(t *testing.T, values ...uint16) []byte {
	img := image.NewGray16(image.Rect(0, 0, 3, 2))
	for i, v := range values {
		img.SetGray16(i%3, i/3, color.Gray16{Y: v})
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

func rgbPNG(t *testing.T, red byte, width int) []byte {
	img := image.NewNRGBA(image.Rect(0, 0, width, 2))
	for i := range img.Pix {
		img.Pix[i] = 255
		if i%4 == 0 {
			img.Pix[i] = red
		}
	}
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

// tumFolder writes a folder with depth images at 0.99, 1.05, 1.1, 1.5 and 3 s, and colour images 10 ms later but for the third. The camera moves along x, at 1 m/s,
// and turns a quarter about z from 1 s to 1.1 s; there are poses every 100 ms up to 2.9 s, but none from 1.3 to 1.5 s.
func tumFolder(t *testing.T, name string) string {
	dir := filepath.Join(t.TempDir(), name)
	write := func(name string, data []byte) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	depths, colors := "# depth maps\n", ""
	for i, at := range []float64{0.99, 1.05, 1.1, 1.5, 3} {
		file := fmt.Sprintf("depth/%d.png", i)
		write(file, greyPNG(t, 5000, 0, uint16(10000+i)))
		depths += fmt.Sprintf("%.2f %s\n", at, file)
		file, late := fmt.Sprintf("rgb/%d.png", i), 0.01
		if i == 2 {
			late = 0.021
		}
		write(file, rgbPNG(t, byte(i), 3))
		colors += fmt.Sprintf("%.3f %s\n", at+late, file)
	}
	write("depth.txt", []byte(depths))
	write("rgb.txt", []byte(colors))
	half := math.Sqrt(0.5)
	poses := "# timestamp tx ty tz qx qy qz qw\n1 1 0 5 0 0 0 1\n"
	for at := 11; at < 30; at++ {
		if at < 13 || at > 15 {
			poses += fmt.Sprintf("%.1f %.1f 0 5 0 0 %v %v\n", float64(at)/10, float64(at)/10, half, half)
		}
	}
	write("groundtruth.txt", []byte(poses))
	return dir
}

func episode(t *testing.T, path, clock string) *dataset.Episode {
	t.Helper()
	d, err := dataset.Open(context.Background(), path, dataset.Options{Clock: clock})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	e, err := d.Episode(context.Background(), 0)
	require.NoError(t, err)
	return e
}

func numbers(t *testing.T, d *tensor.Tensor) []float32 {
	t.Helper()
	list, err := tensor.Packed[float32](d)
	require.NoError(t, err)
	return list
}

func TestTUMFolder(t *testing.T) {
	ctx := context.Background()
	e := episode(t, tumFolder(t, "rgbd_dataset_freiburg2_xyz"), "")
	assert.Equal(t, []string{"depth"}, e.DepthNames())
	s, err := depth.Open(ctx, cpu(t), e, depth.Options{})
	require.NoError(t, err)
	assert.Equal(t, depth.Counts{Images: 5, NoPose: 3, NoColor: 1}, s.Counts, "before the poses, in a gap of 0.4 s, after them")
	assert.Equal(t, []any{2, true, 1. / 5000, [4]float32{520.9, 521.0, 325.1, 249.7}}, []any{s.Len(), s.Posed, s.Scale, s.Intrinsics})
	var got []*depth.Frame
	for f, err := range s.Frames(ctx) {
		require.NoError(t, err)
		got = append(got, f)
	}
	require.Len(t, got, 2)
	assert.Equal(t, []any{1, int64(1050e6), 2, int64(1100e6)}, []any{got[0].Index, got[0].Time, got[1].Index, got[1].Time})
	assert.Equal(t, []int{2, 3}, got[0].Depth.Shape())
	assert.Equal(t, []float32{5000, 0, 10001, 0, 0, 0}, numbers(t, got[0].Depth))
	half := float32(math.Sqrt(0.5)) // an eighth of a turn
	assert.InDeltaSlice(t, []float32{half, -half, 0, 1.05, half, half, 0, 0, 0, 0, 1, 5, 0, 0, 0, 1}, got[0].Pose[:], 1e-6)
	assert.InDeltaSlice(t, []float32{0, -1, 0, 1.1, 1, 0, 0, 0, 0, 0, 1, 5, 0, 0, 0, 1}, got[1].Pose[:], 1e-6)
	colors, err := tensor.Packed[uint8](got[0].Color)
	require.NoError(t, err)
	assert.Equal(t, []byte{1, 255, 255}, colors[:3])
	assert.Nil(t, got[1].Color, "21 ms away")
	_, err = s.Frame(ctx, 2)
	assert.ErrorAs(t, err, new(*dataset.RangeError))
}

// The positions are relative to the first pose's, to its whole metre, if one is 1024 m from the origin.
func TestFarPoses(t *testing.T) {
	ctx := context.Background()
	dir := tumFolder(t, "rgbd_dataset_freiburg2_xyz")
	open := func(x, y float64) *depth.Series {
		poses := fmt.Sprintf("1 %.9f %.9f -5 0 0 0 1\n1.1 %.9f %.9f -5 0 0 0 1\n", x, y, x+0.001, y+0.002)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "groundtruth.txt"), []byte(poses), 0o600))
		s, err := depth.Open(ctx, cpu(t), episode(t, dir, ""), depth.Options{})
		require.NoError(t, err)
		require.Equal(t, 2, s.Len())
		return s
	}
	pose := func(s *depth.Series, i int) []float32 {
		f, err := s.Frame(ctx, i)
		require.NoError(t, err)
		return f.Pose[:]
	}
	s := open(500_000.3, -4_649_776.75)
	assert.Equal(t, [3]float64{500_000, -4_649_777, -5}, s.Origin)
	assert.InDeltaSlice(t, []float32{1, 0, 0, 0.3005, 0, 1, 0, 0.251, 0, 0, 1, 0, 0, 0, 0, 1}, pose(s, 0), 1e-7, "at 1.05 s")
	assert.InDelta(t, 0.252, pose(s, 1)[7], 1e-7, "at 1.1 s")

	s = open(1023, 0)
	assert.Zero(t, s.Origin)
	assert.InDelta(t, 1023.0005, pose(s, 0)[3], 1e-4)
	assert.NotZero(t, open(1024, 0).Origin)
	assert.NotZero(t, open(0, -1025).Origin)

	_, err := pointsOf(t, cpu(t), dir, "", "", align.Points{K: 1})
	var bad *align.PlanError
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, []string{"streams[1].points.fixed", "a frame that is less than 1024 m away"}, []string{bad.Key, bad.Want})
}

func TestFramesThatCannotBeReadAreErrorsAndTheOthersFollow(t *testing.T) {
	ctx := context.Background()
	dir := tumFolder(t, "desk")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "depth", "1.png"), rgbPNG(t, 1, 3), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rgb", "3.png"), rgbPNG(t, 1, 4), 0o600))
	e := episode(t, dir, "")
	_, err := depth.Open(ctx, cpu(t), e, depth.Options{})
	var bad *dataset.OptionError
	require.ErrorAs(t, err, &bad, "a folder of an unknown camera")
	assert.Equal(t, "Intrinsics", bad.Arg)
	s, err := depth.Open(ctx, cpu(t), e, depth.Options{Intrinsics: [4]float64{525, 525, 319.5, 239.5}, MaxGap: ops.Within(1e9), Scale: 0.001})
	require.NoError(t, err)
	assert.Equal(t, []any{3, 0.001, [4]float32{525, 525, 319.5, 239.5}}, []any{s.Len(), s.Scale, s.Intrinsics})
	var says []string
	for f, err := range s.Frames(ctx) {
		if err == nil {
			says = append(says, fmt.Sprint(f.Index))
			continue
		}
		assert.ErrorAs(t, err, new(*dataset.FormatError))
		says = append(says, err.Error())
	}
	require.Len(t, says, 3)
	assert.Contains(t, says[0], "want 16-bit grey")
	assert.Equal(t, "2", says[1])
	assert.Contains(t, says[2], "want u8 [2,3,3], as the depth image")
}

func TestFramesEndWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := depth.Open(ctx, cpu(t), episode(t, tumFolder(t, "freiburg1"), ""), depth.Options{MaxGap: ops.Within(1e9)})
	require.NoError(t, err)
	require.Equal(t, 3, s.Len())
	n := 0
	for range s.Frames(ctx) {
		n++
		cancel()
	}
	assert.Equal(t, 1, n)
	for range s.Frames(context.Background()) {
		break
	}
	_, err = depth.Open(ctx, cpu(t), episode(t, tumFolder(t, "freiburg1"), ""), depth.Options{})
	assert.ErrorIs(t, err, context.Canceled)
}

func TestAFolderWithoutPoses(t *testing.T) {
	ctx := context.Background()
	dir := tumFolder(t, "freiburg3")
	require.NoError(t, os.Remove(filepath.Join(dir, "groundtruth.txt")))
	s, err := depth.Open(ctx, cpu(t), episode(t, dir, ""), depth.Options{})
	require.NoError(t, err)
	assert.Equal(t, []any{5, false}, []any{s.Len(), s.Posed})
	f, err := s.Frame(ctx, 4)
	require.NoError(t, err)
	assert.Equal(t, [16]float32{0: 1, 5: 1, 10: 1, 15: 1}, f.Pose)
}
