package main

import (
	"fmt"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fuseTo runs fuse on the CPU into a new file, and opens it.
func fuseTo(t *testing.T, in string, args ...string) *npz.File {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out.npz")
	good(t, append([]string{"fuse", in, "-o", out, "--backend", "cpu"}, args...)...)
	return open(t, out)
}

// twoStreams is a ramp of two columns every 10 s and a counter that breaks off, with targets.
func twoStreams(t *testing.T, more map[string]*tensor.Tensor) string {
	arrays := map[string]*tensor.Tensor{
		"ramp.values": tensor.Must(tensor.Of([]float32{0, 100, 10, 110, 20, 120, 30, 130, 40, 140}, 5, 2)), "ramp.times": vec[int64](0, 10e9, 20e9, 30e9, 40e9),
		"count.values": column[float64](1, 2, 4, 5), "count.times": vec[int64](0, 5e9, 25e9, 30e9),
		"targets": vec[int64](5e9, 12e9, 30e9, 41e9),
	}
	for name, a := range more {
		if arrays[name] = a; a == nil {
			delete(arrays, name)
		}
	}
	return writeNPZ(t, arrays)
}

func TestFuseWritesStreamsSideBySide(t *testing.T) {
	f := fuseTo(t, twoStreams(t, nil), "--stream", "ramp", "--stream", "count:previous:10s")
	assert.ElementsMatch(t, []string{"values", "valid", "age", "times", "streams", "columns"}, f.Names())
	assert.Equal(t, []int{4, 3}, shape(t, f, "values"))
	assert.Equal(t, []float64{5, 105, 2, 12, 112, 2, 30, 130, 5, 40, 140, 5}, array[float64](t, f, "values"))
	assert.Equal(t, []uint8{1, 1, 1, 0, 1, 1, 0, 0}, array[uint8](t, f, "valid"))
	assert.Equal(t, []int64{5e9, 0, 2e9, 7e9, 0, 0, 1e9, 11e9}, array[int64](t, f, "age"))
	assert.Equal(t, []int64{5e9, 12e9, 30e9, 41e9}, array[int64](t, f, "times"))
	columns, err := f.Strings("columns")
	require.NoError(t, err)
	assert.Equal(t, []string{"ramp.0", "ramp.1", "count.0"}, columns)
	streams, err := f.Strings("streams")
	require.NoError(t, err)
	assert.Equal(t, []string{"ramp", "count"}, streams)

	f = fuseTo(t, twoStreams(t, nil), "--stream=count", "--stream=ramp::5s", "--edge=fill", "--fill-gaps")
	assert.Equal(t, []float64{2, 0, 0, 2.7, 0, 0, 5, 30, 130, 0, 0, 0}, array[float64](t, f, "values"), "the order asked for; 0 where there is nothing")
	f = fuseTo(t, twoStreams(t, nil), "--stream=ramp", "--edge=fill", "--fill=-7.5")
	assert.Equal(t, []float32{40 - 47.5, -7.5}, array[float32](t, f, "values")[6:])
}

func TestFuseMakesAClockOverTheSharedTime(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	in := twoStreams(t, map[string]*tensor.Tensor{"none.values": tensor.Must(tensor.New(tensor.F32, 0, 3)), "none.times": tensor.Must(tensor.New(tensor.I64, 0))})
	for args, last := range map[string]int64{"intersection": 30e9, "union": 40e9} {
		f := fuseTo(t, in, "--hz=1", "--range", args, "--stream=ramp", "--stream=none", "--stream=count", "--plot", filepath.Join(t.TempDir(), "p.png"))
		times := array[int64](t, f, "times")
		assert.Equal(t, [2]int64{0, last}, [2]int64{times[0], times[len(times)-1]})
		values, valid := array[float64](t, f, "values"), array[uint8](t, f, "valid")
		for i := range times {
			assert.Equal(t, []float64{0, 0, 0}, values[6*i+2:][:3], "a stream without samples is filled")
			assert.Zero(t, valid[3*i+1])
		}
	}
	out := filepath.Join(t.TempDir(), "o.npz")
	stdout, stderr := good(t, "fuse", in, "-o", out, "--backend=cpu", "--stream=ramp")
	assert.Contains(t, stderr, "not used: ")
	assert.Contains(t, stdout, "every stream is valid at 3 of 4 timestamps\n")
	stdout, _ = good(t, "fuse", in, "-o", out, "--backend=cpu", "--stream=ramp", "--stream=count:nearest", "--json")
	r := unmarshal(t, stdout)
	assert.Equal(t, 3.0, r["all_valid"])
	lines := r["streams"].([]any)
	assert.Equal(t, map[string]any{"nearest": 1.0}, lines[1].(map[string]any)["methods"])
	assert.Equal(t, 3.0, lines[1].(map[string]any)["valid"])
	_, stderr = good(t, "fuse", in, "-o", out, "--backend=cpu", "--stream=ramp", "--fill=3")
	assert.Contains(t, stderr, "fill has no effect")
}

// For a log, fuse and resample return the same bits for each stream.
func TestFuseOfALogEqualsResample(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	streams := []string{"actuator_controls_0", "vehicle_attitude", "airspeed", "vehicle_control_mode"}
	args := []string{"--hz=50", "--dtype=f64", "--max-gap=50ms"}
	for _, s := range streams {
		args = append(args, "--stream="+s)
	}
	fused, apart := fuseTo(t, flight, args...), resampleTo(t, flight, args...)
	values, valid, age := array[float64](t, fused, "values"), array[uint8](t, fused, "valid"), array[int64](t, fused, "age")
	assert.Equal(t, array[int64](t, apart, "times"), array[int64](t, fused, "times"))
	columns, err := fused.Strings("columns")
	require.NoError(t, err)
	n := len(valid) / len(streams)
	lo := 0
	for m, s := range streams {
		want, d := array[float64](t, apart, s+".values"), shape(t, apart, s+".values")[1]
		wantValid, wantAge := array[uint8](t, apart, s+".valid"), array[int64](t, apart, s+".age")
		assert.Contains(t, columns[lo], s+".")
		for i := range n {
			for k := range d {
				require.Equal(t, math.Float64bits(want[i*d+k]), math.Float64bits(values[i*len(columns)+lo+k]), "%s, target %d, column %d", s, i, k)
			}
			require.Equal(t, wantValid[i], valid[i*len(streams)+m])
			require.Equal(t, wantAge[i], age[i*len(streams)+m])
		}
		lo += d
	}
	assert.Equal(t, lo, len(columns))
}

func TestFigureOfAFusionIsAnImage(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	picture := filepath.Join(t.TempDir(), "p.png")
	fuseTo(t, flight, "--hz=50", "--stream=airspeed::50ms", "--stream=vehicle_control_mode", "--fill-gaps", "--dtype=bf16", "--plot", picture)
	file, err := os.Open(picture)
	require.NoError(t, err)
	defer file.Close()
	config, err := png.DecodeConfig(file)
	require.NoError(t, err)
	assert.Equal(t, 1200, config.Width)
}

func TestFuseReadsBF16(t *testing.T) {
	in := twoStreams(t, map[string]*tensor.Tensor{"half.values": tensor.Must(tensor.Of([]tensor.BFloat16{0x3f80, 0x4000}, 2, 1)), "half.times": vec[int64](0, 10e9)})
	f := fuseTo(t, in, "--in-dtype=bf16", "--stream=half", "--stream=ramp")
	assert.Equal(t, []float32{1.5, 5, 105}, array[float32](t, f, "values")[:3])
	stdout, stderr := good(t, "fuse", in, "-o", filepath.Join(t.TempDir(), "o.npz"), "--stream=half", "--backend=cpu")
	assert.Contains(t, stderr, "half.values: uint16 taken as whole numbers; --in-dtype bf16 reads them as bf16\n")
	assert.Regexp(t, `half +2 .* previous, held\n`, stdout)
}

func TestExitCodesOfFuse(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	out := filepath.Join(dir, "o.npz")
	in := twoStreams(t, nil)
	with := func(name string, a *tensor.Tensor) string { return twoStreams(t, map[string]*tensor.Tensor{name: a}) }
	many := map[string]*tensor.Tensor{}
	for i := range 17 {
		many[fmt.Sprint("s", i, ".values")], many[fmt.Sprint("s", i, ".times")] = column[float32](0), vec[int64](0)
	}
	to := func(in string, more ...string) []string {
		return append([]string{"fuse", in, "-o", out, "--backend=cpu"}, more...)
	}
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"fuse", "-o", out}, exitUsage, []string{"fuse takes one input file", "got none"}},
		{[]string{"fuse", in}, exitUsage, []string{"-o OUT.npz"}},
		{to(in, "--stream=ramp:cubic"), exitUsage, []string{"cubic", "linear"}},
		{to(in, "--stream=ramp:linear:fast"), exitUsage, []string{"max-gap", `"fast"`, "50ms"}},
		{to(in, "--stream=ramp", "--stream=ramp::5s"), exitUsage, []string{"ramp", "twice"}},
		{to(in, "--stream=:linear"), exitUsage, []string{"NAME"}},
		{to(in, "--unordered=sometimes"), exitUsage, []string{"--unordered", "drop, sort, error"}},
		{to(in, "--hz=1e10"), exitUsage, []string{"1e10"}},
		{to(with("targets", nil)), exitUsage, []string{"targets", "--hz"}},
		{to(flight), exitUsage, []string{"--hz"}},
		{to(flight, "--hz=50"), exitUsage, []string{"at most 16", "--stream"}},
		{to(writeNPZ(t, many), "--hz=1"), exitUsage, []string{"got 17 streams", "--stream"}},
		{to(flight, "--hz=50", "--stream=airspede"), exitInput, []string{"airspede", "airspeed"}},
		{to(flight, "--hz=50", "--stream=airspeed:slerp"), exitInput, []string{"airspeed", "four floats"}},
		{to(in, "--stream=rump"), exitInput, []string{"rump", "count", "ramp"}},
		{to(with("count.times", nil), "--stream=count"), exitInput, []string{"count.times"}},
		{to(with("count.times", vec[int64](0)), "--strict"), exitInput, []string{"count.times", "[1]", "[4]"}},
		{to(with("count.times", vec(0., 1, 2, 3))), exitInput, []string{"times", "f64", "i64"}},
		{to(with("count.times", vec[int64](0, 2, 1, 3)), "--unordered=error"), exitInput, []string{"stream count", "count.times", "backwards", "sample 2"}},
		{to(with("count.times", vec[int64](0, 2, 1, 3)), "--unordered=error", "--hz=10"), exitInput, []string{"stream count", "count.times", "backwards", "sample 2"}},
		{to(with("count.values", tensor.Must(tensor.New(tensor.U8, 4, 2, 2, 3))), "--stream=count"), exitInput, []string{"count.values", "[S,D]", "uint8 [4,2,2,3]"}},
		{to(with("count.times", vec[int32](0, 1, 2, 3)), "--strict"), exitInput, []string{"count.times", "<i4", "int64 or uint64 nanoseconds"}},
		{to(with("targets", vec(0.))), exitInput, []string{"targets", "f64", "i64"}},
		{to(in, "--stream=ramp:slerp"), exitInput, []string{"ramp", "multiple of 4"}},
		{to(in, "--edge=error"), exitInput, []string{"targets", "outside", "index 3"}},
		{to("testdata/ramp.npz"), exitInput, []string{"NAME.values"}},
		{to(in, "--backend", "tpu"), exitUsage, []string{"tpu"}},
		{[]string{"fuse", in, "-o", filepath.Join(dir, "no", "folder.npz")}, exitOther, []string{"folder.npz"}},
	} {
		code, stdout, stderr := execute(c.args...)
		assert.Equal(t, c.code, code, "%q: %s", c.args, stderr)
		for _, w := range c.want {
			assert.Contains(t, stderr, w, "%q", c.args)
		}
		assert.Empty(t, stdout, "%q", c.args)
		assert.NoFileExists(t, out, "%q: a command that fails leaves no file", c.args)
		code, stdout, _ = execute(append(c.args, "--json")...)
		assert.Equal(t, c.code, code, "%q with --json", c.args)
		assert.Equal(t, float64(c.code), unmarshal(t, stdout)["error"].(map[string]any)["code"])
	}
	_, stdout, _ := execute(to(with("count.times", vec[int64](0, 2, 1, 3)), "--unordered=error", "--json")...)
	e := unmarshal(t, stdout)["error"].(map[string]any)
	assert.Equal(t, []any{"count", "count.times", 0.0, 2.0}, []any{e["stream"], e["array"], e["row"], e["index"]})
}

func TestHelpAndCompletionOfFuse(t *testing.T) {
	stdout, _ := good(t, "fuse", "--help")
	for _, flag := range []string{"--stream", "--method", "--edge", "--fill", "--max-gap", "--fill-gaps", "--dtype", "--backend", "--hz", "--range", "--plot", "--json", "--output"} {
		assert.Contains(t, stdout, flag+" ")
	}
	assert.NotContains(t, stdout, "default nan")
	stdout, _ = good(t, "__complete", "fuse", flight, "--stream", "airspeed:")
	assert.Contains(t, stdout, "airspeed:pchip\n")
	stdout, _ = good(t, "resample", "--help")
	assert.Contains(t, stdout, "default nan")
}
