package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"image/png"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/dataset/ply"
	"github.com/robocache/robocache/internal/test/cloudtest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Real scans. The READMEs next to them have the sources.
const (
	lidar  = "../../dataset/ply/testdata/lidar.ply"
	people = "../../dataset/pcd/testdata/people.pcd"
)

// voxelizeTo runs voxelize on the CPU into a new file, opens it and returns the counters.
func voxelizeTo(t *testing.T, in string, args ...string) (*npz.File, counters) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.npz")
	stdout, stderr := good(t, append([]string{"voxelize", in, "-o", out, "--backend", "cpu", "--json"}, args...)...)
	assert.Empty(t, stderr)
	var n struct {
		Schema json.RawMessage `json:"schema"`
		voxelReport
	}
	d := json.NewDecoder(strings.NewReader(stdout))
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&n))
	assert.NotNil(t, n.Entries)
	assert.Equal(t, n.Points, n.InRange+n.OutOfRange+n.NotFinite)
	return open(t, out), n.counters
}

func rows(width int, data ...float32) *tensor.Tensor {
	return tensor.Must(tensor.Of(data, len(data)/width, width))
}

// pointsFile writes an archive of points.
func pointsFile(t *testing.T, xyz ...float32) string {
	t.Helper()
	return writeNPZ(t, map[string]*tensor.Tensor{"points": rows(3, xyz...)})
}

func TestNamedCasesOfClouds(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		name   string
		in     []float32
		args   []string
		shape  []int
		filled map[int]int32 // cells by their place
		want   counters
	}{
		{"three-in-one", []float32{0, 0, 0, .01, .01, .01, .02, .02, .02}, []string{"--size=.5", "--min=-10,-10,-10", "--max=22,22,22"},
			[]int{64, 64, 64}, map[int]int32{(20*64+20)*64 + 20: 3}, counters{Points: 3, InRange: 3}},
		{"outside", []float32{100, 100, 100, -100, -100, -100}, []string{"--size", "1", "--min", "-1,-1,-1", "--max", "1,1,1"},
			[]int{2, 2, 2}, nil, counters{Points: 2, OutOfRange: 2}},
		{"half-way", []float32{0, 0, 0}, []string{"--size=.1", "--min", "-5,-5,-5", "--max", "5,5,5"},
			[]int{100, 100, 100}, map[int]int32{(50*100+50)*100 + 50: 1}, counters{Points: 1, InRange: 1}},
		{"axes", []float32{1.5, .5, .5}, []string{"--size=1", "--min=0,0,0", "--max=2,3,4"}, []int{4, 3, 2}, map[int]int32{1: 1}, counters{Points: 1, InRange: 1}},
		{"axes xyz", []float32{1.5, .5, .5}, []string{"--size=1", "--min=0,0,0", "--max=2,3,4", "--order=xyz"}, []int{2, 3, 4}, map[int]int32{12: 1}, counters{Points: 1, InRange: 1}},
		{"not-finite", []float32{nan, 0, 0, 0, inf, 0, 0, 0, 0}, []string{"--size=1", "--min=-1,-1,-1", "--max=1,1,1"}, []int{2, 2, 2}, map[int]int32{7: 1}, counters{Points: 3, InRange: 1, NotFinite: 2}},
		{"below-min", []float32{-.5, 0, 0}, []string{"--size=1", "--min=0,0,0", "--max=1,1,1"}, []int{1, 1, 1}, nil, counters{Points: 1, OutOfRange: 1}},
		{"three sizes", []float32{1, 1, 1}, []string{"--size=1,.5,2", "--min=0,0,0", "--max=2,2,2"}, []int{1, 4, 2}, map[int]int32{2*2 + 1: 1}, counters{Points: 1, InRange: 1}},
		{"no points", nil, []string{"--size=1", "--min=0,0,0", "--max=1,1,1"}, []int{1, 1, 1}, nil, counters{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, n := voxelizeTo(t, pointsFile(t, c.in...), c.args...)
			assert.Equal(t, []string{"grid"}, f.Names())
			assert.Equal(t, c.shape, shape(t, f, "grid"))
			assert.Equal(t, c.want, n)
			sum := 0
			for i, v := range array[int32](t, f, "grid") {
				assert.Equal(t, c.filled[i], v, "cell %d", i)
				sum += int(v)
			}
			assert.Equal(t, int64(sum), n.InRange)
		})
	}
}

func TestReductionsOfFeatures(t *testing.T) {
	in := writeNPZ(t, map[string]*tensor.Tensor{
		"points":   rows(3, .5, .5, .5, .6, .5, .5, .7, .5, .5, 1.5, .5, .5),
		"features": rows(2, -3, 1, -1, 2, -2, 6, 7, 8),
	})
	grid := []string{"--size=1", "--min=0,0,0", "--max=3,1,1"}
	for mode, want := range map[string][]float32{
		"sum": {-6, 9, 7, 8, 0, 0}, "mean": {-2, 3, 7, 8, 0, 0}, "max": {-1, 6, 7, 8, 0, 0}, "min": {-3, 1, 7, 8, 0, 0},
	} {
		f, _ := voxelizeTo(t, in, append(grid, "--mode", mode)...)
		assert.Equal(t, []int{1, 1, 3, 2}, shape(t, f, "grid"), mode)
		assert.Equal(t, want, array[float32](t, f, "grid"), mode)
	}
	f, _ := voxelizeTo(t, in, append(grid, "--mode=max", "--empty", "-9.5")...)
	assert.Equal(t, []float32{-1, 6, 7, 8, -9.5, -9.5}, array[float32](t, f, "grid"))
	f, _ = voxelizeTo(t, in, append(grid, "--mode=occupancy")...)
	assert.Equal(t, []uint8{1, 1, 0}, array[uint8](t, f, "grid"))
	f, _ = voxelizeTo(t, pointsFile(t, .25, .5, .5, .75, .5, .5), "--size=1", "--min=0,0,0", "--max=1,1,1", "--mode=mean")
	assert.Equal(t, []float32{.5, .5, .5}, array[float32](t, f, "grid"), "x, y and z where there are no features")
}

func TestHardVoxels(t *testing.T) {
	in := writeNPZ(t, map[string]*tensor.Tensor{
		"points":   rows(3, 2.5, .5, .5, .5, .5, .5, 9, 9, 9, .25, .5, .5, .75, .5, .5, 1.5, .5, .5),
		"features": rows(1, 10, 11, 12, 13, 14, 15),
	})
	f, n := voxelizeTo(t, in, "--size=1", "--min=0,0,0", "--max=3,1,1", "--mode=hard", "--max-points=2", "--max-voxels=2")
	assert.Equal(t, []string{"voxels", "coords", "num_points", "point_voxel"}, f.Names())
	assert.Equal(t, []int{2, 2, 4}, shape(t, f, "voxels"))
	assert.Equal(t, []float32{2.5, .5, .5, 10, 0, 0, 0, 0, .5, .5, .5, 11, .25, .5, .5, 13}, array[float32](t, f, "voxels"))
	assert.Equal(t, []int32{0, 0, 2, 0, 0, 0}, array[int32](t, f, "coords"), "z, y, x")
	assert.Equal(t, []int32{1, 2}, array[int32](t, f, "num_points"))
	assert.Equal(t, []int32{0, 1, -1, 1, -1, -1}, array[int32](t, f, "point_voxel"))
	assert.Equal(t, counters{Points: 6, InRange: 5, OutOfRange: 1, DroppedPoints: 2, DroppedVoxels: 1}, n)

	f, n = voxelizeTo(t, in, "--size=1", "--min=0,0,0", "--max=3,1,1", "--mode=hard", "--order=xyz")
	assert.Equal(t, []int{3, 32, 4}, shape(t, f, "voxels"))
	assert.Equal(t, []int32{2, 0, 0, 0, 0, 0, 1, 0, 0}, array[int32](t, f, "coords"))
	assert.Zero(t, n.DroppedPoints+n.DroppedVoxels)
	f, _ = voxelizeTo(t, in, "--size=1", "--min=0,0,0", "--max=3,1,1", "--preset=mmcv")
	assert.Equal(t, []int{3, 35, 4}, shape(t, f, "voxels"))
}

func TestSparseVoxels(t *testing.T) {
	in := writeNPZ(t, map[string]*tensor.Tensor{
		"points":   rows(3, 2.5, .5, .5, .5, .5, .5, .25, .5, .5, 9, 9, 9),
		"features": rows(1, 10, 1, 2, 3),
	})
	grid := []string{"--size=1", "--min=0,0,0", "--max=3,1,1", "--mode=sparse"}
	f, n := voxelizeTo(t, in, grid...)
	assert.Equal(t, []string{"coords", "counts", "features", "point_voxel", "row_splits"}, f.Names())
	assert.Equal(t, []int32{0, 0, 0, 0, 0, 2}, array[int32](t, f, "coords"))
	assert.Equal(t, []int32{2, 1}, array[int32](t, f, "counts"))
	assert.Equal(t, []float32{1.5, 10}, array[float32](t, f, "features"))
	assert.Equal(t, []int32{1, 0, 0, -1}, array[int32](t, f, "point_voxel"))
	assert.Equal(t, []int64{0, 2}, array[int64](t, f, "row_splits"))
	assert.Equal(t, counters{Points: 4, InRange: 3, OutOfRange: 1}, n)
	f, _ = voxelizeTo(t, in, append(grid, "--reduce=max")...)
	assert.Equal(t, []float32{2, 10}, array[float32](t, f, "features"))
	f, n = voxelizeTo(t, in, append(grid, "--reduce=count", "--max-voxels=1")...)
	assert.False(t, f.Has("features"))
	assert.Equal(t, counters{Points: 4, InRange: 3, OutOfRange: 1, DroppedPoints: 1, DroppedVoxels: 1}, n)
}

func TestOffsetsMakeABatch(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for _, offsets := range []*tensor.Tensor{vec[int64](0, 2, 2, 3), vec[int32](0, 2, 2, 3)} {
		in := writeNPZ(t, map[string]*tensor.Tensor{"points": rows(3, .5, .5, .5, 1.5, .5, .5, 1.5, .5, .5), "offsets": offsets})
		grid := []string{"--size=1", "--min=0,0,0", "--max=2,1,1"}
		f, _ := voxelizeTo(t, in, grid...)
		assert.Equal(t, []int{3, 1, 1, 2}, shape(t, f, "grid"))
		assert.Equal(t, []int32{1, 1, 0, 0, 0, 1}, array[int32](t, f, "grid"))
		for _, mode := range []string{"hard", "sparse"} {
			f, _ = voxelizeTo(t, in, append(grid, "--mode", mode)...)
			assert.Equal(t, []int32{0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 1}, array[int32](t, f, "coords"), mode)
			assert.Equal(t, []int64{0, 2, 2, 3}, array[int64](t, f, "row_splits"), mode)
		}
		_, stderr := good(t, "voxelize", in, "-o", filepath.Join(t.TempDir(), "o.npz"), "--size=1", "--plot", filepath.Join(t.TempDir(), "o.png"))
		assert.Contains(t, stderr, "first of 3 clouds")
	}
}

// One cloud in every format that holds it gives the same arrays.
func TestEveryFormatGivesTheSameVoxels(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	cloud, err := ply.ReadFile(lidar, dataset.Options{})
	require.NoError(t, err)
	points, features := cloud.Points, cloud.Features
	p, err := tensor.Data[float32](points)
	require.NoError(t, err)
	i, err := tensor.Data[float32](features)
	require.NoError(t, err)
	var flat []float32
	var raw []byte
	for k := range i {
		flat = append(append(flat, p[3*k:3*k+3]...), i[k])
	}
	for _, v := range flat {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	dir := t.TempDir()
	write := func(name string, fill func(b *bytes.Buffer) error) string {
		var b bytes.Buffer
		require.NoError(t, fill(&b))
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
		return path
	}
	args := []string{"--size=.5", "--min", "-10,-20,-3", "--max", "10,8,3", "--mode=hard", "--max-points=3"}
	want, counted := voxelizeTo(t, lidar, args...)
	assert.NotZero(t, counted.DroppedPoints)
	for _, in := range []string{
		write("ascii.pcd", func(b *bytes.Buffer) error { _, err := b.Write(cloudtest.PCD(t, cloud, "ascii")); return err }),
		write("lzf.pcd", func(b *bytes.Buffer) error {
			_, err := b.Write(cloudtest.PCD(t, cloud, "binary_compressed"))
			return err
		}),
		write("named by its content", func(b *bytes.Buffer) error { _, err := b.Write(cloudtest.PCD(t, cloud, "binary")); return err }),
		write("ascii.ply", func(b *bytes.Buffer) error { return ply.Write(b, cloud, ply.Options{ASCII: true}) }),
		write("a.bin", func(b *bytes.Buffer) error { _, err := b.Write(raw); return err }),
		write("a.npy", func(b *bytes.Buffer) error { return npy.Write(b, rows(4, flat...)) }),
		writeNPZ(t, map[string]*tensor.Tensor{"points": points, "features": features, "other": points}),
	} {
		got, n := voxelizeTo(t, in, args...)
		assert.Equal(t, counted, n, in)
		for _, name := range []string{"coords", "num_points", "point_voxel"} {
			assert.Equal(t, array[int32](t, want, name), array[int32](t, got, name), "%s: %s", in, name)
		}
		assert.Equal(t, array[float32](t, want, "voxels"), array[float32](t, got, "voxels"), in)
	}
	five := write("n.pcd.bin", func(b *bytes.Buffer) error { _, err := b.Write(make([]byte, 40)); return err })
	f, _ := voxelizeTo(t, five, "--size=100", "--mode=hard")
	assert.Equal(t, []int{1, 32, 5}, shape(t, f, "voxels"), "nuScenes has intensity and ring")
	f, _ = voxelizeTo(t, write("b.bin", func(b *bytes.Buffer) error { _, err := b.Write(raw); return err }), "--size=100", "--mode=sparse", "--columns=y,x,z,i")
	turned := array[float32](t, f, "features")
	assert.Equal(t, 1, shape(t, f, "features")[1], "the fourth column is the feature, whatever its name")
	assert.NotEmpty(t, turned)
}

func TestBoundsThatAreNotGivenHoldEveryPoint(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	r := rand.New(rand.NewPCG(7, 7))
	for range 200 {
		span := math.Exp(r.Float64()*10 - 5)
		xyz := make([]float32, 30)
		for i := range xyz {
			xyz[i] = float32((r.Float64() - .5) * span)
		}
		if r.IntN(2) == 0 {
			for i := range xyz { // on the cells' borders
				xyz[i] = float32(math.Round(float64(xyz[i])*10) * .1)
			}
		}
		c := &cloud{points: rows(3, xyz...)}
		req := &voxelRequest{size: vecFlag{size: true}}
		require.NoError(t, req.size.Set([]string{".1", ".05", ".02", "0.3,1,.0625"}[r.IntN(4)]))
		which := r.IntN(3)
		lo, hi, ok := c.bounds()
		require.True(t, ok)
		if which == 1 {
			require.NoError(t, req.lo.Set(vecString(lo)))
		}
		if which == 2 {
			for k := range hi {
				hi[k] += .01
			}
			require.NoError(t, req.hi.Set(vecString(hi)))
		}
		g, derived, err := req.grid(c, ops.VoxelizeOptions{Mode: ops.VoxelSparse})
		require.NoError(t, err)
		assert.True(t, derived)
		n, err := g.Cells()
		require.NoError(t, err)
		for i, v := range xyz {
			k := i % 3
			cell := math.Floor(float64((v - float32(g.Min[k])) / float32(g.Size[k])))
			if which == 2 && cell >= float64(n[k]) {
				continue // beyond what was given
			}
			require.True(t, cell >= 0 && cell < float64(n[k]), "%v in cell %v of %d along %d: %+v", v, cell, n[k], k, g)
		}
		for k := range 3 {
			assert.InDelta(t, lo[k], g.Min[k], 2*g.Size[k], "no more room than it takes")
			assert.InDelta(t, hi[k], g.Max[k], 2*g.Size[k])
		}
	}
	f, n := voxelizeTo(t, lidar, "--size=.5")
	assert.Equal(t, []string{"grid", "min", "max"}, f.Names())
	assert.Zero(t, n.OutOfRange)
	assert.Equal(t, []float64{-23.5, -52.5, -3}, array[float64](t, f, "min"))
}

// On the grid's upper end rounding decides, and it is that of the file's points.
func TestPointsAreBinnedInTheirType(t *testing.T) {
	grid := []string{"--size=.1", "--min=-2,-2,-2", "--max=-1.2,-1.2,-1.2"}
	wide := writeNPZ(t, map[string]*tensor.Tensor{"points": tensor.Must(tensor.Of([]float64{-1.2, -1.2, -1.2}, 1, 3))})
	for in, want := range map[string]int64{wide: 0, pointsFile(t, -1.2, -1.2, -1.2): 1} {
		f, n := voxelizeTo(t, in, grid...)
		assert.Equal(t, want, n.InRange)
		assert.Equal(t, int32(want), array[int32](t, f, "grid")[511], "the last cell")
		for _, mode := range []string{"hard", "sparse", "mean"} {
			_, n = voxelizeTo(t, in, append(grid, "--mode", mode)...)
			assert.Equal(t, want, n.InRange, mode)
		}
	}
	_, stderr := good(t, append([]string{"voxelize", wide, "-o", filepath.Join(t.TempDir(), "o.npz")}, grid...)...)
	assert.NotContains(t, stderr, "rounded")
}

// Points and features of doubles give doubles, each by themselves.
func TestDoublesGiveDoubles(t *testing.T) {
	const x, v = 5648321.001, 1700000000.25
	points, features := tensor.Must(tensor.Of([]float64{x, 0, 0, x, .5, 0}, 2, 3)), tensor.Must(tensor.Of([]float64{v, v + 1}, 2, 1))
	single := rows(1, .5, 1)
	box := []string{"--size=1", "--min=5648321,0,0", "--max=5648322,1,1"}
	to := func(mode string, features *tensor.Tensor) *npz.File {
		in := map[string]*tensor.Tensor{"points": points}
		if features != nil {
			in["features"] = features
		}
		f, n := voxelizeTo(t, writeNPZ(t, in), append(box, "--mode", mode)...)
		assert.Equal(t, int64(2), n.InRange)
		return f
	}
	assert.Equal(t, []float64{x, .25, 0}, array[float64](t, to("mean", nil), "grid"))
	assert.Equal(t, []float64{v + .5}, array[float64](t, to("mean", features), "grid"))
	assert.Equal(t, []float64{v + .5}, array[float64](t, to("sparse", features), "features"))
	assert.Equal(t, []float64{x, 0, 0, v, x, .5, 0, v + 1}, array[float64](t, to("hard", features), "voxels")[:8])
	assert.Equal(t, []float32{.75}, array[float32](t, to("mean", single), "grid"))
	assert.Equal(t, []float64{x, 0, 0, .5, x, .5, 0, 1}, array[float64](t, to("hard", single), "voxels")[:8])
}

func TestOpen3DPreset(t *testing.T) {
	// Two voxels of size 1 from -0.5 on: 0 and 0.25 in the first, 1 in the second.
	in := writeNPZ(t, map[string]*tensor.Tensor{"points": tensor.Must(tensor.Of([]float64{0, 0, 0, 1, 0, 0, .25, 0, 0}, 3, 3)), "features": rows(1, 5, 6, 7)})
	f, n := voxelizeTo(t, in, "--size=1", "--preset=open3d")
	assert.Equal(t, []float64{.125, 0, 0, 6, 1, 0, 0, 6}, array[float64](t, f, "features"), "means of x, y, z and the feature")
	assert.Equal(t, []int32{0, 0, 0, 1, 0, 0}, array[int32](t, f, "coords"), "x, y, z")
	assert.Equal(t, int64(3), n.InRange)
	assert.Equal(t, []float64{-.5, -.5, -.5}, array[float64](t, f, "min"))
}

// open3d-ply-double: the same points as doubles in a PLY and a PCD, and as float64 in an .npy, make equal voxels with float64 means. In
// float32, neighbouring values would be half a metre apart.
func TestOpen3DPLYDouble(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	file, err := os.Open("testdata/utm.npy")
	require.NoError(t, err)
	defer file.Close()
	xyz, err := npy.Read(file)
	require.NoError(t, err)
	cloud, err := dataset.CloudOf(xyz, tensor.Must(tensor.New(tensor.F64, xyz.Dim(0), 0)), nil)
	require.NoError(t, err)
	dir := t.TempDir()
	files := []string{"testdata/utm.npy"}
	for name, write := range map[string]func(io.Writer) error{
		"utm.ply":       func(w io.Writer) error { return ply.Write(w, cloud, ply.Options{}) },
		"utm-ascii.ply": func(w io.Writer) error { return ply.Write(w, cloud, ply.Options{ASCII: true}) },
		"utm.pcd":       func(w io.Writer) error { _, err := w.Write(cloudtest.PCD(t, cloud, "binary")); return err },
		"utm-ascii.pcd": func(w io.Writer) error { _, err := w.Write(cloudtest.PCD(t, cloud, "ascii")); return err },
		"utm-lzf.pcd":   func(w io.Writer) error { _, err := w.Write(cloudtest.PCD(t, cloud, "binary_compressed")); return err },
	} {
		var b bytes.Buffer
		require.NoError(t, write(&b))
		files = append(files, filepath.Join(dir, name))
		require.NoError(t, os.WriteFile(files[len(files)-1], b.Bytes(), 0o644))
	}
	var means []float64
	for _, in := range files {
		out := filepath.Join(dir, "o.npz")
		stdout, stderr := good(t, "voxelize", in, "-o", out, "--preset", "open3d", "--size", "0.2")
		assert.Contains(t, stdout, "voxels: 267\n", in)
		assert.NotContains(t, stderr, "rounded", in)
		f, _ := voxelizeTo(t, in, "--preset=open3d", "--size=0.2")
		got := array[float64](t, f, "features")
		if means == nil {
			means = got
		}
		require.Len(t, got, 3*267)
		assert.Equal(t, means, got, in)
	}
}

func TestOrganisedCloudsCountTheirHoles(t *testing.T) {
	_, n := voxelizeTo(t, people, "--size=.1")
	assert.Equal(t, counters{Points: 4800, InRange: 3770, NotFinite: 1030}, n)
	out := filepath.Join(t.TempDir(), "o.npz")
	stdout, _ := good(t, "voxelize", people, "-o", out, "--size=.1", "--mode=sparse", "--backend=cpu", "--min=-2,-4,1", "--max=3,2,10")
	assert.Equal(t, `cloud: 4800 points, from -1.894252,-3.856338,1.768 to 2.929652,1.121314,9.757001 (x, y, z)
grid: 50 x 60 x 90 cells of 0.1,0.1,0.1, from -2,-4,1 to 3,2,10
features: red, green, blue, alpha
voxels: 1670
  points  in range  out of range  not finite  dropped points  dropped voxels
    4800      3770             0        1030               0               0
wrote `+out+`, computed on cpu
`, stdout)
}

// If the given bounds are no multiple of the cell size, the printed bounds are the bounds of the cells.
func TestTheGridThatIsPrintedIsTheOneOfItsCells(t *testing.T) {
	in := pointsFile(t, 0, 0, 0, 9.5, 9.5, 9.5)
	for want, args := range map[string][]string{
		"grid: 3 x 3 x 3 cells of 3,3,3, from 0,0,0 to 9,9,9\n":                 {"--size=3", "--min=0,0,0", "--max=10,10,10"},
		"grid: 4 x 4 x 4 cells of 3,3,3, from 0,0,0 to 12,12,12\n":              {"--size=3", "--min=0,0,0", "--max=11,11,11"},
		"grid: 11 x 10 x 10 cells of 1,1,1, from 0,0,0 to 11,10,10\n":           {"--size=1", "--min=0,0,0", "--max=10.5,10.4,10"},
		"grid: 11 x 11 x 10 cells of 1,1,1, from -0.5,-0.6,0 to 10.5,10.4,10\n": {"--size=1", "--max=10.5,10.4,10"},
	} {
		stdout, _ := good(t, append([]string{"voxelize", in, "-o", filepath.Join(t.TempDir(), "o.npz"), "--backend=cpu"}, args...)...)
		assert.Contains(t, stdout, want)
	}
}

func TestOneFeatureMayHaveOneDimension(t *testing.T) {
	points := rows(3, .5, .5, .5, .6, .5, .5, 1.5, .5, .5)
	for _, features := range []*tensor.Tensor{vec[float32](1, 2, 5), vec[int64](1, 2, 5), rows(1, 1, 2, 5)} {
		f, _ := voxelizeTo(t, writeNPZ(t, map[string]*tensor.Tensor{"points": points, "features": features}), "--size=1", "--mode=sum", "--min=0,0,0", "--max=2,1,1")
		assert.Equal(t, []int{1, 1, 2, 1}, shape(t, f, "grid"))
		assert.Equal(t, []float32{3, 5}, array[float32](t, f, "grid"))
	}
}

func TestFilesSayWhatWasNotUsed(t *testing.T) {
	mesh := filepath.Join(t.TempDir(), "mesh.ply")
	require.NoError(t, os.WriteFile(mesh, []byte("ply\nformat ascii 1.0\nelement vertex 1\nproperty int x\nproperty float y\nproperty float z\n"+
		"element face 1\nproperty list int int i\nend_header\n16777217 0.2 0.3\n1 0\nmore\n"), 0o644))
	_, stderr := good(t, "voxelize", mesh, "-o", filepath.Join(t.TempDir(), "o.npz"), "--size=1")
	for _, want := range []string{"1 of face", "1 numbers were rounded", "4 bytes after the points"} {
		assert.Contains(t, stderr, want)
	}
}

func TestPictureOfVoxels(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	dir := t.TempDir()
	for _, mode := range []string{"count", "mean", "sparse", "occupancy", "hard"}[:thorough.Of(3, 5)] {
		for _, order := range []string{"zyx", "xyz"} {
			picture := filepath.Join(dir, mode+order+".png")
			good(t, "voxelize", lidar, "-o", filepath.Join(dir, "o.npz"), "--size=1", "--mode", mode, "--order", order, "--plot", picture)
			file, err := os.Open(picture)
			require.NoError(t, err)
			config, err := png.DecodeConfig(file)
			require.NoError(t, err)
			require.NoError(t, file.Close())
			assert.Equal(t, 1200, config.Width)
		}
		a, err := os.ReadFile(filepath.Join(dir, mode+"zyx.png"))
		require.NoError(t, err)
		b, err := os.ReadFile(filepath.Join(dir, mode+"xyz.png"))
		require.NoError(t, err)
		assert.True(t, bytes.Equal(a, b), "%s: the picture does not depend on the order of dimensions", mode)
	}
}
