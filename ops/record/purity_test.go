package record

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// request is a plan to be recorded.
type request struct {
	op      string
	tensors []Tensor
	fn      PlanFunc
}

func f32(name string, align int, shape ...int) Tensor {
	return Tensor{Name: name, DType: tensor.F32, Shape: shape, Align: align}
}

func i64(name string, align int, shape ...int) Tensor {
	return Tensor{Name: name, DType: tensor.I64, Shape: shape, Align: align}
}

// requests are plans of every operation, with the alignments that are given in turn.
func requests(align func(size int) int) []request {
	a := func() int { return align(4) }
	w := func() int { return align(8) }
	list := []request{
		{"resample", []Tensor{f32("Dst", a(), 4, 50, 32), f32("Src", a(), 4, 100, 32), i64("SrcTimes", w(), 100)}, func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error) {
			return dev.PlanResample(ops.ResampleArgs{Dst: t[0], Src: t[1], SrcTimes: t[2], Targets: ops.Uniform(0, 30, 50)}, ops.ResampleOptions{})
		}},
		{"resample", []Tensor{f32("Dst", a(), 200, 7), f32("Src", a(), 900, 7), i64("SrcTimes", w(), 900), i64("SrcOffsets", w(), 5), i64("Targets", w(), 200), i64("DstOffsets", w(), 5)}, func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error) {
			return dev.PlanResample(ops.ResampleArgs{Dst: t[0], Src: t[1], SrcTimes: t[2], SrcOffsets: t[3], Targets: ops.At(t[4]), DstOffsets: t[5]}, ops.ResampleOptions{Channels: []ops.Channel{{Lo: 0, Hi: 4, Interp: ops.InterpSlerp}, {Lo: 4, Hi: 7, Interp: ops.InterpPchip}}})
		}},
		{"fuse", []Tensor{f32("Dst", a(), 4, 50, 20), {Name: "Valid", DType: tensor.U8, Shape: []int{4, 50, 2}, Align: align(1)}, f32("Streams[0].Src", a(), 4, 100, 8), i64("Streams[0].SrcTimes", w(), 100), f32("Streams[1].Src", a(), 4, 30, 12), i64("Streams[1].SrcTimes", w(), 4, 30)},
			func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error) {
				return dev.PlanFuse(ops.FuseArgs{Dst: t[0], Valid: t[1], Streams: []ops.FuseStream{{Src: t[2], SrcTimes: t[3]}, {Src: t[4], SrcTimes: t[5], Shift: make([]float32, 12), Scale: ones(12), Options: ops.ResampleOptions{Interp: ops.InterpNearest}}}, Targets: ops.Uniform(0, 30, 50)}, ops.FuseOptions{})
			}},
		{"fuse_backward", []Tensor{f32("DstGrad", a(), 4, 50, 20), f32("Streams[0].SrcGrad", a(), 4, 100, 8), i64("Streams[0].SrcTimes", w(), 100), f32("Streams[1].SrcGrad", a(), 4, 30, 12), i64("Streams[1].SrcTimes", w(), 4, 30)}, func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error) {
			return dev.PlanFuseBackward(ops.FuseBackwardArgs{DstGrad: t[0], Streams: []ops.FuseBackwardStream{{SrcGrad: t[1], SrcTimes: t[2]}, {SrcGrad: t[3], SrcTimes: t[4], Scale: ones(12)}}, Targets: ops.Uniform(0, 30, 50)}, ops.FuseOptions{})
		}},
		{"draw", []Tensor{i64("Cursor", w(), 2), i64("Windows", w(), 41), i64("Begins", w(), 40), i64("Anchors", w(), 16), i64("Streams[0].Starts", w(), 16), i64("Streams[0].Lengths", w(), 16), i64("Streams[0].Offsets", w(), 41)}, func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error) {
			return dev.PlanDraw(ops.DrawArgs{Cursor: t[0], Windows: t[1], Begins: t[2], Anchors: t[3], Streams: []ops.DrawStream{{Starts: t[4], Lengths: t[5], Offsets: t[6]}}}, ops.DrawOptions{Rate: 10, Count: 1000, Batch: 16, Shuffle: true})
		}},
	}
	list = append(list, request{"deproject", []Tensor{f32("Points", a(), 2, 30, 40, 3), i64("Counts", w(), 2, 3), f32("Depth", a(), 2, 30, 40), f32("Intrinsics", a(), 2, 4)},
		func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error) {
			return dev.PlanDeproject(ops.DeprojectArgs{Points: t[0], Counts: t[1], Depth: t[2], Intrinsics: t[3]}, ops.DeprojectOptions{})
		}})
	list = append(list, request{"deproject", []Tensor{f32("Points", a(), 900, 3), i64("Offsets", w(), 3), {Name: "Colors", DType: tensor.U8, Shape: []int{900, 3}, Align: align(1)}, f32("Depth", a(), 2, 30, 40), f32("Intrinsics", a(), 4), {Name: "Color", DType: tensor.U8, Shape: []int{2, 30, 40, 3}, Align: align(1)}},
		func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error) {
			return dev.PlanDeproject(ops.DeprojectArgs{Points: t[0], Offsets: t[1], Colors: t[2], Depth: t[3], Intrinsics: t[4], Color: t[5]}, ops.DeprojectOptions{})
		}})
	list = append(list, request{"integrate", []Tensor{{Name: "Keys", DType: tensor.I32, Shape: []int{9, 3}, Align: a()}, f32("Distance", a(), 9, 512), f32("Weight", a(), 9, 512),
		i64("State", w(), 3), f32("Depth", a(), 2, 30, 40), f32("Intrinsics", a(), 2, 4), f32("Poses", a(), 2, 4, 4)},
		func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error) {
			return dev.PlanIntegrate(ops.IntegrateArgs{Keys: t[0], Distance: t[1], Weight: t[2], State: t[3], Depth: t[4], Intrinsics: t[5], Poses: t[6]}, ops.IntegrateOptions{Voxel: 0.1})
		}})
	for _, points := range []int{1000, 20000} {
		list = append(list, request{"farthest_points", []Tensor{i64("Indices", w(), 2, 5), f32("Points", a(), 2, points, 3)}, func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error) {
			return dev.PlanFarthestPoints(ops.FarthestArgs{Indices: t[0], Points: t[1]}, ops.FarthestOptions{Seed: 3})
		}})
	}
	for _, reduce := range []ops.Reduce{ops.ReduceCount, ops.ReduceOccupancy, ops.ReduceMean, ops.ReduceMax} {
		for _, points := range []int{0, 3000, 5_000_000} {
			dtype := map[ops.Reduce]tensor.DType{ops.ReduceCount: tensor.I32, ops.ReduceOccupancy: tensor.U8}[reduce]
			shape, features := []int{32, 32, 32}, 0
			if dtype == 0 {
				dtype, features, shape = tensor.F32, 4, append(shape, 4)
			}
			r := request{"voxelize", []Tensor{{Name: "Grid", DType: dtype, Shape: shape, Align: align(dtype.Size())}, f32("Points", a(), points, 3)}, nil}
			if features > 0 {
				r.tensors = append(r.tensors, f32("Features", a(), points, features))
			}
			r.fn = func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error) {
				args := ops.VoxelizeArgs{Grid: t[0], Points: t[1]}
				if features > 0 {
					args.Features = t[2]
				}
				p, err := dev.PlanVoxelize(args, ops.VoxelGrid{Max: [3]float64{32, 32, 32}, Size: [3]float64{1, 1, 1}}, ops.VoxelizeOptions{Reduce: reduce})
				if err != nil {
					return nil, err
				}
				return &p.Plan, nil
			}
			list = append(list, r)
		}
	}
	return list
}

func ones(n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = 1
	}
	return list
}

// target is like a real one.
func target() Target {
	return Target{Name: "NVIDIA H100 80GB HBM3", Driver: 13000, Attributes: map[int]int{1: 1024, 16: 132, 75: 9, 76: 0, 97: 227 << 10}}
}

func record(t *testing.T, r *Recorder, q request) []byte {
	p, err := r.Plan(q.op, q.tensors, q.fn)
	require.NoError(t, err, q.op)
	back, err := Decode(p.Encode())
	require.NoError(t, err, q.op)
	require.Equal(t, p, back)
	return p.Encode()
}

// Wherever the memory lies, if the lowest four bits of its addresses are the same, so is the plan. Each recorder here has places of its own, drawn at random.
func TestPlansDependOnTheLowestFourBitsOfAddressesAlone(t *testing.T) {
	t.Setenv("ROBOCACHE_TUNED", "off")
	random := rand.New(rand.NewPCG(1, 2))
	somewhere := func() *Recorder {
		r := &Recorder{target: target()}
		for i := range r.sides {
			s, err := newSide(&r.target, placement{begin: random.Uint64N(1 << 47), gap: random.Uint64N(1<<34) + 1, turn: random.Uint64()})
			require.NoError(t, err)
			r.sides[i] = s
		}
		return r
	}
	fixed, err := New(target())
	require.NoError(t, err)
	defer fixed.Close()
	for range 10 {
		other := somewhere()
		for _, q := range requests(func(size int) int { return random.IntN(16/size) * size }) {
			assert.Equal(t, record(t, fixed, q), record(t, other, q), "%s of %v", q.op, q.tensors)
		}
		require.NoError(t, other.Close())
	}
}

// On those it does depend: there are kernels for memory that is aligned.
func TestPlansDependOnTheLowestFourBits(t *testing.T) {
	r, err := New(target())
	require.NoError(t, err)
	defer r.Close()
	names := map[string]bool{}
	for _, align := range []int{0, 8} {
		q := requests(func(int) int { return align })[0]
		p, err := r.Plan(q.op, q.tensors, q.fn)
		require.NoError(t, err)
		names[p.Launches[0].Entry] = true
	}
	assert.Len(t, names, 2, "%v", names)
}

// Whatever was recorded before, on this recorder or none, a request has the same bytes.
func TestARequestHasTheSameBytesOnEveryRecorder(t *testing.T) {
	used, err := New(target())
	require.NoError(t, err)
	defer used.Close()
	all := requests(func(int) int { return 0 })
	for range 2 {
		for i := range all {
			fresh, err := New(target())
			require.NoError(t, err)
			assert.Equal(t, record(t, fresh, all[i]), record(t, used, all[i]), fmt.Sprint(all[i].op, i))
			require.NoError(t, fresh.Close())
		}
		for i := len(all)/2 - 1; i >= 0; i-- { // and in another order
			all[i], all[len(all)-1-i] = all[len(all)-1-i], all[i]
		}
	}
	for _, s := range used.sides {
		assert.Len(t, s.memories, 2, "all that is left are the cells, on the device and on the host")
	}
}
