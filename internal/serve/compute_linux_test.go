package serve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// ramp returns n numbers that differ from their neighbours.
func ramp(n int, scale float32) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = scale * float32((i*7919)%1009)
	}
	return list
}

func of[T tensor.Element](data []T, shape ...int) *tensor.Tensor {
	return tensor.Must(tensor.Of(data, shape...))
}

func ticks(n int, step int64) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(i) * step
	}
	return list
}

// job is an operation to compute in two ways: by a request, and by package ops on separate tensors.
type job struct {
	name    string
	inputs  map[string]*tensor.Tensor
	outputs map[string]*tensor.Tensor // zeros before; planned writes them
	request object                    // without tensors
	planned func(dev *ops.Device, in, out map[string]*tensor.Tensor) (*ops.Plan, error)
}

func fresh(dtype tensor.DType, shape ...int) *tensor.Tensor {
	return tensor.Must(tensor.New(dtype, shape...))
}

func jobs() []job {
	values, times := of(ramp(2*30*5, .25), 2, 30, 5), of(ticks(30, 1e7), 30)
	quats := make([]float64, 40*4)
	for i := range 40 {
		s, c := math.Sincos(float64(i) / 10)
		quats[4*i+2], quats[4*i+3] = s, c
	}
	packed := of(quats, 40, 4)
	points := of(ramp(200*3, .01), 200, 3)
	grid := ops.VoxelGrid{Max: [3]float64{10, 10, 10}, Size: [3]float64{1, 2, 2.5}}
	gridJSON := object{"min": []int{0, 0, 0}, "max": []int{10, 10, 10}, "size": []float64{1, 2, 2.5}}
	return []job{{
		name:    "resample",
		inputs:  map[string]*tensor.Tensor{"Src": values, "SrcTimes": times},
		outputs: map[string]*tensor.Tensor{"Dst": fresh(tensor.BF16, 2, 50, 5), "Valid": fresh(tensor.U8, 2, 50), "Age": fresh(tensor.I64, 2, 50), "Pad": fresh(tensor.U8, 2, 50)},
		request: object{"op": "resample", "clock": object{"start": -5e7, "rate": 100.5, "count": 50},
			"options": object{"interp": "nearest", "edge": "fill", "fill": "-inf", "tolerance": 4000000, "fill_gaps": true, "channels": []object{
				{"lo": 1, "hi": 3, "interp": "window-max", "window": 15000000}, {"lo": 3, "hi": 4, "interp": "angle", "period": 360}}}},
		planned: func(dev *ops.Device, in, out map[string]*tensor.Tensor) (*ops.Plan, error) {
			return dev.PlanResample(ops.ResampleArgs{Dst: out["Dst"], Valid: out["Valid"], Age: out["Age"], Pad: out["Pad"], Src: in["Src"], SrcTimes: in["SrcTimes"], Targets: ops.Uniform(-5e7, 100.5, 50)},
				ops.ResampleOptions{Interp: ops.InterpNearest, Edge: ops.EdgeFill, Fill: ops.FillWith(math.Inf(-1)), Tolerance: ops.Within(4e6), FillGaps: true, Channels: []ops.Channel{
					{Lo: 1, Hi: 3, Interp: ops.InterpWindowMax, Window: ops.Within(15e6)}, {Lo: 3, Hi: 4, Interp: ops.InterpAngle, Period: 360}}})
		},
	}, {
		name: "fuse",
		inputs: map[string]*tensor.Tensor{"Streams[0].Src": packed, "Streams[0].SrcTimes": of(ticks(40, 1e7), 40), "Streams[0].SrcOffsets": of([]int64{0, 25, 40}, 3),
			"Streams[2].Src": values, "Streams[2].SrcTimes": times, "Targets.Anchors": of([]int64{1e8, 2e8}, 2), "Targets.Deltas": of(ticks(6, 1e7), 6)},
		outputs: map[string]*tensor.Tensor{"Dst": fresh(tensor.F32, 2, 6, 12), "Valid": fresh(tensor.U8, 2, 6, 3)},
		request: object{"op": "fuse", "options": object{"trust_times": true}, "streams": []object{
			{"options": object{"interp": "slerp", "quat": "xyzw", "max_gap": 20000000}},
			{"width": 3, "options": object{"fill": 2.5}},
			{"offset": 3000000, "options": object{"interp": "pchip", "snap": 1000}, "shift": []int{1, 2, 3, 4, 5}, "scale": []float64{.5, .5, .5, .5, .1}, "clip_min": []any{"-inf", 0, 0, 0, 0}, "clip_max": []any{10, 10, "inf", 10, 10}},
		}},
		planned: func(dev *ops.Device, in, out map[string]*tensor.Tensor) (*ops.Plan, error) {
			return dev.PlanFuse(ops.FuseArgs{Dst: out["Dst"], Valid: out["Valid"], Targets: ops.Anchored(in["Targets.Anchors"], in["Targets.Deltas"]), Streams: []ops.FuseStream{
				{Src: in["Streams[0].Src"], SrcTimes: in["Streams[0].SrcTimes"], SrcOffsets: in["Streams[0].SrcOffsets"], Options: ops.ResampleOptions{Interp: ops.InterpSlerp, MaxGap: ops.Within(2e7)}},
				{Width: 3, Options: ops.ResampleOptions{Fill: ops.FillWith(2.5)}},
				{Src: in["Streams[2].Src"], SrcTimes: in["Streams[2].SrcTimes"], Offset: 3e6, Options: ops.ResampleOptions{Interp: ops.InterpPchip, Snap: ops.Within(1000)}, Shift: []float32{1, 2, 3, 4, 5}, Scale: []float32{.5, .5, .5, .5, .1},
					ClipMin: []float32{float32(math.Inf(-1)), 0, 0, 0, 0}, ClipMax: []float32{10, 10, float32(math.Inf(1)), 10, 10}},
			}}, ops.FuseOptions{TrustTimes: true})
		},
	}, {
		name:    "resample_backward",
		inputs:  map[string]*tensor.Tensor{"DstGrad": of(ramp(2*9*5, 1), 2, 9, 5), "SrcTimes": times, "Targets": of(ticks(9, 33e6), 9), "SrcLengths": of([]int64{30, 20}, 2), "DstLengths": of([]int64{9, 4}, 2)},
		outputs: map[string]*tensor.Tensor{"SrcGrad": fresh(tensor.F64, 2, 30, 5)},
		request: object{"op": "resample_backward", "options": object{"edge": "extrapolate"}},
		planned: func(dev *ops.Device, in, out map[string]*tensor.Tensor) (*ops.Plan, error) {
			return dev.PlanResampleBackward(ops.ResampleBackwardArgs{SrcGrad: out["SrcGrad"], DstGrad: in["DstGrad"], SrcTimes: in["SrcTimes"], Targets: ops.At(in["Targets"]), SrcLengths: in["SrcLengths"], DstLengths: in["DstLengths"]},
				ops.ResampleOptions{Edge: ops.EdgeExtrapolate})
		},
	}, {
		name:    "fuse_backward",
		inputs:  map[string]*tensor.Tensor{"DstGrad": of(ramp(2*9*7, 1), 2, 9, 7), "Streams[1].SrcTimes": times, "Targets": of(ticks(9, 33e6), 9)},
		outputs: map[string]*tensor.Tensor{"Streams[1].SrcGrad": fresh(tensor.F32, 2, 30, 5)},
		request: object{"op": "fuse_backward", "streams": []object{{"width": 2}, {"scale": []int{1, 2, 3, 4, 5}, "offset": 1000000}}},
		planned: func(dev *ops.Device, in, out map[string]*tensor.Tensor) (*ops.Plan, error) {
			return dev.PlanFuseBackward(ops.FuseBackwardArgs{DstGrad: in["DstGrad"], Targets: ops.At(in["Targets"]), Streams: []ops.FuseBackwardStream{
				{Width: 2}, {SrcGrad: out["Streams[1].SrcGrad"], SrcTimes: in["Streams[1].SrcTimes"], Scale: []float32{1, 2, 3, 4, 5}, Offset: 1e6}}}, ops.FuseOptions{})
		},
	}, {
		name:    "voxelize dense",
		inputs:  map[string]*tensor.Tensor{"Points": points, "Features": of(ramp(200*2, 1), 200, 2)},
		outputs: map[string]*tensor.Tensor{"Grid": fresh(tensor.F32, 10, 5, 4, 2)},
		request: object{"op": "voxelize", "grid": gridJSON, "options": object{"reduce": "mean", "order": "xyz", "empty": -1}},
		planned: func(dev *ops.Device, in, out map[string]*tensor.Tensor) (*ops.Plan, error) {
			p, err := dev.PlanVoxelize(ops.VoxelizeArgs{Grid: out["Grid"], Points: in["Points"], Features: in["Features"]}, grid, ops.VoxelizeOptions{Reduce: ops.ReduceMean, Order: ops.AxisXYZ, Empty: -1})
			if err != nil {
				return nil, err
			}
			return &p.Plan, nil
		},
	}, {
		name:    "voxelize hard",
		inputs:  map[string]*tensor.Tensor{"Points": points, "Offsets": of([]int64{0, 120, 200}, 3)},
		outputs: map[string]*tensor.Tensor{"Values": fresh(tensor.F32, 20, 3, 3), "Coords": fresh(tensor.I32, 20, 4), "Counts": fresh(tensor.I32, 20), "RowSplits": fresh(tensor.I64, 3), "PointVoxel": fresh(tensor.I32, 200)},
		request: object{"op": "voxelize", "grid": gridJSON, "options": object{"mode": "hard", "max_points": 3, "max_voxels": 10}},
		planned: func(dev *ops.Device, in, out map[string]*tensor.Tensor) (*ops.Plan, error) {
			p, err := dev.PlanVoxelize(ops.VoxelizeArgs{Values: out["Values"], Coords: out["Coords"], Counts: out["Counts"], RowSplits: out["RowSplits"], PointVoxel: out["PointVoxel"], Points: in["Points"], Offsets: in["Offsets"]},
				grid, ops.VoxelizeOptions{Mode: ops.VoxelHard, MaxPoints: 3, MaxVoxels: 10})
			if err != nil {
				return nil, err
			}
			return &p.Plan, nil
		},
	}, {
		name:    "deproject",
		inputs:  map[string]*tensor.Tensor{"Depth": of(ramp(2*5*6, 0.1), 2, 5, 6), "Intrinsics": of([]float32{5, 6, 2.5, 3}, 4)},
		outputs: map[string]*tensor.Tensor{"Points": fresh(tensor.F32, 2, 5, 6, 3), "Mask": fresh(tensor.U8, 2, 5, 6), "Counts": fresh(tensor.I64, 2, 3)},
		request: object{"op": "deproject", "options": object{"scale": 2, "near": 0.5, "far": "inf"}},
		planned: func(dev *ops.Device, in, out map[string]*tensor.Tensor) (*ops.Plan, error) {
			return dev.PlanDeproject(ops.DeprojectArgs{Points: out["Points"], Mask: out["Mask"], Counts: out["Counts"], Depth: in["Depth"], Intrinsics: in["Intrinsics"]},
				ops.DeprojectOptions{Scale: 2, Near: 0.5, Far: math.Inf(1)})
		},
	}, {
		name:    "deproject compact",
		inputs:  map[string]*tensor.Tensor{"Depth": of(ramp(2*5*6, 0.1), 2, 5, 6), "Intrinsics": of([]float32{5, 6, 2.5, 3}, 4), "Color": fresh(tensor.U8, 2, 5, 6, 3)},
		outputs: map[string]*tensor.Tensor{"Points": fresh(tensor.F32, 60, 3), "Offsets": fresh(tensor.I64, 3), "Colors": fresh(tensor.U8, 60, 3)},
		request: object{"op": "deproject", "options": object{"near": 0.5}},
		planned: func(dev *ops.Device, in, out map[string]*tensor.Tensor) (*ops.Plan, error) {
			return dev.PlanDeproject(ops.DeprojectArgs{Points: out["Points"], Offsets: out["Offsets"], Colors: out["Colors"], Depth: in["Depth"], Intrinsics: in["Intrinsics"], Color: in["Color"]},
				ops.DeprojectOptions{Near: 0.5})
		},
	}, {
		name:    "farthest_points",
		inputs:  map[string]*tensor.Tensor{"Points": of(ramp(2*50*3, 1), 2, 50, 3)},
		outputs: map[string]*tensor.Tensor{"Indices": fresh(tensor.I64, 2, 5)},
		request: object{"op": "farthest_points", "options": object{"seed": 3}},
		planned: func(dev *ops.Device, in, out map[string]*tensor.Tensor) (*ops.Plan, error) {
			return dev.PlanFarthestPoints(ops.FarthestArgs{Indices: out["Indices"], Points: in["Points"]}, ops.FarthestOptions{Seed: 3})
		},
	}}
}

// direct computes the job with package ops on separate tensors.
func (j *job) direct(dev *ops.Device) error {
	p, err := j.planned(dev, j.inputs, j.outputs)
	if err != nil {
		return err
	}
	return errors.Join(p.Run(dev.Queue()), dev.Synchronize(context.Background()), p.Close())
}

func TestComputeGivesTheBitsOfTheOperation(t *testing.T) {
	c := connect(t)
	dev, err := ops.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	for _, j := range jobs() {
		t.Run(j.name, func(t *testing.T) {
			c.newArena(1 << 20)
			tensors, outputs := object{}, map[string]object{}
			for name, in := range j.inputs {
				tensors[name] = c.put(in)
			}
			for name, out := range j.outputs {
				outputs[name] = c.place(out.DType(), out.Shape()...)
				tensors[name] = outputs[name]
			}
			j.request["tensors"] = tensors
			a := c.good("compute", object{"request": j.request})
			require.NoError(t, j.direct(dev))
			for name, out := range j.outputs {
				want, err := raw.Of(out)
				require.NoError(t, err)
				assert.Equal(t, want, c.get(outputs[name]), name)
			}
			if strings.HasPrefix(j.name, "voxelize") {
				assert.Equal(t, "200", fmt.Sprint(a.object["counts"].(object)["points"]))
			} else {
				assert.NotContains(t, a.object, "counts")
			}
		})
	}
}

// Strides may skip and repeat elements, as slices and expanded arrays in Python do.
func TestComputeTakesStrides(t *testing.T) {
	c := connect(t)
	c.newArena(1 << 16)
	src := c.put(of([]float32{0, 9, 10, 9, 20, 9}, 6)) // every other one counts
	src["shape"], src["strides"] = []int{2, 3, 1}, []int{0, 2, 1}
	times := c.put(of([]int64{0, 10, 20}, 3))
	dst := c.place(tensor.F32, 2, 2, 1)
	c.good("compute", object{"request": object{"op": "resample", "clock": object{"start": 5, "rate": 1e8, "count": 2}, "tensors": object{"Src": src, "SrcTimes": times, "Dst": dst}}})
	want, err := raw.Of(of([]float32{5, 15, 5, 15}, 4))
	require.NoError(t, err)
	assert.Equal(t, want, c.get(dst))
}

// Integers keep all 64 bits: times near 2^62 that differ by 1 ns would be equal as float64.
func TestIntegersAreExact(t *testing.T) {
	c := connect(t)
	c.newArena(1 << 12)
	const start = 1<<62 - 101
	dst := c.place(tensor.F32, 1, 1)
	a := object{"op": "resample", "clock": object{"start": int64(start), "rate": 1e9, "count": 1}, "options": object{"interp": "previous", "edge": "error"},
		"tensors": object{"Src": c.put(of([]float32{1, 2}, 2, 1)), "SrcTimes": c.put(of([]int64{start - 1, start}, 2)), "Dst": dst}}
	c.good("compute", object{"request": a})
	want, err := raw.Of(of([]float32{2}, 1))
	require.NoError(t, err)
	assert.Equal(t, want, c.get(dst))
}

// Every tensor that an operation takes has its name in the table.
func TestEveryTensorOfAnOperationHasAName(t *testing.T) {
	streams := []byte(`{"streams":[{},{}]}`)
	for name, args := range map[string]any{"resample": ops.ResampleArgs{}, "fuse": ops.FuseArgs{Streams: make([]ops.FuseStream, 2)}, "resample_backward": ops.ResampleBackwardArgs{},
		"fuse_backward": ops.FuseBackwardArgs{Streams: make([]ops.FuseBackwardStream, 2)}, "voxelize": ops.VoxelizeArgs{},
		"deproject": ops.DeprojectArgs{}, "farthest_points": ops.FarthestArgs{}} {
		text := []byte("{}")
		if strings.HasPrefix(name, "fuse") {
			text = streams
		}
		fields, _ := kinds[name].read(&reader{}, text)
		var got []string
		for _, f := range fields {
			got = append(got, f.name)
		}
		assert.ElementsMatch(t, tensorNames(reflect.ValueOf(args), ""), got, name)
	}
}

// tensorNames returns the paths to the tensors in a struct.
func tensorNames(v reflect.Value, path string) (names []string) {
	switch {
	case v.Type() == reflect.TypeFor[*tensor.Tensor]():
		return []string{strings.TrimSuffix(strings.TrimPrefix(path, "."), ".Times")} // a clock's tensor has the clock's name
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		for i := range v.Len() {
			names = append(names, tensorNames(v.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			names = append(names, tensorNames(v.Field(i), path+"."+v.Type().Field(i).Name)...)
		}
	}
	return names
}
