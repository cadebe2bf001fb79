package opstest

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// goldenJSON is written by scripts/gen_golden.py from the libraries themselves.
//
//go:embed testdata/golden.json
var goldenJSON []byte

// goldenKindsJSON is written by scripts/gen_golden_kinds.py.
//
//go:embed testdata/golden_kinds.json
var goldenKindsJSON []byte

// golden is a case with the results of another library, as bit patterns.
type golden struct {
	Oracle, Kind, Rule, DType  string
	Samples, Targets, Features int
	Times, At                  []int64
	Values, Want               []int64
	Tolerance                  *int64 // nanoseconds; negative or missing means none
	Window                     int64  // nanoseconds
}

func (s *suite) golden(t *testing.T) {
	for _, text := range [][]byte{goldenJSON, goldenKindsJSON} {
		var file struct {
			Versions map[string]string
			Cases    []golden
		}
		require.NoError(t, json.Unmarshal(text, &file))
		require.NotEmpty(t, file.Cases)
		for i, g := range file.Cases {
			t.Run(fmt.Sprintf("%s-%s-%d", g.Oracle, g.Kind, i), func(t *testing.T) { s.goldenCase(t, &g) })
		}
	}
}

func (s *suite) goldenCase(t *testing.T, g *golden) {
	dtype, err := tensor.ParseDType(g.DType)
	require.NoError(t, err)
	kind, err := ops.ParseInterp(g.Kind)
	require.NoError(t, err)
	raw := func(in []int64) []uint64 {
		out := make([]uint64, len(in))
		for i, b := range in {
			out[i] = uint64(b) << (64 - 8*dtype.Size()) >> (64 - 8*dtype.Size())
		}
		return out
	}
	c := &resampling{Name: g.Oracle, Src: packed(dtype, raw(g.Values), g.Samples, g.Features), Times: arr(g.Times, g.Samples), Targets: arr(g.At, g.Targets), Opts: ops.ResampleOptions{Interp: kind}}
	if g.Tolerance != nil && *g.Tolerance >= 0 {
		c.Opts.Tolerance = ops.Within(time.Duration(*g.Tolerance))
	}
	if g.Window > 0 {
		c.Opts.Window = ops.Within(time.Duration(g.Window))
	}
	s.check(t, c, layouts...)
	got := s.called(t, c)
	want, d := raw(g.Want), g.Features
	size := 0.0
	for _, b := range c.Src.raw {
		size = math.Max(size, math.Abs(decode(dtype, b)))
	}
	for i := 0; i < len(want); i += d {
		what := fmt.Sprintf("target %d at %d", i/d, g.At[i/d])
		switch g.Rule {
		case "bits":
			assert.Equal(t, want[i:][:d], got.dst[i:][:d], what)
		case "line":
			// numpy computes a slope first: its five roundings and our four, with numbers up to twice the samples.
			closeTo(t, dtype, want[i:][:d], got.dst[i:][:d], 1, 18*0x1p-53*size, what)
		case "near":
			closeTo(t, dtype, want[i:][:d], got.dst[i:][:d], 1, 1e-14*size, what)
		case "asof":
			if math.IsNaN(decode(dtype, want[i])) {
				assert.Zero(t, got.valid[i], what)
				continue
			}
			assert.Equal(t, want[i], got.dst[i], what)
			assert.Equal(t, uint64(1), got.valid[i], what)
		case "rotation":
			// scipy uses a rotation vector: a dozen roundings, a sine and an arc tangent.
			sameRotation(t, want[i:][:4], got.dst[i:][:4], 64*0x1p-53, what)
		case "small-rotation":
			// For a dot product above 0.9999 the half angle is at most 0.01414, and the normalised lerp is off by up to angle^3/60.
			sameRotation(t, want[i:][:4], got.dst[i:][:4], 5e-8, what)
		case "cubic":
			// scipy uses powers of the time in a bracket: about ten roundings, each of at most a slope times a bracket's length.
			closeTo(t, dtype, want[i:][:d], got.dst[i:][:d], 1, 16*0x1p-53*g.steepest(c), what)
		case "turn":
			// As for quaternions. Whole turns in the samples add their own roundings.
			closeTo(t, dtype, want[i:][:d], got.dst[i:][:d], 1, 256*0x1p-53*math.Max(1, size), what)
		case "small-turn":
			// As for quaternions, doubled for the whole angle.
			closeTo(t, dtype, want[i:][:d], got.dst[i:][:d], 1, 1e-7, what)
		default:
			t.Fatalf("unknown rule %q", g.Rule)
		}
	}
}

// steepest returns the greatest slope between two samples times the longest bracket. For velocities it returns the greatest slope.
func (g *golden) steepest(c *resampling) float64 {
	slope, longest := 0.0, 0.0
	for k := 1; k < g.Samples; k++ {
		h := float64(g.Times[k] - g.Times[k-1])
		longest = math.Max(longest, h)
		for d := range g.Features {
			slope = math.Max(slope, math.Abs(c.Src.float(c.Src.at(k, d))-c.Src.float(c.Src.at(k-1, d)))/h)
		}
	}
	if g.Kind == "hermite" {
		return slope * 1e9
	}
	return slope * longest
}

func closeTo(t *testing.T, dtype tensor.DType, want, got []uint64, sign, tolerance float64, what string) {
	t.Helper()
	for i := range want {
		assert.InDelta(t, decode(dtype, want[i]), sign*decode(dtype, got[i]), tolerance, "%s, feature %d", what, i)
	}
}

// sameRotation compares quaternions up to their sign, because scipy chooses the sign by another rule.
func sameRotation(t *testing.T, want, got []uint64, tolerance float64, what string) {
	t.Helper()
	dot := 0.0
	for i := range want {
		dot += decode(tensor.F64, want[i]) * decode(tensor.F64, got[i])
	}
	closeTo(t, tensor.F64, want, got, math.Copysign(1, dot), tolerance, what)
}
