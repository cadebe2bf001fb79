package convert

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// cpu is the device that plans are computed on.
func cpu(t *testing.T) *ops.Device {
	t.Helper()
	d, err := ops.Open("cpu")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, d.Close()) })
	return d
}

// streamOf is a stream of one column with these times, ns.
func streamOf(t *testing.T, name string, times []int64, values []float64) dataset.Stream {
	t.Helper()
	s, err := dataset.NewStream(name, times, tensor.Must(tensor.Of(values, len(values), 1)), nil)
	require.NoError(t, err)
	return s
}

// irregular are times with jitter, gaps, duplicates, and some that are on ticks of 50 Hz or within a microsecond of them.
func irregular(r *rand.Rand, n int) []int64 {
	times := make([]int64, n)
	at := int64(1e9)
	for i := range times {
		times[i] = at
		switch r.IntN(12) {
		case 0: // a duplicate
		case 1:
			at += 300e6
		case 2:
			at += 20e6 - at%20e6 // a tick
		case 3:
			at += 40e6 - at%20e6 - 700 + r.Int64N(1400)
		default:
			at += r.Int64N(15e6)
		}
	}
	return times
}

// A sample is used if and only if the rows change with it. A kind that looks at neighbours for slopes may come out without one, so there it is only if.
func TestAUsedSampleIsOneThatRowsAreMadeOf(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	device := cpu(t)
	r := rand.New(rand.NewPCG(3, 4))
	for _, kind := range []string{"linear", "previous", "next", "nearest", "angle", "pchip", "catmull-rom", "window-mean", "window-last", "window-max"} {
		for _, edge := range []string{"clamp", "fill", "extrapolate", "hold"} {
			for _, fill := range []bool{false, true} {
				name := fmt.Sprint(kind, " ", edge, " ", fill)
				times := irregular(r, thorough.Of(40, 60))
				values := make([]float64, len(times))
				for i := range values {
					values[i] = float64(i%7) * .1
				}
				how := align.Sampling{Kind: kind, Edge: edge, FillGaps: fill, Fill: ops.FillWith(-9)}
				if fill {
					how.MaxGap, how.Tolerance = ops.Within(100*time.Millisecond), ops.Within(7*time.Millisecond)
				}
				if kind[:2] == "wi" {
					how.Window = ops.Within(25 * time.Millisecond)
				}
				long := streamOf(t, "long", []int64{1e9 - 200e6, times[len(times)-1] + 200e6}, []float64{0, 1})
				plan := align.Plan{Rate: 50, Range: align.Range{Mode: align.RangeUnion}, Streams: []align.Stream{{Name: "s", Sampling: how}, {Name: "long"}}}
				made := func() *align.Resampled {
					got, err := align.Resample(context.Background(), device, &dataset.Episode{Streams: []dataset.Stream{streamOf(t, "s", times, values), long}}, plan)
					require.NoError(t, err, name)
					return got
				}
				got := made()
				a := &got.Streams[0]
				account := StreamAccount{Name: "s", Read: len(times), Rows: a.Len(), Valid: a.Len()}
				require.NoError(t, countUsed(a, &plan, nil, &account))
				require.NoError(t, account.check("e"), name)
				want := tensor.Must(tensor.Of(must(tensor.Floats(a.Values)), a.Len()))
				has := usageOf(a, &plan)
				n := 0
				for i := range values {
					influence := false
					for _, to := range []float64{3, -3} { // a maximum changes with what is larger
						was := values[i]
						values[i] = was + to
						influence = influence || !same(want, made().Streams[0].Values)
						values[i] = was
					}
					if has[i] {
						n++
					}
					if loose := kind == "pchip" || kind == "catmull-rom"; influence != has[i] && !(loose && has[i]) {
						t.Errorf("%s: sample %d of %d at %d: has an influence: %v, used: %v", name, i, len(times), times[i], influence, has[i])
					}
				}
				assert.Equal(t, n, account.Used, name)
			}
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// usageOf is which samples are used.
func usageOf(a *align.Aligned, plan *align.Plan) []bool {
	snap := clocks.Snapping(plan.Snap, plan.Rate)
	return must(usedSamples(a, snap))
}

func same(a, b *tensor.Tensor) bool {
	x, y := must(tensor.Floats(a)), must(tensor.Floats(b))
	for i := range x {
		if math.Float64bits(x[i]) != math.Float64bits(y[i]) {
			return false
		}
	}
	return true
}
