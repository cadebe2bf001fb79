package ops_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Three samples of two features, read at four times of a uniform clock. The last is after the end: it holds the end
// sample and is not valid.
func ExampleDevice_Resample() {
	dev, err := ops.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	const ms = 1_000_000
	out, err := dev.Resample(context.Background(), ops.ResampleArgs{
		Src:      tensor.Must(tensor.Of([]float32{0, 10, 1, 20, 2, 30}, 3, 2)),
		SrcTimes: tensor.Must(tensor.Of([]int64{0, 10 * ms, 20 * ms}, 3)),
		Targets:  ops.Uniform(0, 125, 4), // every 8 ms
	}, ops.ResampleOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	values, _ := tensor.Data[float32](out.Values)
	valid, _ := tensor.Data[uint8](out.Valid)
	age, _ := tensor.Data[int64](out.Age)
	fmt.Println(values)
	fmt.Println(valid, age)
	// Output:
	// [0 10 0.8 18 1.6 26 2 30]
	// [1 1 1 0] [0 8000000 6000000 4000000]
}

// One buffer of the host brings recordings to the device while the ones before are worked on: a queue copies, another works and waits for the copies on the
// device, and the host waits for nothing but its buffer.
func ExampleQueue_Copy() {
	ctx := context.Background()
	dev, err := ops.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	const ms = 1_000_000
	buffer, err1 := dev.AllocHost(tensor.F32, 2, 1)
	src, err2 := dev.Alloc(tensor.F32, 2, 1)
	dst, err3 := dev.Alloc(tensor.F32, 3, 1)
	times, err4 := dev.Upload(ctx, tensor.Must(tensor.Of([]int64{0, 10 * ms}, 2)))
	plan, err5 := dev.PlanResample(ops.ResampleArgs{Dst: dst, Src: src, SrcTimes: times, Targets: ops.Uniform(0, 200, 3)}, ops.ResampleOptions{})
	load, err6 := dev.NewQueue()
	loaded, err7 := dev.NewMark()
	if err := errors.Join(err1, err2, err3, err4, err5, err6, err7); err != nil {
		fmt.Println(err)
		return
	}
	work := dev.Queue()
	fill, _ := tensor.Data[float32](buffer)
	for i := range 3 {
		errs := []error{loaded.Wait(ctx)} // the buffer may be written again
		fill[0], fill[1] = float32(i), float32(i+1)
		errs = append(errs, load.After(work), load.Copy(src, buffer), load.Mark(loaded), work.After(loaded), plan.Run(work))
		if err := errors.Join(errs...); err != nil {
			fmt.Println(err)
			return
		}
	}
	err = work.Synchronize(ctx)
	last, _ := tensor.Data[float32](dst) // on the CPU; a GPU's is copied first
	fmt.Println(last, err)
	fmt.Println(errors.Join(plan.Close(), loaded.Close(), load.Close(), buffer.Close(), src.Close(), dst.Close(), times.Close()))
	// Output:
	// [2 2.5 3] <nil>
	// <nil>
}

// Joints at 100 Hz and a camera's features at 20 Hz, side by side at 50 Hz. The camera's clock is 5 ms behind, its features are
// normalised, and it begins late: until then its columns are 0 and its flag is.
func ExampleDevice_Fuse() {
	dev, err := ops.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	const ms = 1_000_000
	out, err := dev.Fuse(context.Background(), ops.FuseArgs{
		Streams: []ops.FuseStream{
			{
				Src:      tensor.Must(tensor.Of([]float32{0, 1, 2, 3, 4, 5, 6}, 7, 1)),
				SrcTimes: tensor.Must(tensor.Of([]int64{0, 10 * ms, 20 * ms, 30 * ms, 40 * ms, 50 * ms, 60 * ms}, 7)),
			},
			{
				Src:      tensor.Must(tensor.Of([]float64{100, 200, 300, 600}, 2, 2)),
				SrcTimes: tensor.Must(tensor.Of([]int64{15 * ms, 65 * ms}, 2)),
				Offset:   5 * time.Millisecond, // so at 20 and 70 ms on the common clock
				Options:  ops.ResampleOptions{Interp: ops.InterpPrevious, Edge: ops.EdgeFill},
				Shift:    []float32{200, 400},
				Scale:    []float32{0.01, 0.005},
			},
		},
		Targets: ops.Uniform(0, 50, 4), // every 20 ms
	}, ops.FuseOptions{DType: tensor.F32}) // f64 unless given, since a stream is
	if err != nil {
		fmt.Println(err)
		return
	}
	values, _ := tensor.Data[float32](out.Values)
	valid, _ := tensor.Data[uint8](out.Valid)
	age, _ := tensor.Data[int64](out.Age)
	for i := range 4 {
		fmt.Println(values[3*i:][:3], valid[2*i:][:2], age[2*i:][:2])
	}
	// Output:
	// [0 0 0] [1 0] [0 -20000000]
	// [2 -1 -1] [1 1] [0 0]
	// [4 -1 -1] [1 1] [0 20000000]
	// [6 -1 -1] [1 1] [0 40000000]
}

// A plan is checked once and run many times without allocating. Errors in values surface at Synchronize.
func ExampleDevice_PlanResample() {
	dev, err := ops.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	values := []float64{1, 3}
	times := []float64{0, 1}
	src, _ := dev.Upload(context.Background(), tensor.Must(tensor.Of(values, 2, 1)))
	srcTimes, _ := dev.Upload(context.Background(), tensor.Must(tensor.Of(times, 2)))
	targets, _ := dev.Upload(context.Background(), tensor.Must(tensor.Of([]float64{.25, .5}, 2)))
	dst, _ := dev.Alloc(tensor.F64, 2, 1)
	plan, err := dev.PlanResample(ops.ResampleArgs{Dst: dst, Src: src, SrcTimes: srcTimes, Targets: ops.At(targets)}, ops.ResampleOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer plan.Close()
	stream, _ := dev.NewQueue()
	defer stream.Close()
	for _, step := range []float64{1, 2, -1} {
		times[1] = step
		dev.Copy(context.Background(), srcTimes, tensor.Must(tensor.Of(times, 2)))
		plan.Run(stream)
		if err := stream.Synchronize(context.Background()); err != nil {
			fmt.Println(err, errors.Is(err, ops.ErrUnsorted))
			continue
		}
		host := make([]float64, 2)
		dev.Copy(context.Background(), tensor.Must(tensor.Of(host, 2, 1)), dst)
		fmt.Println(host)
	}
	// Output:
	// [1.5 2]
	// [1.25 1.5]
	// ops.Resample: SrcTimes: time goes backwards at row 0, index 1 true
}

// Two episodes of different length, packed one after the other, read at their own targets.
func ExampleDevice_Resample_ragged() {
	dev, err := ops.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	out, err := dev.Resample(context.Background(), ops.ResampleArgs{
		Src:        tensor.Must(tensor.Of([]float32{0, 1, 2, 100, 200}, 5, 1)),
		SrcTimes:   tensor.Must(tensor.Of([]int64{0, 10, 20, 0, 10}, 5)),
		SrcOffsets: tensor.Must(tensor.Of([]int64{0, 3, 5}, 3)),
		Targets:    ops.At(tensor.Must(tensor.Of([]int64{5, 15, 5}, 3))),
		DstOffsets: tensor.Must(tensor.Of([]int64{0, 2, 3}, 3)),
	}, ops.ResampleOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	values, _ := tensor.Data[float32](out.Values)
	fmt.Println(values)
	// Output:
	// [0.5 1.5 150]
}

// Windows from anchors in nanoseconds, on a recording whose times are in seconds: each target is divided by 1e9.
func ExampleAnchored() {
	dev, err := ops.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	out, err := dev.Resample(context.Background(), ops.ResampleArgs{
		Src:      tensor.Must(tensor.Of([]float64{0, 1, 2}, 1, 3, 1)),
		SrcTimes: tensor.Must(tensor.Of([]float64{10, 10.5, 11}, 3)),
		Targets:  ops.Anchored(tensor.Must(tensor.Of([]int64{10_500_000_000}, 1)), tensor.Must(tensor.Of([]int64{-250_000_000, 0, 500_000_000}, 3))),
	}, ops.ResampleOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	values, _ := tensor.Data[float64](out.Values)
	fmt.Println(values)
	// Output:
	// [0.5 1 2]
}

// A force of 250 Hz brought down to 50 Hz: the largest and the mean of the samples since the last tick, side by side.
func ExampleDevice_Resample_window() {
	dev, err := ops.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	force := []float32{0, 0, 1, 9, 2, 0, 0, 0, 1, 1, 3}
	var values []float32
	var times []int64
	for i, f := range force {
		values = append(values, f, f)
		times = append(times, int64(i)*4e6)
	}
	out, err := dev.Resample(context.Background(), ops.ResampleArgs{
		Src:      tensor.Must(tensor.Of(values, len(force), 2)),
		SrcTimes: tensor.Must(tensor.Of(times, len(force))),
		Targets:  ops.Uniform(0, 50, 3),
	}, ops.ResampleOptions{Interp: ops.InterpWindowMean, Window: ops.Within(20 * time.Millisecond), Channels: []ops.Channel{{Lo: 0, Hi: 1, Interp: ops.InterpWindowMax}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	made, _ := tensor.Data[float32](out.Values)
	fmt.Println(made)
	// Output:
	// [0 0 9 2.4 3 1]
}

// Four points in cells of half a metre: each cell's mean, and what became of every point.
func ExampleDevice_Voxelize() {
	dev, err := ops.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	points := []float32{0, 0, 0, 0.25, 0.25, 0.25, 1.1, 0, 0, 99, 0, 0}
	grid := ops.VoxelGrid{Min: [3]float64{0, 0, 0}, Max: [3]float64{4, 4, 4}, Size: [3]float64{.5, .5, .5}}
	out, err := dev.Voxelize(context.Background(), ops.VoxelizeArgs{Points: tensor.Must(tensor.Of(points, 4, 3))}, grid, ops.VoxelizeOptions{Mode: ops.VoxelSparse, Reduce: ops.ReduceMean})
	if err != nil {
		fmt.Println(err)
		return
	}
	coords, _ := tensor.Data[int32](out.Coords)
	means, _ := tensor.Data[float32](out.Values)
	fmt.Println(coords, means)
	fmt.Println(out.Found.InRange, "in range,", out.Found.OutOfRange, "out of range")
	// Output:
	// [0 0 0 0 0 2] [0.125 0.125 0.125 1.1 0 0]
	// 3 in range, 1 out of range
}

// Batches of two windows from a store of two episodes, of three and two windows, in an order of their own each epoch. The cursor is what has
// to be kept to go on from there.
func ExampleDevice_Draw() {
	dev, err := ops.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	table := func(x ...int64) *tensor.Tensor { return tensor.Must(tensor.Of(x, len(x))) }
	cursor := table(0, 0)
	args := ops.DrawArgs{Cursor: cursor, Windows: table(0, 3, 5), Begins: table(0, 9e9), Streams: []ops.DrawStream{{Offsets: table(0, 40, 70)}}}
	opts := ops.DrawOptions{Rate: 50, Count: 5, Batch: 2, Shuffle: true, Seed: 42}
	for range 3 {
		out, err := dev.Draw(context.Background(), args, opts)
		if err != nil {
			fmt.Println(err)
			return
		}
		episodes, _ := tensor.Data[int64](out.Episodes)
		ticks, _ := tensor.Data[int64](out.Ticks)
		starts, _ := tensor.Data[int64](out.Streams[0].Starts)
		at, _ := tensor.Data[int64](cursor)
		fmt.Println(episodes, ticks, starts, at)
	}
	fmt.Println(opts.Batches(), "batches an epoch,", opts.Dropped(), "window dropped")
	// Output:
	// [1 0] [1 2] [40 0] [0 2]
	// [1 0] [0 0] [40 0] [0 4]
	// [0 0] [1 2] [0 0] [1 2]
	// 2 batches an epoch, 1 window dropped
}

// Two pictures of other sizes as a batch: resized, mirrored at random by epoch and position, and normalised for a network that was trained on
// ImageNet.
func ExampleDevice_Frames() {
	dev, err := ops.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	picture := func(h, w int) ops.FrameSurface {
		pixels := make([]uint8, h*w*3)
		for i := range pixels {
			pixels[i] = uint8(i / 3 % w * 255 / (w - 1)) // from black to white
		}
		return ops.FrameSurface{Format: ops.FrameRGB, Planes: [3]*tensor.Tensor{tensor.Must(tensor.Of(pixels, h, w, 3))}}
	}
	opts, err := ops.FramesPreset("imagenet")
	if err != nil {
		fmt.Println(err)
		return
	}
	opts.FlipX, opts.Seed = 0.5, 42
	batch := make([]float32, 2*3*2*4)
	args := ops.FramesArgs{
		Dst:      tensor.Must(tensor.Of(batch, 2, 3, 2, 4)), // [N,C,H,W]
		Surfaces: []ops.FrameSurface{picture(480, 640), picture(240, 320)},
		Keys:     tensor.Must(tensor.Of([]int64{0, 7, 0, 8}, 2, 2)), // positions 7 and 8 in epoch 0
	}
	if err := dev.Frames(context.Background(), args, opts); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f\n%.2f\n", batch[:4], batch[24:28]) // the first rows of red
	// Output:
	// [-1.48 -0.49 0.60 1.60]
	// [1.60 0.60 -0.49 -1.48]
}
