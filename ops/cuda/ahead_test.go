package cuda_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/ops/opstest"
	"github.com/robocache/robocache/tensor"
)

func isAhead(c cuda.Choice) bool { return c.Ahead }

// What is made ahead, wherever it can be, has the same bits.
func TestAheadChangesNoResult(t *testing.T) {
	eachDevice(t, func(t *testing.T, b ops.Backend, simulated bool) {
		v, dev := vary(t, b, isAhead)
		opstest.Run(t, dev, opstest.Config{Only: map[string]bool{"halved": true, "generated": !simulated, "named": !simulated}})
		n := 0
		for name, plans := range v.others {
			assert.True(t, strings.HasPrefix(name, "resample_plain_"), name)
			n += plans
		}
		assert.GreaterOrEqual(t, n, 200)
		t.Logf("plans made ahead: %v", v.others)
	})
}

// A plan whose guesses go astray is launched without them from then on, and says so; one whose guesses are near goes on guessing.
func TestGuessesThatGoAstray(t *testing.T) {
	const s, n, d = 402, 201, 1024
	eachDevice(t, func(t *testing.T, b ops.Backend, _ bool) {
		_, dev := vary(t, b, isAhead)
		cpu, err := ops.Open("cpu")
		require.NoError(t, err)
		defer cpu.Close()
		values := make([]float32, s*d)
		for i := range values {
			values[i] = float32(i % 977)
		}
		src := tensor.Must(tensor.Of(values, s, d))
		for name, c := range map[string]struct {
			stamp  func(i int) float32
			astray bool
		}{
			"even":           {func(i int) float32 { return float32(i) }, false},
			"off by a row":   {func(i int) float32 { return float32(i) + []float32{0, .9}[min(i, 1)] }, false},
			"a gap":          {func(i int) float32 { return float32(i) + []float32{0, s}[i/(s/2)] }, true},
			"all in a burst": {func(i int) float32 { return float32(i) / []float32{s, 1}[i/(s-1)] }, true},
		} {
			times := make([]float32, s)
			for i := range times {
				times[i] = c.stamp(i)
			}
			targets := make([]float32, n)
			for i := range targets {
				targets[i] = times[s-1] * float32(i) / (n - 1)
			}
			args := func(dev *ops.Device) ops.ResampleArgs {
				up := func(x *tensor.Tensor) *tensor.Tensor {
					out, err := dev.Upload(x)
					require.NoError(t, err)
					t.Cleanup(func() { assert.NoError(t, out.Close()) })
					return out
				}
				return ops.ResampleArgs{Dst: up(tensor.Must(tensor.New(tensor.F32, n, d))), Src: up(src), SrcTimes: up(tensor.Must(tensor.Of(times, s))),
					Targets: ops.At(up(tensor.Must(tensor.Of(targets, n))))}
			}
			want := args(cpu)
			want, err = cpu.Resample(want, ops.ResampleOptions{})
			require.NoError(t, err)
			x := args(dev)
			p, err := dev.PlanResample(x, ops.ResampleOptions{})
			require.NoError(t, err)
			launched := func() cuda.Launch {
				list, err := cuda.Explain(p)
				require.NoError(t, err)
				require.Len(t, list, 1)
				return list[0]
			}
			first := launched()
			assert.Equal(t, "resample_ahead_f32", first.Kernel, name)
			assert.True(t, first.Choice.Ahead, name)
			for range 3 {
				zero := tensor.Must(tensor.New(tensor.F32, n, d))
				require.NoError(t, dev.Copy(x.Dst, zero))
				require.NoError(t, p.Run(dev.Stream()))
				require.NoError(t, dev.Synchronize(context.Background()))
				require.NoError(t, dev.Copy(zero, x.Dst))
				assert.Equal(t, floats(t, want.Dst), floats(t, zero), name)
				then := launched()
				assert.Equal(t, c.astray, then.Kernel == "resample_plain_f32", name)
				assert.Equal(t, c.astray, !then.Choice.Ahead, name)
			}
			require.NoError(t, p.Close())
		}
	})
}

func floats(t *testing.T, x *tensor.Tensor) []float32 {
	t.Helper()
	v, err := tensor.Data[float32](x)
	require.NoError(t, err)
	return v
}
