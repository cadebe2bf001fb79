package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/dataset/pcd"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/cuda" // so that ops.Open("auto") finds a GPU
	"github.com/robocache/robocache/tensor"
	"github.com/robocache/robocache/viz"
)

// grid is the box around the sensor to look at: 28 x 21 x 6.4 metres in cells of 20 cm.
var grid = ops.VoxelGrid{
	Min:  [3]float64{-14, -14, -2.4},
	Max:  [3]float64{14, 7, 4},
	Size: [3]float64{0.2, 0.2, 0.2},
}

//go:embed testdata/scan.pcd
var scan []byte

func main() {
	backend := flag.String("backend", "auto", "where to compute: auto, cpu, cuda or cuda:N")
	flag.Parse()
	if err := run(*backend, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "voxelize:", err)
		os.Exit(1)
	}
}

func run(backend string, out io.Writer) error {
	device, err := ops.Open(backend)
	if err != nil {
		return err
	}
	defer device.Close()

	// A cloud is points [N,3], and named features [N,F]: here the intensity of each echo.
	cloud, err := pcd.Parse(scan, dataset.Options{})
	if err != nil {
		return err
	}
	intensity := cloud.Column("intensity")
	if intensity < 0 {
		return errors.New("the scan has no intensity")
	}

	// Every cell of the grid, with the number of its points: [Z,Y,X].
	dense, err := device.Voxelize(context.Background(), ops.VoxelizeArgs{Points: cloud.Points}, grid,
		ops.VoxelizeOptions{Mode: ops.VoxelDense, Reduce: ops.ReduceCount})
	if err != nil {
		return err
	}
	// The voxels in the order of their first points, with up to 16 points each: [V,16,4].
	both := ops.VoxelizeArgs{Points: cloud.Points, Features: cloud.Features}
	hard, err := device.Voxelize(context.Background(), both, grid, ops.VoxelizeOptions{Mode: ops.VoxelHard, MaxPoints: 16, MaxVoxels: 4000})
	if err != nil {
		return err
	}
	// The cells that hold points, with the mean of each feature: [V,1].
	sparse, err := device.Voxelize(context.Background(), both, grid, ops.VoxelizeOptions{Mode: ops.VoxelSparse, Reduce: ops.ReduceMean})
	if err != nil {
		return err
	}

	if err := report(out, cloud, device.Name(), []row{
		{"dense, count", dense.Grid, dense.Found},
		{"hard", hard.Values, hard.Found},
		{"sparse, mean", sparse.Values, sparse.Found},
	}); err != nil {
		return err
	}
	if err := write(dense, hard, sparse); err != nil {
		return err
	}
	picture := viz.Voxels{Coords: sparse.Coords, Min: grid.Min, Size: grid.Size}
	var image bytes.Buffer
	if err := viz.WriteVoxelsPNG(&image, picture, viz.Options{Title: fmt.Sprintf("A LiDAR scan of %d points", cloud.Len())}); err != nil {
		return err
	}
	if err := os.WriteFile("voxelize.png", image.Bytes(), 0o644); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, "wrote voxelize.npz and voxelize.png")
	return err
}

// row is a line of the table.
type row struct {
	mode  string
	made  *tensor.Tensor
	found ops.VoxelCounts
}

// report prints the counters. Every point is in one of them: points = in range + out of range + not finite.
func report(out io.Writer, cloud *dataset.Cloud, device string, rows []row) error {
	lo, hi, _ := cloud.Bounds()
	fmt.Fprintf(out, "%d points, x %.1f to %.1f m, y %.1f to %.1f m, z %.1f to %.1f m\n", cloud.Len(), lo[0], hi[0], lo[1], hi[1], lo[2], hi[2])
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "mode\tresult\tin range\tout of range\tnot finite\tdropped points\tdropped voxels\tbackend\t")
	for _, r := range rows {
		f := r.found
		fmt.Fprintf(table, "%s\t%s %s\t%d\t%d\t%d\t%d\t%d\t%s\t\n", r.mode, r.made.DType(), tensor.FormatShape(r.made.Shape()),
			f.InRange, f.OutOfRange, f.NotFinite, f.DroppedPoints, f.DroppedVoxels, device)
	}
	return table.Flush()
}

// write puts the tensors into an archive, under the names that the command robocache voxelize uses.
func write(dense, hard, sparse ops.VoxelizeResult) error {
	var file bytes.Buffer
	archive := npz.NewWriter(&file, npz.Options{Compress: true})
	err := errors.Join(
		archive.Add("grid", dense.Grid),
		archive.Add("hard/voxels", hard.Values),
		archive.Add("hard/coords", hard.Coords),
		archive.Add("hard/num_points", hard.Counts),
		archive.Add("hard/point_voxel", hard.PointVoxel),
		archive.Add("sparse/coords", sparse.Coords),
		archive.Add("sparse/counts", sparse.Counts),
		archive.Add("sparse/features", sparse.Values),
		archive.Add("sparse/point_voxel", sparse.PointVoxel),
	)
	if err := errors.Join(err, archive.Close()); err != nil {
		return err
	}
	return os.WriteFile("voxelize.npz", file.Bytes(), 0o644)
}
