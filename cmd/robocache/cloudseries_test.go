package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/ply"
	"github.com/robocache/robocache/internal/test/s3test"
	"github.com/robocache/robocache/tensor"
)

// scans writes files of KITTI with points of a real scan, a thousand in the first file, two thousand in the second, and so on.
func scans(t *testing.T, names ...string) (dir string) {
	path := filepath.Join("..", "..", "..", "shared", "data", "small_gicp_lidar", "target.ply")
	if _, err := os.Stat(path); err != nil {
		t.Skip("no shared recordings beside the module")
	}
	c, err := ply.ReadFile(path, dataset.Options{})
	require.NoError(t, err)
	points, err := tensor.Data[float32](c.Points)
	require.NoError(t, err)
	intensity, err := tensor.Data[float32](c.Features)
	require.NoError(t, err)
	dir = t.TempDir()
	for k, name := range names {
		var b bytes.Buffer
		for i := range (k + 1) * 1000 {
			at := i * 60 / (k + 1)
			require.NoError(t, binary.Write(&b, binary.LittleEndian, append(points[3*at:3*at+3:3*at+3], intensity[at])))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), b.Bytes(), 0o644))
	}
	return dir
}

func TestAFolderOfCloudsIsOneEpisode(t *testing.T) {
	ctx := context.Background()
	numbered := scans(t, "1.bin", "2.bin", "10.bin")
	require.NoError(t, os.WriteFile(filepath.Join(numbered, "README.txt"), []byte("scans"), 0o644))
	s3test.Shared().PutFolder(t, "clouds", "scans", numbered)
	for _, tt := range []struct {
		path  string
		steps bool
		times []int64
	}{
		{numbered, true, []int64{0, 1e9, 2e9}},
		{"s3://clouds/scans", true, []int64{0, 1e9, 2e9}},
		{scans(t, "LIDAR__1532402927647951.bin", "LIDAR__1532402927697951.bin", "LIDAR__1532402928048847.bin"), false, []int64{1532402927647951000, 1532402927697951000, 1532402928048847000}},
		{scans(t, "1305031459.25.bin", "1305031459.5.bin"), false, []int64{1305031459_250_000_000, 1305031459_500_000_000}},
		{scans(t, "0000000000.bin", "0000000001.bin"), true, []int64{0, 1e9}}, // KITTI's numbers of ten digits are no times
		{filepath.Join(numbered, "2.bin"), false, []int64{0}},
	} {
		d, err := openViewed(ctx, tt.path, dataset.Options{})
		require.NoError(t, err, tt.path)
		e, err := d.Episode(ctx, 0)
		require.NoError(t, err)
		assert.Equal(t, tt.steps, e.Steps, tt.path)
		require.Len(t, e.Clouds, 1)
		assert.Equal(t, tt.times, e.Clouds[0].Times, tt.path)
		for i := range tt.times {
			c, err := e.Clouds[0].Cloud(ctx, i)
			require.NoError(t, err)
			if len(tt.times) > 1 {
				assert.Equal(t, (i+1)*1000, c.Len(), "%s, cloud %d", tt.path, i)
			}
			assert.Equal(t, []string{"intensity"}, c.Names())
		}
	}
	require.NoError(t, os.WriteFile(filepath.Join(numbered, "1.bin"), []byte("no points"), 0o644))
	_, err := openViewed(ctx, numbered, dataset.Options{})
	assert.ErrorIs(t, err, dataset.ErrUnsupported, "the first is no cloud")
}

// view shows the surfaces and grids that voxelize writes: the points with normals and colours, and the middles of the cells with points.
func TestVoxelizesArchivesAreClouds(t *testing.T) {
	ctx, dir := context.Background(), wallFolder(t)
	out := filepath.Join(t.TempDir(), "o.npz")
	cloud := func(args ...string) *dataset.Cloud {
		good(t, append([]string{"voxelize", dir, "--size=.25", "--far=3", cameraOf, "--backend=cpu", "-o", out}, args...)...)
		d, err := openViewed(ctx, out, dataset.Options{})
		require.NoError(t, err)
		e, err := d.Episode(ctx, 0)
		require.NoError(t, err)
		require.Len(t, e.Clouds, 1)
		c, err := e.Clouds[0].Cloud(ctx, 0)
		require.NoError(t, err)
		return c
	}
	c := cloud("--tsdf")
	assert.Equal(t, []string{"nx", "ny", "nz", "red", "green", "blue"}, c.Names())
	assert.Equal(t, array[float32](t, open(t, out), "points"), array32(t, c.Points))
	assert.InDeltaSlice(t, []float32{0, 0, -1, 200, 100, 50}, array32(t, c.Features)[:6], 1e-5)

	c = cloud()
	lo, hi, ok := c.Bounds()
	require.True(t, ok)
	assert.InDeltaSlice(t, []float64{-1.125, -.875, 2.125}, lo[:], 1e-6, "middles of the cells from -1.25, -1 and 2")
	assert.InDeltaSlice(t, []float64{1.875, .875, 2.125}, hi[:], 1e-6)
	sum := float32(0)
	for _, v := range array32(t, c.Features) {
		sum += v
	}
	assert.EqualValues(t, 3591, sum, "the points in the cells")
	assert.Equal(t, []string{"value"}, c.Names())
	occupied := c.Len()
	c = cloud("--mode=mean")
	assert.Equal(t, occupied, c.Len())
	assert.EqualValues(t, 200, array32(t, c.Features)[0])

	good(t, "voxelize", dir, "--size=.25", "--far=3", cameraOf, "--backend=cpu", "-o", out, "--min=-1,-1,0", "--max=1,1,3")
	_, err := openViewed(ctx, out, dataset.Options{})
	assert.ErrorContains(t, err, "no bounds")
	times := vec[int64](0, 1e9, 2e9)
	streams := writeNPZ(t, map[string]*tensor.Tensor{"points": rows(3, 1, 2, 3), "arm.values": rows(1, 1, 2, 3), "arm.times": times})
	d, err := openViewed(ctx, streams, dataset.Options{})
	require.NoError(t, err)
	e, err := d.Episode(ctx, 0)
	require.NoError(t, err)
	assert.Len(t, e.Streams, 1, "an archive with streams")
}

func array32(t *testing.T, a *tensor.Tensor) []float32 {
	list, err := tensor.Packed[float32](a)
	require.NoError(t, err)
	return list
}
