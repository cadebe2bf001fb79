package record_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/kernels"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ops/record"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// h100 is a target like the real one.
func h100() record.Target {
	return record.Target{Name: "NVIDIA H100 80GB HBM3", Driver: 13000, Attributes: map[int]int{1: 1024, 8: 48 << 10, 10: 32, 16: 132, 39: 2048, 75: 9, 76: 0, 81: 228 << 10, 97: 227 << 10, 115: 1}}
}

func recorder(t testing.TB, target record.Target) *record.Recorder {
	t.Helper()
	if os.Getenv("ROBOCACHE_TUNED") == "" {
		t.Setenv("ROBOCACHE_TUNED", "off")
	}
	r, err := record.New(target)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	return r
}

// resample is a plan of 4 x 100 x 32 onto 50 ticks.
func resample() ([]record.Tensor, record.PlanFunc) {
	return []record.Tensor{{Name: "Dst", DType: tensor.F32, Shape: []int{4, 50, 32}}, {Name: "Src", DType: tensor.F32, Shape: []int{4, 100, 32}}, {Name: "SrcTimes", DType: tensor.I64, Shape: []int{100}}},
		func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error) {
			return dev.PlanResample(ops.ResampleArgs{Dst: t[0], Src: t[1], SrcTimes: t[2], Targets: ops.Uniform(0, 30, 50)}, ops.ResampleOptions{})
		}
}

func TestAPlanSaysWhatIsLaunchedAndWhereAddressesAre(t *testing.T) {
	tensors, fn := resample()
	tensors[2].Align = 8
	p, err := recorder(t, h100()).Plan("resample", tensors, fn)
	require.NoError(t, err)
	assert.Equal(t, []record.Argument{{Name: "Dst", Bytes: 4 * 50 * 32 * 4, Written: true}, {Name: "Src", Bytes: 4 * 100 * 32 * 4}, {Name: "SrcTimes", Bytes: 800, Align: 8}}, p.Arguments)
	assert.Equal(t, []record.Buffer{{Kind: record.Fault, Bytes: 8}, {Kind: record.Flag, Bytes: 4}}, p.Buffers)
	require.Len(t, p.Launches, 1)
	require.Len(t, p.Images, 1)
	l, im := p.Launches[0], p.Images[0]
	family, entry, ok := ptx.Lookup(l.Entry)
	require.True(t, ok)
	image := ptx.Images(family)[0]
	assert.Equal(t, record.Image{Family: family, File: image.File, Hash: image.Hash, Bytes: int64(len(image.Data()))}, im)
	assert.Equal(t, ptx.Cubin, image.Kind, "as on a device of that compute capability")
	require.Len(t, l.Params, 1)
	assert.Equal(t, record.Param{0, int64(entry.Params[0].Size), 0}, l.Params[0])
	named := map[int64]bool{}
	for _, r := range l.Relocations {
		named[r[2]] = true
	}
	assert.Equal(t, map[int64]bool{0: true, 1: true, 2: true, 3: true, 4: true}, named, "every tensor, the fault and the flag")
	assert.Nil(t, p.Counts)
}

func TestAChainHasScratchMemoryAndCounts(t *testing.T) {
	tensors, fn := voxelize()
	r := recorder(t, h100())
	p, err := r.Plan("voxelize", tensors, fn)
	require.NoError(t, err)
	require.Greater(t, len(p.Launches), 1)
	for i, l := range p.Launches {
		assert.Equal(t, i > 0, l.Dependent, l.Entry)
	}
	assert.Equal(t, record.Memory, p.Buffers[0].Kind)
	require.NotNil(t, p.Buffers[0].Fill)
	assert.Zero(t, p.Buffers[0].Fill[0])
	assert.Equal(t, &record.Range{Buffer: 3, Bytes: 8 * ptx.VoxelStateStateWords}, p.Counts)

	state := make([]byte, p.Counts.Bytes)
	binary.LittleEndian.PutUint64(state[8*ptx.VoxelStateInRange:], 5)
	binary.LittleEndian.PutUint64(state[8*ptx.VoxelStateNotFinite:], 2)
	got, err := r.Counts(tensors, fn, state)
	require.NoError(t, err)
	assert.Equal(t, ops.VoxelCounts{Points: 7, InRange: 5, NotFinite: 2}, got)
	_, err = r.Counts(tensors, fn, state[1:])
	assert.EqualError(t, err, "record: the state of the counts: got 79 bytes, want 80")
	tensors, fn = resample()
	_, err = r.Counts(tensors, fn, state)
	assert.ErrorContains(t, err, "not one of Voxelize")
}

// A fault of a packed tensor is told by its row and its place in the row, which the offsets say.
func TestAFaultIsExplainedWithoutADevice(t *testing.T) {
	r := recorder(t, h100())
	tensors := []record.Tensor{{Name: "Dst", DType: tensor.F32, Shape: []int{2, 50, 3}}, {Name: "Src", DType: tensor.F32, Shape: []int{30, 3}}, {Name: "SrcTimes", DType: tensor.I64, Shape: []int{30}}, {Name: "SrcOffsets", DType: tensor.I64, Shape: []int{3}}}
	fn := func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error) {
		return dev.PlanResample(ops.ResampleArgs{Dst: t[0], Src: t[1], SrcTimes: t[2], SrcOffsets: t[3], Targets: ops.Uniform(0, 30, 50)}, ops.ResampleOptions{})
	}
	fault := uint64(backend.MakeFault(backend.FaultTimes, 14, backend.FaultUnsorted))
	for range 2 { // and the cell is as it was
		err := r.Explain(tensors, fn, fault, func(number int, at int64, dst []byte) error {
			assert.Equal(t, 3, number)
			for i := range dst {
				dst[i] = 0
				if word := (at + int64(i)) / 8; (at+int64(i))%8 == 0 && word > 0 {
					dst[i] = byte(10 * word * (word + 1) / 2) // 0, 10, 30
				}
			}
			return nil
		})
		var value *ops.ValueError
		require.ErrorAs(t, err, &value)
		assert.Equal(t, []any{"Resample", "SrcTimes", 1, 4}, []any{value.Op, value.Arg, value.Row, value.Index})
		assert.ErrorIs(t, err, ops.ErrUnsorted)
		_, err = r.Plan("resample", tensors, fn)
		assert.NoError(t, err)
	}
	assert.ErrorContains(t, r.Explain(tensors, fn, fault, nil), "whose content was not given")
	gone := errors.New("gone")
	assert.ErrorIs(t, r.Explain(tensors, fn, fault, func(int, int64, []byte) error { return gone }), gone)
	assert.NoError(t, r.Explain(tensors, fn, uint64(backend.NoFault), nil))
}

// What cannot be replayed is refused by name, and leaves the recorder as it was.
func TestWhatCannotBeReplayedIsRefused(t *testing.T) {
	r := recorder(t, h100())
	tensors, fn := resample()
	host := tensor.Must(tensor.New(tensor.I64, 100))
	calls := 0
	before := func(do func(dev *ops.Device, t []*tensor.Tensor) error) record.PlanFunc {
		return func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error) {
			if err := do(dev, t); err != nil {
				return nil, err
			}
			return fn(dev, t)
		}
	}
	ctx := context.Background()
	bad := errors.New("bad")
	for want, fn := range map[string]record.PlanFunc{
		"a read of 800 bytes of the device: a plan depends on no value": before(func(dev *ops.Device, t []*tensor.Tensor) error { return dev.Copy(ctx, host, t[2]) }),
		"a copy of 800 bytes to the device: not to memory of the plan":  before(func(dev *ops.Device, t []*tensor.Tensor) error { return dev.Copy(ctx, t[2], host) }),
		"a launch of resample_small outside a run": before(func(dev *ops.Device, t []*tensor.Tensor) error {
			p, err := fn(dev, t)
			if err != nil {
				return err
			}
			return errors.Join(p.Run(dev.Queue()), p.Close())
		}),
		"bytes of pinned memory: a plan has none but its flag": before(func(dev *ops.Device, _ []*tensor.Tensor) error { _, err := dev.AllocHost(tensor.U8, 2<<20); return err }),
		"the plan depends on where its memory lies: launch 0, of resample_small is": func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error) {
			calls++
			return dev.PlanResample(ops.ResampleArgs{Dst: t[0], Src: t[1], SrcTimes: t[2], Targets: ops.Uniform(0, 30, 50)}, ops.ResampleOptions{Launch: ops.LaunchMode(calls % 2)})
		},
		"the plan depends on where its memory lies: launch 0, of resample_small: parameter 0 at byte": func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error) {
			calls++
			return dev.PlanResample(ops.ResampleArgs{Dst: t[0], Src: t[1], SrcTimes: t[2], Targets: ops.Uniform(int64(calls), 30, 50)}, ops.ResampleOptions{})
		},
		"bad": before(func(*ops.Device, []*tensor.Tensor) error { return bad }),
	} {
		_, err := r.Plan("resample", tensors, fn)
		assert.ErrorContains(t, err, want)
	}
	_, err := r.Plan("resample", append(tensors[:1:1], tensors[2], tensors[1]), fn)
	assert.ErrorIs(t, err, ops.ErrDType, "an error of the operation is the operation's")

	p, err := r.Plan("resample", tensors, fn)
	require.NoError(t, err)
	q, err := recorder(t, h100()).Plan("resample", tensors, fn)
	require.NoError(t, err)
	assert.Equal(t, p, q)
}

func TestATensorThatCannotBeIsRefused(t *testing.T) {
	r := recorder(t, h100())
	for want, x := range map[string]record.Tensor{
		"dtype":   {Name: "Src", Shape: []int{3}},
		"align":   {Name: "Src", DType: tensor.F64, Shape: []int{3}, Align: 4},
		"strides": {Name: "Src", DType: tensor.F64, Shape: []int{3}, Strides: []int{1, 1}},
		"shape":   {Name: "Src", DType: tensor.F64, Shape: []int{3, 5}, Strides: []int{1 << 62, 1}},
	} {
		_, err := r.Plan("resample", []record.Tensor{x}, func(*ops.Device, []*tensor.Tensor) (*ops.Plan, error) { panic("not called") })
		var e *record.TensorError
		require.ErrorAs(t, err, &e, want)
		assert.Equal(t, want, e.Field)
	}
	for _, x := range []record.Tensor{{DType: tensor.F32, Shape: []int{-1}}, {DType: tensor.F32, Shape: []int{1 << 40, 1 << 40}}, {DType: tensor.F32, Shape: []int{2, 2}, Strides: []int{-1, 1}}, {DType: tensor.F32, Shape: []int{1 << 60}}} {
		_, err := r.Plan("resample", []record.Tensor{x}, func(*ops.Device, []*tensor.Tensor) (*ops.Plan, error) { panic("not called") })
		assert.Error(t, err, "%+v", x)
	}
}

func TestImagesAreChosenAsOnTheDevice(t *testing.T) {
	tensors, fn := resample()
	for want, change := range map[string]func(*record.Target){
		"resample_fast.sm_90.cubin": func(*record.Target) {},
		"resample_fast.sm_90.ptx":   func(x *record.Target) { x.Kernels = "sm_90.ptx" },
		"resample_fast.sm_80.ptx":   func(x *record.Target) { x.Attributes[75] = 8 },
	} {
		target := h100()
		change(&target)
		r := recorder(t, target)
		p, err := r.Plan("resample", tensors, fn)
		require.NoError(t, err)
		assert.Equal(t, want, p.Images[0].File)
		assert.Contains(t, r.Info().Kernels, want[len("resample_fast"):])
	}
	target := h100()
	target.Attributes[75] = 5
	_, err := record.New(target)
	assert.ErrorIs(t, err, ptx.ErrNoImage)
}

func TestATargetThatCannotBeIsRefused(t *testing.T) {
	for field, change := range map[string]func(*record.Target){
		"kernels":                                func(x *record.Target) { x.Kernels = "sm_42" },
		"driver":                                 func(x *record.Target) { x.Driver = 11070 },
		"name":                                   func(x *record.Target) { x.Name = string(make([]byte, 300)) },
		"attributes[16], multiprocessors":        func(x *record.Target) { delete(x.Attributes, 16) },
		"attributes[97], bytes of shared memory": func(x *record.Target) { x.Attributes[97] = -1 },
		"attributes[75], major compute capability": func(x *record.Target) { x.Attributes[75] = 0 },
		"attributes[200]":                          func(x *record.Target) { x.Attributes[200] = 1 << 40 },
		"attributes": func(x *record.Target) {
			for a := range 1001 {
				x.Attributes[a] = 1
			}
		},
	} {
		target := h100()
		change(&target)
		_, err := record.New(target)
		var e *record.TargetError
		require.ErrorAs(t, err, &e, field)
		assert.Equal(t, field, e.Field)
	}
	text, err := json.Marshal(h100())
	require.NoError(t, err)
	var back record.Target
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Equal(t, h100(), back)
}

// A tuned table of the device that the target describes is taken as on that.
func TestPlansTakeTheirShapeFromTheTable(t *testing.T) {
	tensors, fn := resample()
	var key tuned.Key
	var list []tuned.Policy
	plain, err := recorder(t, h100()).Plan("resample", tensors, func(dev *ops.Device, x []*tensor.Tensor) (*ops.Plan, error) {
		p, err := fn(dev, x)
		require.NoError(t, err)
		key, list, err = p.Backend().(tuned.Plan).Candidates()
		return p, err
	})
	require.NoError(t, err)
	require.Greater(t, len(list), 1)
	table := tuned.New(tuned.Identity{Device: h100().Name, Capability: "9.0", Kernels: kernels.Hash()})
	table.Set(tuned.Entry{Key: key, Policy: list[len(list)-1], Job: "a job", Heuristic: 2, Tuned: 1})
	var text bytes.Buffer
	require.NoError(t, table.Write(&text))
	path := filepath.Join(t.TempDir(), "table.json")
	filetest.Write(t, path, text.Bytes())
	t.Setenv("ROBOCACHE_TUNED", path)
	r := recorder(t, h100())
	assert.Contains(t, r.Info().Shapes, path)
	shaped, err := r.Plan("resample", tensors, fn)
	require.NoError(t, err)
	assert.NotEqual(t, plain.Encode(), shaped.Encode())
}
