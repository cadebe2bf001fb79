package viz_test

import (
	"bytes"
	"context"
	"fmt"
	"image/png"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
	"github.com/robocache/robocache/viz"
)

func ExampleWritePNG() {
	device, err := ops.Open("cpu")
	if err != nil {
		panic(err)
	}
	defer device.Close()

	times := tensor.Must(tensor.Of([]int64{0, 100e6, 1000e6}, 3))
	values := tensor.Must(tensor.Of([]float32{1, 5, 3}, 3, 1))
	ticks := tensor.Must(tensor.Of([]int64{50e6, 500e6}, 2))
	got, err := device.Resample(context.Background(), ops.ResampleArgs{Src: values, SrcTimes: times, Targets: ops.At(ticks)}, ops.ResampleOptions{})
	if err != nil {
		panic(err)
	}

	var picture bytes.Buffer
	panel := viz.Panel{
		Title:     "joint 1",
		Unit:      "rad",
		Recorded:  viz.Series{Times: times, Values: values},
		Resampled: viz.Series{Times: ticks, Values: got.Values},
	}
	if err := viz.WritePNG(&picture, []viz.Panel{panel}, viz.Options{Title: "One joint"}); err != nil {
		panic(err)
	}
	config, err := png.DecodeConfig(&picture)
	if err != nil {
		panic(err)
	}
	fmt.Println(config.Width, "x", config.Height)
	// Output: 1200 x 280
}

func ExamplePick() {
	// A constant, two of one magnitude, and one that would flatten them.
	values := tensor.Must(tensor.Of([]float32{
		7, 0.0, 0.1, 1000,
		7, 0.5, 0.3, 2000,
		7, 1.0, 0.2, 9000,
	}, 3, 4))
	show, err := viz.Pick(values)
	fmt.Println(show, err)
	// Output: [1 2] <nil>
}

func ExampleWriteVoxelsPNG() {
	voxels := viz.Voxels{
		Coords: tensor.Must(tensor.Of([]int32{0, 0, 0, 0, 0, 1, 1, 0, 0}, 3, 3)), // z, y, x
		Values: tensor.Must(tensor.Of([]int32{5, 2, 9}, 3)),
		Label:  "points in a voxel",
		Counts: true,
		Min:    [3]float64{-1, -1, 0},
		Size:   [3]float64{0.5, 0.5, 0.5},
	}
	var picture bytes.Buffer
	if err := viz.WriteVoxelsPNG(&picture, voxels, viz.Options{Title: "Three voxels"}); err != nil {
		panic(err)
	}
	config, err := png.DecodeConfig(&picture)
	if err != nil {
		panic(err)
	}
	fmt.Println(config.Width, "dots wide")
	// Output: 1200 dots wide
}
