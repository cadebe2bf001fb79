package faultsweep

import (
	"context"
	"fmt"
	"slices"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// fuse calls Dev.Fuse once on host tensors, with a stream that is copied by chunks and a normalised stream that is computed by
// elements, so that the call needs a table of streams.
func fuse(dev *ops.Device) error {
	times := tensor.Must(tensor.Of([]int64{0, 10, 20}, 3))
	out, err := dev.Fuse(context.Background(), ops.FuseArgs{Targets: ops.Uniform(5, 1e8, 3), Streams: []ops.FuseStream{
		{Src: tensor.Must(tensor.Of([]float32{0, 10, 20, 30, 40, 50}, 3, 2)), SrcTimes: times},
		{Src: tensor.Must(tensor.Of([]float64{1, 2, 4}, 3, 1)), SrcTimes: times, Options: ops.ResampleOptions{Interp: ops.InterpPchip}, Shift: []float32{4}},
		{Width: 1},
	}}, ops.FuseOptions{DType: tensor.F32})
	if err != nil {
		return err
	}
	got, err := tensor.Data[float32](out.Values)
	if err != nil {
		return err
	}
	if first := []float32{10, 20, 0}; !slices.Equal([]float32{got[0], got[1], got[3]}, first) || got[11] != 0 || got[10] != 0 {
		return fmt.Errorf("fuse: got %v, want rows that begin with %v and end at the last sample, less 4", got, first)
	}
	return nil
}
