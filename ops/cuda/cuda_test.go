package cuda_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/test/gputest"
	"github.com/robocache/robocache/internal/test/opstest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// device opens the first GPU, for the time of the test.
func device(t testing.TB) *ops.Device {
	gputest.Require(t)
	dev, err := ops.Open("cuda")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dev.Close()) })
	return dev
}

// memoryInUse reads the device's pool.
func memoryInUse(t testing.TB, dev *ops.Device) func() int64 {
	queue, err := cuda.Stream(dev.Queue())
	require.NoError(t, err)
	return func() int64 {
		// Memory is freed in the order of a stream: what was closed may not be back yet.
		require.NoError(t, queue.Context().Synchronize(context.Background()))
		_, used, err := queue.Context().PoolInfo()
		require.NoError(t, err)
		return int64(used)
	}
}

func TestCUDA(t *testing.T) {
	dev := device(t)
	opstest.Run(t, dev, opstest.Config{MemoryInUse: memoryInUse(t, dev)})
}

// Every kernel image gives the same bits: the whole suite again on each kind that the device takes of all kernels. TestCUDA
// runs the cubins that there are in any case.
func TestEveryImage(t *testing.T) {
	gputest.Require(t)
	for _, force := range ptx.Forces() {
		t.Run(force, func(t *testing.T) {
			switch lack, why := without(t, force); {
			case len(lack) > 0 && force == "cubin":
				t.Skipf("no cubin for this device and driver of %s. scripts/build_ptx.sh --cubin DIR makes those for sm_90 where there is a "+
					"ptxas, and --adopt DIR takes them; once all have one, the suite runs on cubins alone. %v", strings.Join(lack, ", "), why)
			case len(lack) == len(ptx.Families()):
				t.Skipf("this device or driver takes no %s: %v", force, why)
			case len(lack) > 0:
				t.Fatalf("no %s of %s: %v", force, strings.Join(lack, ", "), why)
			}
			t.Setenv("ROBOCACHE_KERNELS", force)
			dev, err := ops.Open("cuda")
			require.NoError(t, err)
			defer dev.Close()
			assert.Contains(t, dev.Info().Kernels, force)
			opstest.Run(t, dev, opstest.Config{}, opstest.Operations...)
		})
	}
}

// without lists the kernel families that have no image of a kind for the first GPU, and says why the first has none.
func without(t *testing.T, force string) (lack []string, why error) {
	drv := gputest.Require(t)
	dev, err := drv.Device(0)
	require.NoError(t, err)
	major, minor := dev.ComputeCapability()
	for _, family := range ptx.Families() {
		var none *ptx.NoImageError
		if _, err := ptx.Choose(family, major, minor, drv.Version(), force); errors.As(err, &none) {
			lack = append(lack, family)
			why = cmp.Or[error](why, none)
		}
	}
	return lack, why
}

func TestForcingAnUnknownImageIsRefused(t *testing.T) {
	gputest.Require(t)
	t.Setenv("ROBOCACHE_KERNELS", "sm_42.ptx")
	_, err := ops.Open("cuda")
	assert.ErrorIs(t, err, ops.ErrNoDevice)
	assert.ErrorIs(t, err, ptx.ErrBadForce)
}

func TestOpenNamesTheDevices(t *testing.T) {
	gputest.Require(t)
	for _, name := range []string{"cuda:99", "cuda:x", "cuda:-1"} {
		_, err := ops.Open(name)
		assert.ErrorIs(t, err, ops.ErrNoDevice, name)
	}
	dev, err := ops.Open("auto")
	require.NoError(t, err)
	defer dev.Close()
	assert.Equal(t, "cuda:0", dev.Name())
	assert.Equal(t, "the best backend found", dev.Info().Why)
}

func TestOutOfMemoryIsToldApartAndSurvived(t *testing.T) {
	dev := device(t)
	_, err := dev.Alloc(tensor.F32, 1<<40)
	assert.ErrorIs(t, err, cudadrv.ErrOutOfMemory)
	small, err := dev.Alloc(tensor.F32, 1024)
	require.NoError(t, err)
	assert.NoError(t, small.Close())
}

func TestTensorsAndStreamsOfOtherDevicesAreRefused(t *testing.T) {
	dev := device(t)
	cpu, err := ops.Open("cpu")
	require.NoError(t, err)
	defer cpu.Close()
	args := ops.ResampleArgs{
		Dst: tensor.Must(tensor.New(tensor.F32, 1, 1)), Src: tensor.Must(tensor.Of([]float32{1, 2}, 2, 1)),
		SrcTimes: tensor.Must(tensor.Of([]int64{0, 1}, 2)), Targets: ops.Uniform(0, 1, 1),
	}
	_, err = dev.PlanResample(args, ops.ResampleOptions{})
	assert.ErrorIs(t, err, ops.ErrWrongDevice)
	plan, err := cpu.PlanResample(args, ops.ResampleOptions{})
	require.NoError(t, err)
	assert.ErrorIs(t, plan.Run(dev.Queue()), ops.ErrWrongDevice)
	_, err = cuda.Stream(cpu.Queue())
	assert.ErrorIs(t, err, ops.ErrWrongDevice)

	second, err := ops.Open("cuda")
	require.NoError(t, err)
	defer second.Close()
	empty := args
	empty.Dst, err = dev.Alloc(tensor.F32, 1, 1)
	require.NoError(t, err)
	defer empty.Dst.Close()
	empty.Src, err = dev.Upload(context.Background(), args.Src)
	require.NoError(t, err)
	defer empty.Src.Close()
	empty.SrcTimes, err = dev.Upload(context.Background(), args.SrcTimes)
	require.NoError(t, err)
	defer empty.SrcTimes.Close()
	onGPU, err := dev.PlanResample(empty, ops.ResampleOptions{})
	require.NoError(t, err)
	defer onGPU.Close()
	assert.ErrorIs(t, onGPU.Run(second.Queue()), ops.ErrWrongDevice)
}

func TestCloseLeavesNothingOpen(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	drv := gputest.Require(t)
	before := len(drv.Leaks())
	dev, err := ops.Open("cuda")
	require.NoError(t, err)
	_, err = dev.Resample(context.Background(), ops.ResampleArgs{
		Src:      tensor.Must(tensor.Of([]float64{0, 0, 0, 1}, 1, 1, 4)),
		SrcTimes: tensor.Must(tensor.Of([]int64{0}, 1)), Targets: ops.Uniform(0, 1, 3),
	}, ops.ResampleOptions{Interp: ops.InterpSlerp})
	require.NoError(t, err)
	require.NoError(t, dev.Close())
	assert.NoError(t, dev.Close())
	assert.Len(t, drv.Leaks(), before)
	_, err = dev.Alloc(tensor.F32, 1)
	assert.ErrorIs(t, err, ops.ErrClosed)
}

func FuzzTimes(f *testing.F)   { fuzz(f, opstest.FuzzTimes) }
func FuzzShapes(f *testing.F)  { fuzz(f, opstest.FuzzShapes) }
func FuzzOptions(f *testing.F) { fuzz(f, opstest.FuzzOptions) }

func fuzz(f *testing.F, target func(*testing.F, ...*ops.Device)) {
	gputest.Require(f)
	cpu, err := ops.Open("cpu")
	require.NoError(f, err)
	gpu, err := ops.Open("cuda")
	require.NoError(f, err)
	f.Cleanup(func() { assert.NoError(f, errors.Join(cpu.Close(), gpu.Close())) })
	target(f, cpu, gpu)
}

// One pair of tensors of more than 2^31 elements is part of the suite; a row of that many samples is refused.
func TestRowsBeyond32BitsAreRefused(t *testing.T) {
	dev := device(t)
	one, err := dev.Upload(context.Background(), tensor.Must(tensor.Of([]float32{1}, 1, 1)))
	require.NoError(t, err)
	defer one.Close()
	times, err := dev.Upload(context.Background(), tensor.Must(tensor.Of([]int64{0}, 1)))
	require.NoError(t, err)
	defer times.Close()
	_, err = dev.PlanResample(ops.ResampleArgs{Dst: one, Src: one, SrcTimes: times, Targets: ops.Uniform(0, 1e9, math.MaxInt32+1)}, ops.ResampleOptions{})
	assert.ErrorIs(t, err, ops.ErrTooLarge)
}
