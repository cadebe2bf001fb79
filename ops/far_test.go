package ops_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/opstest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ops/cpu"
	"github.com/robocache/robocache/tensor"
)

// far is a device whose tensors are not on the host as far as anyone can see: their memory has an address and no slice.
// The work is done by the CPU. It shows that what package ops does for such devices is right where there is no GPU.
type far struct {
	cpu *cpu.Backend
	mu  sync.Mutex
	mem map[uint64]*farBuffer
	at  uint64

	pinned map[any]bool // memory of AllocHost

	room int // allocations until there is no more memory, if above 0
}

// farBuffer is memory of that device: a host tensor behind an address.
type farBuffer struct {
	dev  *far
	addr uint64
	host *tensor.Tensor // one dimension
}

// lastFar is the device opened last.
var lastFar *far

func init() {
	backend.Register(backend.Opener{Name: "far", Open: func(arg string) (backend.Backend, error) {
		if arg != "" && arg != "0" {
			return nil, fmt.Errorf("got device %q, there is only 0", arg)
		}
		lastFar = &far{cpu: cpu.New(2), mem: map[uint64]*farBuffer{}, pinned: map[any]bool{}}
		return lastFar, nil
	}})
}

func (b *farBuffer) Addr() uint64   { return b.addr }
func (b *farBuffer) Size() int64    { return int64(b.host.Len() * b.host.DType().Size()) }
func (b *farBuffer) Device() string { return "far:0" }

func (b *farBuffer) Close() error {
	b.dev.mu.Lock()
	defer b.dev.mu.Unlock()
	delete(b.dev.mem, b.addr)
	return nil
}

func (f *far) Name() string { return "far:0" }
func (f *far) Describe() ops.Info {
	return ops.Info{Backend: "far", Name: "far:0", Product: "the CPU, seen from afar"}
}
func (f *far) Close() error                    { return f.cpu.Close() }
func (f *far) inUse() (bytes int64, count int) { return f.sum(), len(f.mem) }

func (f *far) sum() (n int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, b := range f.mem {
		n += b.Size()
	}
	return n
}

func (f *far) Alloc(dtype tensor.DType, shape []int) (*tensor.Tensor, error) {
	n, err := tensor.NumElements(shape...)
	if err != nil {
		return nil, err
	}
	if n > 1<<28 {
		return nil, &ops.MemoryError{Device: f.Name(), What: tensor.FormatShape(shape), Bytes: int64(n) * int64(dtype.Size()), Err: errors.New("no more")}
	}
	host, err := tensor.New(dtype, n)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.room == 1 {
		return nil, &ops.MemoryError{Device: f.Name(), What: tensor.FormatShape(shape), Bytes: int64(n) * int64(dtype.Size()), Err: errors.New("no more")}
	}
	f.room = max(f.room-1, 0)
	f.at++
	b := &farBuffer{dev: f, addr: f.at << 32, host: host}
	f.mem[b.addr] = b
	return tensor.OnDevice(b, dtype, shape...)
}

// near returns the host tensor behind t.
func (f *far) near(t *tensor.Tensor) *tensor.Tensor {
	if t == nil || t.OnHost() {
		return t
	}
	addr, _ := t.Addr()
	f.mu.Lock()
	b := f.mem[addr>>32<<32]
	f.mu.Unlock()
	return tensor.Must(b.host.AsStrided(t.Shape(), t.Strides(), int(addr-b.addr)/t.DType().Size()))
}

func (f *far) Copy(dst, src *tensor.Tensor) error {
	return f.cpu.Copy(f.near(dst), f.near(src))
}

// farPlan looks at the tensors of the device before it runs the plan inside.
type farPlan struct {
	backend.Plan
	bound backend.Bound
}

func (p *farPlan) Run(q backend.Queue) error {
	if err := p.bound.CheckOpen(); err != nil {
		return err
	}
	return p.Plan.Run(inside(q))
}

// Tensors are those of the plan.
func (p *farPlan) Tensors() *backend.Bound { return &p.bound }

// farBatch runs a batch of the plans inside, and looks at all of theirs first.
type farBatch struct {
	backend.Plan
	plans []*farPlan
}

func (p *farBatch) Run(q backend.Queue) error {
	for i, x := range p.plans {
		if err := x.bound.CheckOpen(); err != nil {
			return &ops.BatchError{Index: i, Err: err}
		}
	}
	return p.Plan.Run(inside(q))
}

func (f *far) Batch(plans []backend.Plan, o ops.BatchOptions) (backend.Plan, error) {
	m := &farBatch{}
	var near []backend.Plan
	for i, p := range plans {
		x, ok := p.(*farPlan)
		if v, is := p.(*farVoxels); is {
			x, ok = &v.farPlan, true
		}
		if !ok {
			return nil, &ops.ArgError{Op: "PlanBatch", Arg: fmt.Sprintf("plans[%d]", i), Kind: ops.ErrWrongDevice}
		}
		m.plans, near = append(m.plans, x), append(near, x.Plan)
	}
	var err error
	m.Plan, err = f.cpu.Batch(near, o)
	return m, err
}

// all puts what is near in place of each tensor.
func (f *far) all(ts ...**tensor.Tensor) {
	for _, t := range ts {
		*t = f.near(*t)
	}
}

// resample is a job on what is near.
func (f *far) resample(j *backend.ResampleJob) *backend.ResampleJob {
	a := *j
	f.all(&a.Dst, &a.Valid, &a.Age, &a.Pad, &a.Src, &a.SrcTimes, &a.Targets.Times, &a.Targets.Anchors, &a.Targets.Deltas,
		&a.SrcLengths, &a.SrcOffsets, &a.SrcStarts, &a.DstLengths, &a.DstOffsets)
	return &a
}

func (f *far) fuse(j *backend.FuseJob) *backend.FuseJob {
	a := *j
	f.all(&a.Dst, &a.Valid, &a.Age, &a.Pad, &a.Targets.Times, &a.Targets.Anchors, &a.Targets.Deltas, &a.DstLengths, &a.DstOffsets)
	a.Parts = slices.Clone(a.Parts)
	for m := range a.Parts {
		a.Parts[m].ResampleJob = f.resample(a.Parts[m].ResampleJob)
	}
	return &a
}

func (f *far) Resample(j *backend.ResampleJob) (backend.Plan, error) {
	p, err := f.cpu.Resample(f.resample(j))
	return &farPlan{p, j.Bound()}, err
}

func (f *far) Fuse(j *backend.FuseJob) (backend.Plan, error) {
	p, err := f.cpu.Fuse(f.fuse(j))
	return &farPlan{p, j.Bound()}, err
}

func (f *far) Backward(j *backend.BackwardJob) (backend.Plan, error) {
	p, err := f.cpu.Backward(&backend.BackwardJob{Forward: f.fuse(j.Forward), Alone: j.Alone})
	return &farPlan{p, j.Bound()}, err
}

// farVoxels is a farPlan with counters.
type farVoxels struct {
	farPlan
	plan backend.VoxelizePlan
}

func (p *farVoxels) Counts() (ops.VoxelCounts, error) { return p.plan.Counts() }

func (f *far) Voxelize(j *backend.VoxelizeJob) (backend.VoxelizePlan, error) {
	a := *j
	f.all(&a.Grid, &a.Values, &a.Coords, &a.Counts, &a.RowSplits, &a.PointVoxel, &a.Points, &a.Features, &a.Labels, &a.Offsets, &a.Poses)
	p, err := f.cpu.Voxelize(&a)
	return &farVoxels{farPlan{p, j.Bound()}, p}, err
}

func (f *far) Draw(j *backend.DrawJob) (backend.Plan, error) {
	a := *j
	a.Streams = slices.Clone(a.Streams)
	f.all(&a.Episodes, &a.Ticks, &a.Keys, &a.Anchors, &a.Cursor, &a.Windows, &a.Begins)
	for m := range a.Streams {
		f.all(&a.Streams[m].Starts, &a.Streams[m].Lengths, &a.Streams[m].Offsets)
	}
	p, err := f.cpu.Draw(&a)
	return &farPlan{p, j.Bound()}, err
}

func (f *far) Tally(j *backend.TallyJob) (backend.Plan, error) {
	a := *j
	f.all(&a.Counts, &a.Sums, &a.Src, &a.Prefixes)
	p, err := f.cpu.Tally(&a)
	return &farPlan{p, j.Bound()}, err
}

func (f *far) Frames(j *backend.FramesJob) (backend.Plan, error) {
	a := *j
	f.all(&a.Dst, &a.Select, &a.Valid, &a.Keys)
	a.Surfaces, a.Sources = slices.Clone(a.Surfaces), slices.Clone(a.Sources)
	for i := range a.Surfaces {
		s := &a.Surfaces[i]
		f.all(&s.Planes[0], &s.Planes[1], &s.Planes[2])
		for k := range a.Sources {
			if a.Sources[k].FrameSurface == &j.Surfaces[i] {
				a.Sources[k].FrameSurface = s
			}
		}
	}
	p, err := f.cpu.Frames(&a)
	return &farPlan{p, j.Bound()}, err
}

func (f *far) Deproject(j *backend.DeprojectJob) (backend.Plan, error) {
	a := *j
	f.all(&a.Points, &a.Offsets, &a.Colors, &a.Mask, &a.Counts, &a.Depth, &a.Intrinsics, &a.Poses, &a.Color)
	p, err := f.cpu.Deproject(&a)
	return &farPlan{p, j.Bound()}, err
}

func (f *far) FarthestPoints(j *backend.FarthestJob) (backend.Plan, error) {
	a := *j
	f.all(&a.Indices, &a.Points)
	p, err := f.cpu.FarthestPoints(&a)
	return &farPlan{p, j.Bound()}, err
}

func (f *far) Integrate(j *backend.IntegrateJob) (backend.Plan, error) {
	a := *j
	f.all(&a.Keys, &a.Distance, &a.Weight, &a.Color, &a.State, &a.Counts, &a.Depth, &a.Intrinsics, &a.Poses, &a.Images)
	p, err := f.cpu.Integrate(&a)
	return &farPlan{p, j.Bound()}, err
}

func TestDeviceWithMemoryOfItsOwn(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	dev, err := ops.Open("far")
	backend := lastFar
	require.NoError(t, err)
	// The answers are the CPU's, which all cases compare: here it is where tensors lie that counts.
	parts := []string{"resample", "fuse", "backward", "voxel", "draw", "tally", "frames", "deproject", "farthest", "integrate", "life"}
	if !thorough.Long { // the generated cases have views and absent tensors of every kind
		parts = []string{"resample/generated", "resample/values", "resample/strides", "resample/empty", "fuse/generated", "fuse/values", "backward/generated", "backward/values",
			"voxel/generated", "voxel/caps", "voxel/batches", "draw/generated", "draw/values", "tally/named", "tally/generated", "frames/generated", "frames/values", "deproject", "farthest", "integrate", "life"}
	}
	opstest.Run(t, dev, opstest.Config{MemoryInUse: backend.sum}, parts...)
	bytes, count := backend.inUse()
	require.Zero(t, count, "%d bytes of device memory were not closed", bytes)
	require.NoError(t, dev.Close())
}

// Whichever allocation of a call fails, the call closes what it made, and gives back the arguments as they were.
func TestCallsThatRunOutOfMemoryKeepNone(t *testing.T) {
	dev, err := ops.Open("far")
	backend := lastFar
	require.NoError(t, err)
	defer dev.Close()
	near := func(dtype tensor.DType, shape ...int) *tensor.Tensor { return tensor.Must(tensor.New(dtype, shape...)) }
	there, err := dev.Alloc(tensor.F32, 4, 3) // outputs are made where this is
	require.NoError(t, err)
	defer there.Close()
	times := near(tensor.F64, 4)
	calls := map[string]func() (outputs []*tensor.Tensor, err error){
		"Resample": func() ([]*tensor.Tensor, error) {
			out, err := dev.Resample(context.Background(), ops.ResampleArgs{Src: there, SrcTimes: times, Targets: ops.Uniform(0, 1, 2)}, ops.ResampleOptions{})
			return []*tensor.Tensor{out.Values, out.Valid, out.Age}, err
		},
		"Fuse": func() ([]*tensor.Tensor, error) {
			out, err := dev.Fuse(context.Background(), ops.FuseArgs{Streams: []ops.FuseStream{{Src: there, SrcTimes: times}}, Targets: ops.Uniform(0, 1, 2)}, ops.FuseOptions{})
			return []*tensor.Tensor{out.Values, out.Valid, out.Age}, err
		},
		"ResampleBackward": func() ([]*tensor.Tensor, error) {
			out, err := dev.ResampleBackward(context.Background(), ops.ResampleBackwardArgs{DstGrad: there, SrcTimes: times, Targets: ops.At(near(tensor.F64, 4)), DstLengths: near(tensor.I64, 1)}, ops.ResampleOptions{})
			return []*tensor.Tensor{out.SrcGrad}, err
		},
		"Voxelize": func() ([]*tensor.Tensor, error) {
			grid := ops.VoxelGrid{Max: [3]float64{2, 2, 2}, Size: [3]float64{1, 1, 1}}
			out, err := dev.Voxelize(context.Background(), ops.VoxelizeArgs{Points: there, Features: near(tensor.F32, 4, 2)}, grid, ops.VoxelizeOptions{Mode: ops.VoxelSparse})
			return []*tensor.Tensor{out.Values, out.Coords, out.Counts, out.RowSplits, out.PointVoxel}, err
		},
		"Draw": func() ([]*tensor.Tensor, error) {
			table := func(x ...int64) *tensor.Tensor { return tensor.Must(tensor.Of(x, len(x))) }
			out, err := dev.Draw(context.Background(), ops.DrawArgs{Cursor: table(0, 0), Windows: table(0, 2), Begins: table(0), Streams: []ops.DrawStream{{Offsets: table(0, 5)}}}, ops.DrawOptions{Rate: 1, Count: 2, Batch: 2})
			made := []*tensor.Tensor{out.Episodes, out.Ticks, out.Keys, out.Anchors}
			for _, s := range out.Streams {
				made = append(made, s.Starts, s.Lengths)
			}
			return made, err
		},
	}
	for name, call := range calls {
		failed := 0
		for {
			backend.room = failed + 1
			outputs, err := call()
			if err == nil {
				for _, o := range outputs {
					require.NoError(t, o.Close(), name)
				}
				break
			}
			failed++
			for _, o := range outputs {
				require.Nil(t, o, "%s, allocation %d failed", name, failed)
			}
			_, count := backend.inUse()
			require.Equal(t, 1, count, "%s, allocation %d failed: tensors on the device", name, failed)
		}
		backend.room = 0
		require.GreaterOrEqual(t, failed, 4, name) // the outputs, and an input
	}
}
