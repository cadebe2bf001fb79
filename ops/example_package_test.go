package ops_test

import (
	"context"
	"fmt"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Three calls: open a device, put a joint on a clock with 50 Hz, then put the joint and a gripper side by side on that clock.
// Each row of the last result is a joint position and a gripper state.
func Example() {
	dev, err := ops.Open("cpu")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	const ms = 1_000_000
	joint := ops.FuseStream{
		Src:      tensor.Must(tensor.Of([]float32{0, 1, 2, 3}, 4, 1)),
		SrcTimes: tensor.Must(tensor.Of([]int64{0, 25 * ms, 50 * ms, 75 * ms}, 4)),
	}
	gripper := ops.FuseStream{
		Src:      tensor.Must(tensor.Of([]float32{7, 8}, 2, 1)),
		SrcTimes: tensor.Must(tensor.Of([]int64{0, 40 * ms}, 2)),
		Options:  ops.ResampleOptions{Interp: ops.InterpPrevious},
	}
	clock := ops.Uniform(0, 50, 4) // 0, 20, 40 and 60 ms
	one, err := dev.Resample(context.Background(), ops.ResampleArgs{Src: joint.Src, SrcTimes: joint.SrcTimes, Targets: clock}, ops.ResampleOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	all, err := dev.Fuse(context.Background(), ops.FuseArgs{Streams: []ops.FuseStream{joint, gripper}, Targets: clock}, ops.FuseOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	resampled, _ := tensor.Data[float32](one.Values)
	fused, _ := tensor.Data[float32](all.Values)
	fmt.Println(resampled)
	fmt.Println(fused[:2], fused[2:4], fused[4:6], fused[6:])
	// Output:
	// [0 0.8 1.6 2.4]
	// [0 7] [0.8 7] [1.6 8] [2.4 8]
}
