package cuda_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/gputest"
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/ops/opstest"
	"github.com/robocache/robocache/tensor"
)

func isAhead(c tuned.Choice) bool { return strings.Contains(c.Variant, "_ahead_") }

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

func prefetches(c tuned.Choice) bool { return c.Prefetch }

// What is prefetched, wherever it can be, and what never is, has the same bits. A simulated device has no cache.
func TestPrefetchChangesNoResult(t *testing.T) {
	for name, wanted := range map[string]func(tuned.Choice) bool{
		"prefetched": prefetches,
		"not": func(c tuned.Choice) bool {
			return !c.Prefetch && !isAhead(c) && !strings.Contains(c.Variant, "_direct_")
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := cuda.New(gputest.Require(t), 0)
			require.NoError(t, err)
			v, dev := vary(t, b, wanted)
			opstest.Run(t, dev, opstest.Config{Slow: 2, Only: map[string]bool{"odd": true, "generated": true, "fuse-generated": true, "fuse-named": true}})
			assert.NotEmpty(t, v.others)
			t.Logf("plans: %v", v.others)
		})
	}
}

// A plan whose guesses go astray is launched without them from then on, and says so; one whose guesses are near goes on guessing.
func TestGuessesThatGoAstray(t *testing.T) {
	far := []string{"a gap", "all in a burst", "all at the end", "out of order"}
	t.Run("ahead", func(t *testing.T) {
		testAstray(t, isAhead, far, "resample_ahead_f32", "resample_plain_f32", 201, 1024, 0)
	})
	t.Run("prefetched", func(t *testing.T) {
		testAstray(t, prefetches, far, "resample_plain_f32", "resample_direct_f32", 804, 256, 0)
	})
	t.Run("a fusion", func(t *testing.T) { testAstray(t, prefetches, far, "fuse_plain_f32", "fuse_plain_f32", 804, 256, 2) })
	t.Run("poses", func(t *testing.T) { // with a gap samples lie closer than a warp has room for
		testAstray(t, func(tuned.Choice) bool { return true }, []string{"a gap", "out of order"}, "resample_poses_f32", "resample_odd_f32", 1005, 7, 0)
	})
}

// chosen is what can be told of a launch's choice.
func chosen(l cuda.Launch) tuned.Choice {
	return tuned.Choice{Variant: l.Kernel, Prefetch: strings.Contains(l.Shape, "prefetch")}
}

// testAstray resamples onto n targets, or fuses that often, rows of d features by choices that are wanted. The clocks that are named lead guesses astray.
func testAstray(t *testing.T, wanted func(tuned.Choice) bool, far []string, kernel, careful string, n, d, streams int) {
	const s = 402
	eachDevice(t, func(t *testing.T, b ops.Backend, _ bool) {
		_, dev := vary(t, b, wanted)
		cpu, err := ops.Open("cpu")
		require.NoError(t, err)
		defer cpu.Close()
		values := make([]float32, s*d)
		for i := range values {
			values[i] = float32(i % 977)
		}
		src := tensor.Must(tensor.Of(values, s, d))
		even := func(i int) float32 { return float32(i) }
		for name, stamp := range map[string]func(i int) float32{
			"even":           even,
			"off by a row":   func(i int) float32 { return float32(i) + []float32{0, .9}[min(i, 1)] },
			"a gap":          func(i int) float32 { return float32(i) + []float32{0, s}[i/(s/2)] },
			"all in a burst": func(i int) float32 { return float32(i) / []float32{s, 1}[i/(s-1)] },
			"all at the end": func(i int) float32 { return s - float32(s-1-i)/[]float32{s, 1}[(s-1-i)/(s-1)] },
			"out of order":   even,
		} {
			astray := slices.Contains(far, name)
			times := make([]float32, s)
			for i := range times {
				times[i] = stamp(i)
			}
			targets := make([]float32, n)
			for i := range targets {
				at := i
				if name == "out of order" {
					at = i * 100 % n
				}
				targets[i] = times[s-1] * float32(at) / float32(n-1)
			}
			// plan is the operation's on a device, and what it writes to.
			plan := func(dev *ops.Device) (ops.Plan, *tensor.Tensor) {
				up := func(x *tensor.Tensor) *tensor.Tensor {
					if dev == cpu {
						return x
					}
					out, err := dev.Upload(x)
					require.NoError(t, err)
					t.Cleanup(func() { assert.NoError(t, out.Close()) })
					return out
				}
				dst := up(tensor.Must(tensor.New(tensor.F32, n, d*max(1, streams))))
				from, at, clock := up(src), up(tensor.Must(tensor.Of(times, s))), ops.At(up(tensor.Must(tensor.Of(targets, n))))
				var p ops.Plan
				if streams == 0 {
					p, err = dev.PlanResample(ops.ResampleArgs{Dst: dst, Src: from, SrcTimes: at, Targets: clock}, ops.ResampleOptions{})
				} else {
					p, err = dev.PlanFuse(ops.FuseArgs{Dst: dst, Streams: slices.Repeat([]ops.FuseStream{{Src: from, SrcTimes: at}}, streams), Targets: clock}, ops.FuseOptions{})
				}
				require.NoError(t, err)
				return p, dst
			}
			reference, want := plan(cpu)
			require.NoError(t, reference.Run(cpu.Stream()))
			require.NoError(t, cpu.Synchronize(context.Background()))
			require.NoError(t, reference.Close())
			p, dst := plan(dev)
			launched := func() cuda.Launch {
				list, err := cuda.Explain(p)
				require.NoError(t, err)
				require.Len(t, list, 1)
				return list[0]
			}
			first := launched()
			assert.Equal(t, kernel, first.Kernel, name)
			assert.True(t, wanted(chosen(first)), name)
			for range 3 {
				out := tensor.Must(tensor.New(tensor.F32, n, d*max(1, streams)))
				require.NoError(t, dev.Copy(dst, out))
				require.NoError(t, p.Run(dev.Stream()))
				require.NoError(t, dev.Synchronize(context.Background()))
				require.NoError(t, dev.Copy(out, dst))
				assert.Equal(t, floats(t, want), floats(t, out), name)
				then := launched()
				assert.Equal(t, astray, !wanted(chosen(then)) || then.Kernel != kernel, name)
				assert.Equal(t, map[bool]string{false: kernel, true: careful}[astray], then.Kernel, name)
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
