package ops_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ops/cpu"
	"github.com/robocache/robocache/tensor"
)

func TestOpenSaysWhatItTookAndWhy(t *testing.T) {
	for _, name := range []string{"cpu", "auto"} {
		dev, err := ops.Open(name)
		require.NoError(t, err)
		assert.NotEmpty(t, dev.Info().Why)
		assert.NotEmpty(t, dev.Info().Product)
		assert.Equal(t, dev.Name(), dev.Info().Name)
		require.NoError(t, dev.Close())
	}
	assert.Contains(t, ops.Backends(), "cpu")
}

func TestOpenRefusesWithATypedError(t *testing.T) {
	for name, kind := range map[string]error{"": ops.ErrUnknownBackend, "tpu": ops.ErrUnknownBackend, "tpu:1": ops.ErrUnknownBackend, "cpu:1": ops.ErrNoDevice} {
		_, err := ops.Open(name)
		var e *ops.OpenError
		require.True(t, errors.As(err, &e), "%q: got %v", name, err)
		assert.ErrorIs(t, err, kind)
		assert.Equal(t, name, e.Backend)
	}
}

// bare is a backend that has no operation, as one that is older than an operation.
type bare struct{ cpu *cpu.Backend }

func (b bare) Name() string                       { return b.cpu.Name() }
func (b bare) Describe() ops.Info                 { return b.cpu.Describe() }
func (b bare) Copy(dst, src *tensor.Tensor) error { return b.cpu.Copy(dst, src) }
func (b bare) NewQueue() (backend.Queue, error)   { return b.cpu.NewQueue() }
func (b bare) Close() error                       { return b.cpu.Close() }
func (b bare) NewMark() (backend.Mark, error)     { return b.cpu.NewMark() }
func (b bare) AllocHost(d tensor.DType, shape []int) (*tensor.Tensor, error) {
	return b.cpu.AllocHost(d, shape)
}
func (b bare) Alloc(d tensor.DType, shape []int) (*tensor.Tensor, error) {
	return b.cpu.Alloc(d, shape)
}

func TestABackendMayLackOperations(t *testing.T) {
	dev, err := ops.NewDevice(bare{cpu.New(1)})
	require.NoError(t, err)
	defer dev.Close()
	for name, plan := range map[string]func() error{
		"Resample": func() error { _, err := dev.PlanResample(ops.ResampleArgs{}, ops.ResampleOptions{}); return err },
		"Fuse":     func() error { _, err := dev.PlanFuse(ops.FuseArgs{}, ops.FuseOptions{}); return err },
		"ResampleBackward": func() error {
			_, err := dev.PlanResampleBackward(ops.ResampleBackwardArgs{}, ops.ResampleOptions{})
			return err
		},
		"FuseBackward": func() error { _, err := dev.PlanFuseBackward(ops.FuseBackwardArgs{}, ops.FuseOptions{}); return err },
		"Voxelize": func() error {
			_, err := dev.PlanVoxelize(ops.VoxelizeArgs{}, ops.VoxelGrid{}, ops.VoxelizeOptions{})
			return err
		},
		"Draw":      func() error { _, err := dev.PlanDraw(ops.DrawArgs{}, ops.DrawOptions{}); return err },
		"PlanBatch": func() error { _, err := dev.PlanBatch(nil, ops.BatchOptions{}); return err },
	} {
		err := plan()
		assert.ErrorIs(t, err, ops.ErrUnsupported, name)
		assert.ErrorContains(t, err, name)
	}
	x, err := dev.Upload(context.Background(), tensor.Must(tensor.Of([]float32{1}, 1)))
	require.NoError(t, err, "what every device has works")
	require.NoError(t, x.Close())
}

func TestAMissingQueueIsAnError(t *testing.T) {
	dev, err := ops.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	one := tensor.Must(tensor.New(tensor.F32, 1, 1))
	p, err := dev.PlanResample(ops.ResampleArgs{Dst: tensor.Must(tensor.New(tensor.F32, 1, 1)), Src: one, SrcTimes: tensor.Must(tensor.New(tensor.I64, 1)), Targets: ops.Uniform(0, 1, 1)}, ops.ResampleOptions{})
	require.NoError(t, err)
	assert.ErrorIs(t, p.Run(nil), ops.ErrMissing)
	g, err := dev.Queue().Capture(func() error { return p.Run(dev.Queue()) })
	require.NoError(t, err)
	assert.ErrorIs(t, g.Launch(nil), ops.ErrMissing)
	require.NoError(t, errors.Join(g.Close(), p.Close()))
}

func TestCopyMovesStridedHostTensors(t *testing.T) {
	dev, err := ops.Open("cpu")
	require.NoError(t, err)
	defer dev.Close()
	for _, d := range []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16, tensor.I32, tensor.I64, tensor.U8} {
		src := tensor.Must(tensor.New(d, 4, 4))
		up, err := dev.Upload(context.Background(), tensor.Must(src.Slice(1, 1, 3)))
		require.NoError(t, err)
		assert.Equal(t, []int{4, 2}, up.Shape())
		assert.NoError(t, dev.Copy(context.Background(), up, tensor.Must(src.Slice(1, 0, 2))))
		assert.ErrorIs(t, dev.Copy(context.Background(), tensor.Must(src.Slice(1, 0, 2)), up), ops.ErrStride)
		assert.ErrorIs(t, dev.Copy(context.Background(), up, src), ops.ErrShape)
	}
	_, err = dev.Upload(context.Background(), nil)
	assert.ErrorIs(t, err, ops.ErrMissing)
	x := tensor.Must(tensor.New(tensor.F32, 2))
	assert.ErrorIs(t, dev.Copy(context.Background(), x, nil), ops.ErrMissing)
	assert.ErrorIs(t, dev.Copy(context.Background(), x, tensor.Must(tensor.New(tensor.F64, 2))), ops.ErrDType)
	_, err = dev.Alloc(tensor.DType(0), 1)
	assert.ErrorIs(t, err, ops.ErrDType)
	_, err = dev.Alloc(tensor.F64, 1<<31, 1<<31)
	assert.ErrorIs(t, err, ops.ErrTooLarge)
	_, err = dev.Alloc(tensor.F64, -1)
	assert.ErrorIs(t, err, tensor.ErrShape)
	require.NoError(t, x.Close())
	_, err = dev.Upload(context.Background(), x)
	assert.ErrorIs(t, err, ops.ErrClosed)
}

func TestNamesOfOptionsAreRead(t *testing.T) {
	for k := ops.InterpLinear; k <= ops.InterpPchip; k++ {
		got, err := ops.ParseInterp(k.String())
		require.NoError(t, err)
		assert.Equal(t, k, got)
	}
	for e := ops.EdgeClamp; e <= ops.EdgeHold; e++ {
		got, err := ops.ParseEdge(e.String())
		require.NoError(t, err)
		assert.Equal(t, e, got)
	}
	for q := ops.QuatXYZW; q <= ops.QuatWXYZ; q++ {
		got, err := ops.ParseQuatOrder(q.String())
		require.NoError(t, err)
		assert.Equal(t, q, got)
	}
	_, err := ops.ParseInterp("cubic")
	var e *ops.ArgError
	require.True(t, errors.As(err, &e))
	assert.ErrorIs(t, err, ops.ErrOption)
	assert.Contains(t, err.Error(), "pchip", "the error lists what there is")
	assert.Equal(t, [3]string{"interpolation(77)", "edge(77)", "quaternion order(77)"}, [3]string{ops.Interp(77).String(), ops.Edge(77).String(), ops.QuatOrder(77).String()})
}

// At 30 Hz a tick is 33,333,333.3 ns: the rounding does not add up.
func TestTicksOfAUniformClockDoNotDrift(t *testing.T) {
	c := ops.Uniform(1_762_550_000e9, 30, 1<<30)
	for i, want := range map[int]int64{0: 0, 1: 33_333_333, 2: 66_666_667, 3: 100_000_000, 30: 1e9, 30 * 86_400: 86_400e9} {
		assert.Equal(t, 1_762_550_000e9+want, c.Tick(i), "tick %d", i)
	}
	for i := range 1000 {
		assert.Equal(t, int64(i)*4_000_000, ops.Uniform(0, 250, 1000).Tick(i))
	}
}
