package main

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
)

// Every integer that an output's dtype cannot hold, and every number that becomes infinite in it, is counted for each stream.
func TestWhatANarrowOutputLosesIsCounted(t *testing.T) {
	timestamps := []uint64{0, 1e6, 2e6, 3e6}
	log := writeLog(t,
		topic{"ints", "int32_t v", timestamps, []any{int32(2048), int32(2049), int32(-2051), int32(70000)}}, // f16 holds integers to 2048
		topic{"longs", "int64_t v", timestamps, []any{int64(1 << 24), int64(1<<24 + 1), int64(-1<<24 - 1), int64(1 << 40)}},
		topic{"floats", "float v", timestamps, []any{float32(.1), float32(7e4), float32(math.Inf(1)), float32(-1e39 / 10)}},
	)
	for _, c := range []struct {
		dtype                     string
		ints, longs, floats       [2]int // integers rounded, numbers that became infinite
		intsSay, longsSay, flSays string
	}{
		{"f64", [2]int{}, [2]int{}, [2]int{}, "", "", ""},
		{"f32", [2]int{}, [2]int{2, 0}, [2]int{}, "", "longs, in f32: 2 integers were rounded, by up to 1\n", ""},
		{"f16", [2]int{2, 1}, [2]int{0, 4}, [2]int{0, 2}, "ints, in f16: 2 integers were rounded, by up to 1, and 1 finite numbers became infinite\n",
			"longs, in f16: 4 finite numbers became infinite\n", "floats, in f16: 2 finite numbers became infinite\n"},
		{"bf16", [2]int{3, 0}, [2]int{2, 0}, [2]int{}, "ints, in bf16: 3 integers were rounded, by up to 1.4e+02\n", "longs, in bf16: 2 integers were rounded, by up to 1\n", ""},
	} {
		for _, command := range []string{"resample", "fuse"} {
			out := filepath.Join(t.TempDir(), "o.npz")
			args := []string{command, log, "-o", out, "--hz=1", "--backend=cpu", "--method=previous", "--dtype", c.dtype}
			stdout, _ := good(t, append(args, "--json")...)
			got := map[string][2]int{}
			for _, s := range unmarshal(t, stdout)["streams"].([]any) {
				s := s.(map[string]any)
				got[s["name"].(string)] = [2]int{int(s["rounded_integers"].(float64)), int(s["overflowed"].(float64))}
			}
			assert.Equal(t, map[string][2]int{"ints": c.ints, "longs": c.longs, "floats": c.floats}, got, "%s to %s", command, c.dtype)
			stdout, _ = good(t, args...)
			for _, line := range []string{c.intsSay, c.longsSay, c.flSays} {
				assert.Contains(t, stdout, line, "%s to %s", command, c.dtype)
			}
			if c.dtype == "f64" {
				assert.NotContains(t, stdout, "integers were rounded")
				assert.NotContains(t, stdout, "became infinite")
			}
		}
	}
}

// Numbers that the operation itself makes, and fill values, count as well; infinities that were recorded do not.
func TestNumbersThatBecomeInfiniteAreCountedInArrays(t *testing.T) {
	inf := float32(math.Inf(1))
	in := writeNPZ(t, map[string]*tensor.Tensor{
		"values":  tensor.Must(tensor.Of([]float32{6e4, 1, 6e4 + 5e3, -inf, 0, 0}, 1, 3, 2)),
		"times":   tensor.Must(tensor.Of([]float64{0, 1, 2}, 1, 3)),
		"targets": tensor.Must(tensor.Of([]float64{-9, 0, .5, 1, 2, 9}, 1, 6)),
	})
	count := func(args ...string) int {
		stdout, _ := good(t, append([]string{"resample", in, "-o", filepath.Join(t.TempDir(), "o.npz"), "--backend=cpu", "--json"}, args...)...)
		return int(unmarshal(t, stdout)["streams"].([]any)[0].(map[string]any)["overflowed"].(float64))
	}
	assert.Zero(t, count("--dtype=f16"), "the greatest is 65000, f16 holds 65504")
	assert.Equal(t, 1, count("--dtype=f16", "--edge=extrapolate"), "-455000 at 9 s; 15000 at -9 s is finite")
	assert.Equal(t, 4, count("--dtype=f16", "--edge=fill", "--fill=1e6"), "two targets of two features")
	assert.Zero(t, count("--dtype=bf16", "--edge=extrapolate"))
}

// The counts do not depend on the block size.
func TestLossesAreCountedInPieces(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	n := 1<<21 + 3 // targets of two columns: more than are looked at together
	in := writeNPZ(t, map[string]*tensor.Tensor{
		"values": tensor.Must(tensor.Of([]float32{1, 2, 1e5, 3}, 2, 2)), "times": vec(0, float64(n-1)),
	})
	stdout, _ := good(t, "resample", in, "-o", filepath.Join(t.TempDir(), "o.npz"), "--backend=cpu", "--json", "--hz=1", "--dtype=f16", "--method=next")
	stream := unmarshal(t, stdout)["streams"].([]any)[0].(map[string]any)
	assert.EqualValues(t, n-1, stream["overflowed"], "all but the first")
}
