package benchmark

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// VoxelizeJob fills a dense grid with Cells cells along each axis, over the cube from -10 to 10, or makes hard voxels. Every run clears
// the grid and uses the same points, so a small job finds them in the cache.
type VoxelizeJob struct {
	Points   int    `json:"points"`
	Cells    int    `json:"cells"`
	Features int    `json:"features,omitempty"` // for sum, mean, max and min; for hard they include the coordinates
	Reduce   string `json:"reduce"`             // occupancy, count, sum, mean, max or min; or hard
	DType    string `json:"dtype,omitempty"`    // of points, features and output: f32 (default) or f64, not for hard
	Cloud    string `json:"cloud"`              // uniform: all over the cube; lidar: dense near the middle, flat, in random order
}

var clouds = []string{"uniform", "lidar"}

// The limits for hard voxels are typical for a detector.
const (
	hard       = "hard"
	hardPoints = 10
	hardVoxels = 60_000
)

var voxelizeSuite = suite{
	name: "voxelize", about: "points into a dense grid, which is cleared, or hard voxels",
	jobs: func() []Job {
		var out []Job
		for _, j := range []VoxelizeJob{
			{Points: 500_000, Cells: 128, Reduce: "occupancy"}, {Points: 500_000, Cells: 128, Reduce: "count"},
			{Points: 20_000_000, Cells: 256, Reduce: "count"}, {Points: 1_000_000, Cells: 200, Features: 16, Reduce: "mean"},
			{Points: 1_000_000, Cells: 200, Features: 16, Reduce: "max"}, {Points: 1_000_000, Cells: 128, Features: 4, Reduce: "mean"},
			{Points: 1_000_000, Cells: 128, Features: 4, Reduce: "mean", DType: "f64"},
			{Points: 30_000, Cells: 64, Features: 3, Reduce: "mean"}, {Points: 50_000, Cells: 100, Features: 1, Reduce: "max"},
			{Points: 250_000, Cells: 256, Features: 1, Reduce: hard},
		} {
			for _, cloud := range clouds {
				j.Cloud = cloud
				one := j
				out = append(out, &one)
			}
		}
		return out
	},
	empty: func() Job { return &VoxelizeJob{} },
	random: func(rng *rand.Rand) Job {
		j := &VoxelizeJob{Points: logUniform(rng, 1000, 4_000_000), Cells: logUniform(rng, 8, 256), Cloud: clouds[rng.IntN(2)]}
		j.Reduce = []string{"occupancy", "count", "mean", "max"}[rng.IntN(4)]
		if j.Reduce == "mean" || j.Reduce == "max" {
			j.Features = logUniform(rng, 1, 16)
		}
		return j
	},
}

func (j *VoxelizeJob) Suite() string { return "voxelize" }

// Name returns the reduction, the points and their features, the cells and the cloud.
func (j *VoxelizeJob) Name() string {
	name := fmt.Sprintf("%s %s", j.Reduce, count(j.Points))
	if j.Features > 0 {
		name += fmt.Sprintf("x%d", j.Features)
	}
	if j.DType != "" {
		name += " " + j.DType
	}
	return name + fmt.Sprintf("->%d^3 %s", j.Cells, j.Cloud)
}

// count formats thousands as k and millions as M.
func count(n int) string {
	switch {
	case n%1_000_000 == 0:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n%1000 == 0:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

func (j *VoxelizeJob) Keys() []Key {
	return keysOf("reduce", j.Reduce, "points", j.Points, "features", j.Features, "dtype", j.DType, "cells", j.Cells, "cloud", j.Cloud)
}

// dtype returns the points' dtype.
func (j *VoxelizeJob) dtype() tensor.DType {
	if j.DType == "f64" {
		return tensor.F64
	}
	return tensor.F32
}

func (j *VoxelizeJob) check() error {
	reduce, err := ops.ParseReduce(j.Reduce)
	if j.Reduce == hard {
		reduce, err = ops.ReduceSum, nil
	}
	switch {
	case err != nil || reduce == ops.ReduceDefault || reduce == ops.ReduceMajority:
		return &InputError{"reduce", fmt.Sprintf("%q", j.Reduce), "occupancy, count, sum, mean, max, min or hard"}
	case reduce.OfFeatures() != (j.Features > 0):
		return &InputError{"features", fmt.Sprint(j.Features), "1 or more for sum, mean, max, min and hard, none for the others"}
	case j.DType != "" && j.DType != "f32" && (j.DType != "f64" || j.Reduce == hard):
		return &InputError{"dtype", fmt.Sprintf("%q", j.DType), "f32, or f64 but for hard"}
	case j.Cloud != clouds[0] && j.Cloud != clouds[1]:
		return &InputError{"cloud", fmt.Sprintf("%q", j.Cloud), fmt.Sprintf("one of %v", clouds)}
	}
	return errors.Join(within("points", j.Points, 1, 1<<30), within("cells", j.Cells, 1, 2048), within("features", j.Features, 0, 1<<12),
		within("cells^3*features", j.Cells*j.Cells*j.Cells*max(j.Features, 1), 1, 1<<34))
}

// cloud generates points in the cube, as x, y and z.
func (j *VoxelizeJob) cloud() []float32 {
	rng := rand.New(rand.NewPCG(seed, 5))
	out := make([]float32, 0, 3*j.Points)
	inside := func(v float64) float32 { return min(max(float32(v), -10), math.Nextafter32(10, 0)) }
	for range j.Points {
		if j.Cloud == "uniform" {
			for range 3 {
				out = append(out, inside(rng.Float64()*20-10))
			}
			continue
		}
		angle, radius := rng.Float64()*20-10, 3*math.Abs(rng.NormFloat64())
		out = append(out, float32(radius*math.Cos(angle)), float32(radius*math.Sin(angle)), float32(0.05*rng.NormFloat64()))
	}
	return out
}

// points returns the cloud in the job's dtype.
func (j *VoxelizeJob) points() (*tensor.Tensor, error) {
	cloud := j.cloud()
	if j.dtype() == tensor.F32 {
		return tensor.Of(cloud, j.Points, 3)
	}
	wide := make([]float64, len(cloud))
	for i, x := range cloud {
		wide[i] = float64(x)
	}
	return tensor.Of(wide, j.Points, 3)
}

func (j *VoxelizeJob) prepare(r *rig) (*work, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	reduce, _ := ops.ParseReduce(j.Reduce)
	grid := []int{j.Cells, j.Cells, j.Cells}
	if j.Features > 0 {
		grid = append(grid, j.Features)
	}
	n, f := int64(j.Points), int64(j.Features)
	cells := int64(1)
	for _, c := range grid {
		cells *= int64(c)
	}
	dtype, out := j.dtype(), reduce.DType()
	if reduce.OfFeatures() && dtype == tensor.F64 {
		out = dtype
	}
	w := &work{sets: 1, limit: true, read: int64(dtype.Size()) * n * (3 + f), written: cells * int64(out.Size())}
	fail := func(err error) (*work, error) { return nil, errors.Join(err, w.close()) }
	up := func(host *tensor.Tensor, err error) (*tensor.Tensor, error) {
		if err != nil {
			return nil, err
		}
		dev, err := r.dev.Upload(context.Background(), host)
		if err == nil {
			w.later(dev.Close)
		}
		return dev, err
	}
	args := ops.VoxelizeArgs{}
	var err error
	if args.Points, err = up(j.points()); err != nil {
		return fail(err)
	}
	if f > 0 {
		if args.Features, err = up(values(rand.New(rand.NewPCG(seed, 6)), dtype, j.Points, j.Features)); err != nil {
			return fail(err)
		}
	}
	opts := ops.VoxelizeOptions{Reduce: reduce}
	if j.Reduce == hard {
		opts = ops.VoxelizeOptions{Mode: ops.VoxelHard, MaxPoints: hardPoints, MaxVoxels: hardVoxels}
		rows := min(j.Points, hardVoxels)
		w.written = int64(rows) * 4 * (hardPoints*(3+f) + 3 + 1)
		for _, out := range []struct {
			to    **tensor.Tensor
			dtype tensor.DType
			shape []int
		}{{&args.Values, tensor.F32, []int{rows, hardPoints, 3 + j.Features}}, {&args.Coords, tensor.I32, []int{rows, 3}}, {&args.Counts, tensor.I32, []int{rows}}} {
			if *out.to, err = r.alloc(w, out.dtype, out.shape...); err != nil {
				return fail(err)
			}
		}
	} else if args.Grid, err = r.alloc(w, out, grid...); err != nil {
		return fail(err)
	}
	size := 20 / float64(j.Cells)
	box := ops.VoxelGrid{Min: [3]float64{-10, -10, -10}, Max: [3]float64{10, 10, 10}, Size: [3]float64{size, size, size}}
	err = r.plans(w, func(int) (*ops.Plan, error) {
		p, err := r.dev.PlanVoxelize(args, box, opts)
		if err != nil {
			return nil, err
		}
		return &p.Plan, nil
	})
	if err != nil {
		return fail(err)
	}
	return w, nil
}
