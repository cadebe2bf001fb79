package sim_test

import (
	"context"
	"errors"
	"flag"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/opstest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/ops/sim"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// device opens a simulated device of the test's own.
func device(t testing.TB, cfg cudasim.Config) (*ops.Device, *cudasim.Device) {
	d := cudasim.New(cfg)
	b, err := sim.New(d)
	require.NoError(t, err)
	dev, err := ops.NewDevice(b)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, dev.Close())
		assert.Empty(t, d.Leaks(), "left open on the device")
		if f := d.LastFault(); f != nil {
			t.Errorf("the device was lost: %v", f)
		}
	})
	return dev, d
}

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

// The conformance suite, on a device as large as a GPU and on one of a single multiprocessor, which takes some ways that are else for large jobs. Together they
// launch every kernel.
func TestSim(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	t.Parallel()
	var mu sync.Mutex
	launches := map[string]int{}
	saw := func(l *cudasim.Launch) {
		mu.Lock()
		defer mu.Unlock()
		launches[l.Kernel]++
	}
	t.Run("devices", func(t *testing.T) {
		t.Run("resample", func(t *testing.T) {
			t.Parallel()
			dev, err := ops.Open("sim")
			require.NoError(t, err)
			defer func() { assert.NoError(t, dev.Close()) }()
			d, err := sim.Device()
			require.NoError(t, err)
			d.Watch(saw)
			defer d.Watch(nil)
			opstest.Run(t, dev, opstest.Config{}, "resample", "unaligned", "backward", "draw", "tally", "frames", "deproject", "farthest", "integrate")
		})
		t.Run("others", func(t *testing.T) {
			t.Parallel()
			dev, d := device(t, cudasim.Config{})
			d.Watch(saw)
			opstest.Run(t, dev, opstest.Config{}, "fuse", "voxel", "doubles")
		})
		t.Run("one", func(t *testing.T) {
			t.Parallel()
			dev, d := device(t, cudasim.Config{Multiprocessors: 1})
			d.Watch(saw)
			opstest.Run(t, dev, opstest.Config{}, opstest.Few...)
		})
	})
	if t.Failed() || strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
		return
	}
	for _, family := range ptx.Families() {
		for _, entry := range ptx.Images(family)[0].Entries {
			if family != "copy" && family != "meet" && !slices.Contains(networks, family) { // which no operation launches
				assert.GreaterOrEqual(t, launches[entry.Name], 5, entry.Name)
			}
		}
	}
}

// The rest counts what is allocated, and so runs beside no other test.
func TestSimLife(t *testing.T) {
	dev, _ := device(t, cudasim.Config{})
	parts := []string{"life"}
	if thorough.Raced { // only goroutines may race
		parts = opstest.Concurrent
	}
	opstest.Run(t, dev, opstest.Config{MemoryInUse: memoryInUse(t, dev)}, parts...)
}

// A job that is large for its device is cut into blocks of many targets.
func TestLargeJobs(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	t.Parallel()
	dev, _ := device(t, cudasim.Config{Multiprocessors: 1})
	opstest.Run(t, dev, opstest.Config{}, "unaligned/f32", "unaligned/bf16", "unaligned/f16", "unaligned/rounding")
}

// The older architecture's PTX, which clang makes of the same sources, gives the same bits.
func TestOlderImage(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	t.Setenv("ROBOCACHE_KERNELS", "sm_80.ptx")
	dev, _ := device(t, cudasim.Config{})
	assert.Contains(t, dev.Info().Kernels, "sm_80.ptx")
	parts := []string{"resample/golden", "resample/poses", "resample/cubics", "fuse/golden", "fuse/small", "backward/literal", "voxel/golden", "voxel/written", "doubles/specials", "draw/golden", "tally/generated", "frames/generated", "deproject", "farthest", "integrate"}
	if thorough.Long {
		parts = append(parts, "resample/values", "backward/edges", "voxel/caps", "draw/values")
	}
	opstest.Run(t, dev, opstest.Config{}, parts...)
}

// The order in which blocks and warps take their turns changes nothing.
func TestAnyOrderOfBlocksAndWarpsGivesTheSameBits(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	t.Parallel()
	dev, _ := device(t, cudasim.Config{Seed: 1, Multiprocessors: 24})
	opstest.Run(t, dev, opstest.Config{}, "backward/generated", "voxel/caps", "voxel/many-rows", "large/sorted", "draw/generated", "frames/generated", "deproject/compact", "integrate")
}

func TestInfoSaysThatItIsSimulated(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	dev, err := ops.Open("sim")
	require.NoError(t, err)
	defer dev.Close()
	i := dev.Info()
	assert.Equal(t, []string{"sim", "sim:0", cudasim.Name}, []string{i.Backend, i.Name, i.Product})
	assert.Contains(t, i.Driver, "simulated by package cudasim")
	assert.Contains(t, i.Kernels, "sm_90.ptx", "the cubin was refused, the PTX of the same architecture taken")
	_, err = ops.Open("sim:1")
	assert.ErrorIs(t, err, ops.ErrNoDevice)
}

func TestSeveralSimulatedDevicesAreIndependentUntilTheyAreConnected(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	t.Setenv(sim.CountEnv, "3")
	all, err := ops.OpenAll("sim:all")
	require.NoError(t, err)
	some, err := ops.OpenAll("sim:2,cpu,sim,cpu:all")
	require.NoError(t, err)
	var names []string
	for _, d := range append(all, some...) {
		names = append(names, d.Name())
		defer d.Close()
	}
	assert.Equal(t, []string{"sim:0", "sim:1", "sim:2", "sim:2", "cpu", "sim:0", "cpu"}, names)

	one, err := all[1].Upload(context.Background(), tensor.Must(tensor.Of([]int64{5}, 1)))
	require.NoError(t, err)
	defer one.Close()
	assert.Equal(t, "sim:1", one.Device())
	back := tensor.Must(tensor.New(tensor.I64, 1))
	require.NoError(t, all[1].Copy(context.Background(), back, one))
	assert.ErrorIs(t, all[2].Copy(context.Background(), back, one), ops.ErrWrongDevice)
	pinned, err := all[2].AllocHost(tensor.I64, 1)
	require.NoError(t, err)
	defer pinned.Close()
	assert.ErrorIs(t, all[1].Queue().Copy(pinned, one), ops.ErrPageable, "pinned for another device")
	mark, err := all[2].NewMark()
	require.NoError(t, err)
	defer mark.Close()
	assert.ErrorIs(t, all[1].Queue().Mark(mark), ops.ErrWrongDevice)
	assert.ErrorIs(t, all[1].Queue().After(all[2].Queue()), ops.ErrWrongDevice)
	require.NoError(t, ops.Connect(all[1:]...))
	assert.NoError(t, all[1].Queue().After(all[2].Queue()))
	assert.ErrorIs(t, all[1].Queue().Mark(mark), ops.ErrWrongDevice, "a mark stands for its own device's work")

	for name, kind := range map[string]error{"sim:3": ops.ErrNoDevice, "sim:x": ops.ErrNoDevice, "sim:0,sim:3": ops.ErrNoDevice, "": ops.ErrUnknownBackend, "sim,": ops.ErrUnknownBackend, "tpu:all": ops.ErrUnknownBackend, "auto:all": ops.ErrUnknownBackend} {
		got, err := ops.OpenAll(name)
		assert.Empty(t, got)
		assert.ErrorIs(t, err, kind, name)
	}
	for _, n := range []string{"0", "17", "two"} {
		t.Setenv(sim.CountEnv, n)
		_, err := ops.OpenAll("sim:all")
		assert.ErrorIs(t, err, ops.ErrNoDevice)
		assert.ErrorContains(t, err, sim.CountEnv)
	}
}

func TestAutoDoesNotTakeIt(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	dev, err := ops.Open("auto")
	require.NoError(t, err)
	defer dev.Close()
	assert.NotEqual(t, "sim", dev.Info().Backend)
}

// Whoever holds a backend may ask what it is at any time, also while its kernels are loaded, and after Close.
func TestABackendDescribesItselfAtAnyTime(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	b, err := sim.New(cudasim.New(cudasim.Config{}))
	require.NoError(t, err)
	open := b.Describe()
	assert.NotEmpty(t, open.Kernels)
	require.NoError(t, b.Close())
	assert.Equal(t, open, b.Describe())
}

// A kernel's fault comes with the interpreter's report, and the device is lost from then on.
func TestAFaultIsReportedInFull(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	d := cudasim.New(cudasim.Config{})
	b, err := sim.New(d)
	require.NoError(t, err)
	dev, err := ops.NewDevice(b)
	require.NoError(t, err)
	src, err := dev.Alloc(tensor.F32, 4, 2) // and nothing written to it
	require.NoError(t, err)
	times, err := dev.Upload(context.Background(), tensor.Must(tensor.Of([]int64{0, 1, 2, 3}, 4)))
	require.NoError(t, err)
	dst, err := dev.Alloc(tensor.F32, 3, 2)
	require.NoError(t, err)
	plan, err := dev.PlanResample(ops.ResampleArgs{Dst: dst, Src: src, SrcTimes: times, Targets: ops.Uniform(0, 1e9, 3)}, ops.ResampleOptions{})
	require.NoError(t, err)
	require.NoError(t, plan.Run(dev.Queue()))
	err = dev.Synchronize(context.Background())
	assert.ErrorIs(t, err, cudadrv.ErrDeviceLost)
	assert.ErrorIs(t, err, cudadrv.ErrLaunchFailed)
	fault := d.LastFault()
	require.NotNil(t, fault)
	assert.Equal(t, cudasim.Uninitialised, fault.Kind)
	assert.ErrorContains(t, err, fault.Error())
	assert.ErrorContains(t, err, "resample_thread_per_row")
	_, err = dev.Alloc(tensor.F32, 1)
	assert.ErrorIs(t, err, cudadrv.ErrDeviceLost)
	for _, c := range []interface{ Close() error }{plan, src, times, dst} {
		assert.NoError(t, c.Close())
	}
	assert.ErrorIs(t, dev.Close(), cudadrv.ErrDeviceLost, "its stream says why the work did not end")
}

func FuzzTimes(f *testing.F)   { fuzz(f, opstest.FuzzTimes) }
func FuzzShapes(f *testing.F)  { fuzz(f, opstest.FuzzShapes) }
func FuzzOptions(f *testing.F) { fuzz(f, opstest.FuzzOptions) }

func fuzz(f *testing.F, target func(*testing.F, ...*ops.Device)) {
	cpu, err := ops.Open("cpu")
	require.NoError(f, err)
	simulated, err := ops.Open("sim")
	require.NoError(f, err)
	f.Cleanup(func() { assert.NoError(f, errors.Join(cpu.Close(), simulated.Close())) })
	target(f, cpu, simulated)
}
