package record_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/record"
	"github.com/robocache/robocache/tensor"
)

// h100 is a target like the real one.
func h100() record.Target {
	return record.Target{Name: "NVIDIA H100 80GB HBM3", Driver: 13000, Attributes: map[int]int{1: 1024, 8: 48 << 10, 10: 32, 16: 132, 39: 2048, 75: 9, 76: 0, 81: 228 << 10, 97: 227 << 10, 115: 1}}
}

func recorder(t testing.TB, target record.Target) *record.Recorder {
	t.Setenv("ROBOCACHE_TUNED", "off")
	r, err := record.New(target)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, r.Close()) })
	return r
}

// resample is a plan of 4 x 100 x 32 onto 50 ticks.
func resample() ([]record.Tensor, record.PlanFunc) {
	return []record.Tensor{{Name: "Dst", DType: tensor.F32, Shape: []int{4, 50, 32}}, {Name: "Src", DType: tensor.F32, Shape: []int{4, 100, 32}}, {Name: "SrcTimes", DType: tensor.I64, Shape: []int{100}, Align: 8}},
		func(dev *ops.Device, t []*tensor.Tensor) (*ops.Plan, error) {
			return dev.PlanResample(ops.ResampleArgs{Dst: t[0], Src: t[1], SrcTimes: t[2], Targets: ops.Uniform(0, 30, 50)}, ops.ResampleOptions{})
		}
}

func TestAPlanIsExported(t *testing.T) {
	r := recorder(t, h100())
	tensors, fn := resample()
	p, err := r.Plan("resample", tensors, fn)
	require.NoError(t, err)
	t.Logf("%s", p.Header())
	again, err := record.Decode(p.Encode())
	require.NoError(t, err)
	assert.Equal(t, p, again)
}
