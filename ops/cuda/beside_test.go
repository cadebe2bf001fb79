package cuda_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/test/gputest"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/tensor"
)

// lateReader waits for the work before it, lets the next begin, and copies a number 100 us later: as the blocks of a large Fuse do that come last.
const lateReader = `.version 7.8
.target sm_90
.address_size 64
.visible .entry late_reader(.param .u64 out, .param .u64 in)
{
	.reg .pred %p<2>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [out];
	ld.param.u64 %rd2, [in];
	griddepcontrol.wait;
	griddepcontrol.launch_dependents;
	mov.u64 %rd3, %globaltimer;
again:
	mov.u64 %rd4, %globaltimer;
	sub.s64 %rd5, %rd4, %rd3;
	setp.lt.s64 %p1, %rd5, 100000;
	@%p1 bra again;
	ld.volatile.global.u64 %rd6, [%rd2];
	st.global.u64 [%rd1], %rd6;
	ret;
}
`

// A Draw that is LaunchInputsReady begins beside the work before it, and leaves what that reads as it is until it has ended.
func TestADrawWaitsToWriteForTheWorkBefore(t *testing.T) {
	gputest.Require(t)
	ctx := context.Background()
	dev, err := ops.Open("cuda")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	up := func(list []int64) *tensor.Tensor {
		x, err := dev.Upload(ctx, tensor.Must(tensor.Of(list, len(list))))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, x.Close()) })
		return x
	}
	stream, err := cuda.Stream(dev.Queue())
	require.NoError(t, err)
	device := stream.Context().Device()
	if major, _ := device.ComputeCapability(); major < 9 || !device.DependentLaunch() {
		t.Skip("no GPU here that launches early")
	}
	module, err := stream.Context().LoadModule([]byte(lateReader))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, module.Close()) })
	kernel, err := module.Kernel("late_reader")
	require.NoError(t, err)
	require.NoError(t, kernel.Declare([]int{8, 8}))

	const batches = 20
	anchors, read := up([]int64{0}), up(make([]int64, batches))
	args := ops.DrawArgs{Anchors: anchors, Cursor: up([]int64{0, 0}), Windows: up([]int64{0, 1000}), Begins: up([]int64{7})}
	opts := ops.DrawOptions{Rate: 50, Count: 1000, Batch: 1, Shuffle: true, Seed: 3, TrustTables: true, Launch: ops.LaunchInputsReady}
	draw, err := dev.PlanDraw(args, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, draw.Close()) })
	list, err := cuda.Explain(draw)
	require.NoError(t, err)
	require.True(t, list[0].Dependent, "it is launched early")
	from, _ := anchors.Addr()
	to, _ := read.Addr()
	for i := range uint64(batches) {
		reader, err := kernel.Bind(cudadrv.LaunchConfig{Grid: [3]uint32{1}, Block: [3]uint32{1}, Dependent: true}, to+8*i, from)
		require.NoError(t, err)
		require.NoError(t, draw.Run(dev.Queue()))
		require.NoError(t, reader.Run(stream))
	}
	require.NoError(t, dev.Synchronize(ctx))
	host := tensor.Must(tensor.New(tensor.I64, batches))
	require.NoError(t, dev.Copy(ctx, host, read))
	got, err := tensor.Data[int64](host)
	require.NoError(t, err)
	for i := range int64(batches) {
		assert.Equal(t, ops.Clock{Start: 7, Rate: 50}.Tick(int(opts.Window(0, i))), got[i], "batch %d", i)
	}
}
