package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/test/exampletest"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const printed = `23030 points, x -23.2 to 19.0 m, y -74.6 to 8.9 m, z -3.0 to 10.8 m
          mode            result  in range  out of range  not finite  dropped points  dropped voxels  backend
  dense, count  i32 [32,105,140]     21432          1598           0               0               0      cpu
          hard   f32 [4000,16,4]     21432          1598           0            8368            1071      cpu
  sparse, mean      f32 [5071,1]     21432          1598           0               0               0      cpu
wrote voxelize.npz and voxelize.png
`

func TestPrintsTheCountersAndWritesBothFiles(t *testing.T) {
	checkedIn, err := filepath.Abs("voxelize.png")
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	var out bytes.Buffer
	require.NoError(t, run("cpu", &out))
	assert.Equal(t, printed, out.String())

	f, err := npz.Open("voxelize.npz")
	require.NoError(t, err)
	defer f.Close()
	sum := func(counts []int32) (n int) {
		for _, v := range counts {
			n += int(v)
		}
		return n
	}
	assert.Equal(t, 21432, sum(exampletest.Data[int32](t, f, "grid")))
	assert.Equal(t, 21432, sum(exampletest.Data[int32](t, f, "sparse/counts")))
	assert.Equal(t, 21432-8368, sum(exampletest.Data[int32](t, f, "hard/num_points")))

	// The forms agree with each other: a sparse voxel's count is its cell's in the grid.
	grid, counts := exampletest.Data[int32](t, f, "grid"), exampletest.Data[int32](t, f, "sparse/counts")
	coords := exampletest.Data[int32](t, f, "sparse/coords")
	for i, n := range counts {
		z, y, x := coords[3*i], coords[3*i+1], coords[3*i+2]
		require.Equal(t, n, grid[(z*105+y)*140+x])
	}
	kept := 0
	for _, v := range exampletest.Data[int32](t, f, "hard/point_voxel") {
		if v >= 0 {
			kept++
		}
	}
	assert.Equal(t, 21432-8368, kept)

	assert.Equal(t, exampletest.PictureSize(t, checkedIn), exampletest.PictureSize(t, "voxelize.png"), "the picture of the README is this program's")
}

func TestUnknownBackendWritesNothing(t *testing.T) { exampletest.UnknownBackendWritesNothing(t, run) }
