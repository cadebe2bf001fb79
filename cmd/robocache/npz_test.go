package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The named cases, from archives that numpy wrote, with answers worked out by hand.
func TestNamedCasesOfNumpyArchives(t *testing.T) {
	for _, c := range []struct {
		name  string
		want  []float32
		valid []uint8
		age   []float64
	}{
		{"ramp", []float32{0, .5, 1, 1.5, 2}, []uint8{1, 1, 1, 1, 1}, []float64{0, .25, 0, .25, 0}},
		// 5 + (0.5-0.1)/0.9 * (3-5) = 4.1111112 in float32
		{"uneven", []float32{3, 4.111111}, []uint8{1, 1}, []float64{.05, .4}},
		{"ends", []float32{1, 10}, []uint8{0, 0}, []float64{-.5, 1}},
		{"one_sample", []float32{7, 8, 7, 8, 7, 8}, []uint8{0, 1, 0}, []float64{-3, 0, 6}},
		{"duplicate", []float32{5}, []uint8{1}, []float64{0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := resampleTo(t, "testdata/"+c.name+".npz")
			assert.ElementsMatch(t, []string{"values", "valid", "age", "times"}, f.Names())
			assert.InDeltaSlice(t, c.want, array[float32](t, f, "values"), 3e-7)
			assert.Equal(t, c.valid, array[uint8](t, f, "valid"))
			assert.InDeltaSlice(t, c.age, array[float64](t, f, "age"), 1e-15)
			assert.Len(t, array[float64](t, f, "times"), len(c.valid), "times are the targets, in the input's dtype")
		})
	}
}

func TestEdgesOfEnds(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []float32
	}{
		{[]string{"--edge", "clamp"}, []float32{1, 10}},
		{[]string{"--edge", "extrapolate"}, []float32{.5, 11}},
		{[]string{"--edge=fill", "--fill", "-7.5"}, []float32{-7.5, -7.5}},
		{[]string{"--edge=fill", "--fill=-7.5"}, []float32{-7.5, -7.5}},
		{[]string{"--edge=fill", "--fill", "-inf"}, []float32{float32(math.Inf(-1)), float32(math.Inf(-1))}},
	} {
		f := resampleTo(t, "testdata/ends.npz", c.args...)
		assert.Equal(t, c.want, array[float32](t, f, "values"), c.args)
	}
	for _, args := range [][]string{{"--edge=fill"}, {"--edge=fill", "--fill", "nan"}} {
		for _, v := range array[float32](t, resampleTo(t, "testdata/ends.npz", args...), "values") {
			assert.True(t, v != v, "%v gave %v", args, v)
		}
	}
}

func TestKindsBetweenSamples(t *testing.T) {
	for kind, want := range map[string][]float32{
		"linear": {3, 4.111111}, "previous": {1, 5}, "next": {5, 3}, "nearest": {1, 5}, "angle": {3 + math.Pi, 4.111111},
	} {
		f := resampleTo(t, "testdata/uneven.npz", "--method", kind)
		assert.InDeltaSlice(t, want, array[float32](t, f, "values"), 1e-6, kind)
	}
	f := resampleTo(t, "testdata/uneven.npz", "--method", "angle", "--period", "4")
	// 1 to 5 is no way at all modulo 4; 5 to 3 is half a period.
	assert.InDelta(t, 1, array[float32](t, f, "values")[0], 1e-6)
}

// hz30-previous-repeats-frames: frame i of a camera, at i/rate in float64, is row i of a clock of its rate, though the ticks are whole nanoseconds.
func TestFramesAreTheRowsOfTheirClock(t *testing.T) {
	const n = 60
	for _, rate := range []float64{3, 7, 15, 24, 29.97, 30, 60, 90, 120} {
		times, want := make([]float64, n), make([]float32, n)
		for i := range n {
			times[i], want[i] = float64(i)/rate, float32(i)
		}
		in := writeNPZ(t, map[string]*tensor.Tensor{"values": tensor.Must(tensor.Of(want, n, 1)), "times": vec(times...)})
		for _, kind := range []string{"previous", "next", "linear"} {
			f := resampleTo(t, in, "--hz", fmt.Sprint(rate), "--method", kind)
			assert.Equal(t, want, array[float32](t, f, "values"), "%g Hz, %s", rate, kind)
			assert.Equal(t, bytes.Repeat([]byte{1}, n), array[uint8](t, f, "valid"), "%g Hz, %s", rate, kind)
		}
	}
	frames, times := tensor.Must(tensor.Of([]float32{0, 1, 2}, 3, 1)), vec(0., 1./30, 2./30)
	both := fuseTo(t, writeNPZ(t, map[string]*tensor.Tensor{"camera.values": frames, "camera.times": times}), "--hz=30", "--method=previous")
	assert.Equal(t, []float32{0, 1, 2}, array[float32](t, both, "values"), "fused")
	in := writeNPZ(t, map[string]*tensor.Tensor{"values": frames, "times": vec[int64](0, 33_333_334, 66_666_668)})
	f := resampleTo(t, in, "--hz=30", "--method=previous", "--snap=0")
	assert.Equal(t, []float32{0, 0, 1}, array[float32](t, f, "values"), "nothing snaps: ticks are a nanosecond or so before their frames")
}

// Epoch seconds hold a frame's time to a quarter of a microsecond, which snaps; so do frames among the ticks of a clock over all streams.
func TestFramesOfAnEpochAndOfAUnionAreTheRowsOfTheirClock(t *testing.T) {
	const n = 60
	epoch, camera, slow := make([]float64, n), make([]int64, n), make([]int64, 4)
	want := make([]float32, n)
	for i := range n {
		epoch[i], camera[i], want[i] = 1.7e9+float64(i)/30, int64(i)*33_333_333+int64(i)/3, float32(i)
	}
	frames := tensor.Must(tensor.Of(want, n, 1))
	for _, kind := range []string{"previous", "next", "linear", "nearest"} {
		f := resampleTo(t, writeNPZ(t, map[string]*tensor.Tensor{"values": frames, "times": vec(epoch...)}), "--hz=30", "--method", kind)
		assert.Equal(t, want, array[float32](t, f, "values"), "epoch seconds, %s", kind)
		assert.Equal(t, bytes.Repeat([]byte{1}, n), array[uint8](t, f, "valid"), "epoch seconds, %s", kind)
	}
	for i := range slow {
		slow[i] = int64(i) * 1e9 // to 3 s, when the camera has ended
	}
	in := writeNPZ(t, map[string]*tensor.Tensor{"camera.values": frames, "camera.times": vec(camera...), "slow.values": tensor.Must(tensor.Of([]float32{0, 1, 2, 3}, 4, 1)), "slow.times": vec(slow...)})
	f := fuseTo(t, in, "--hz=30", "--method=previous", "--range=union", "--stream=camera", "--stream=slow")
	values, valid := array[float32](t, f, "values"), array[uint8](t, f, "valid")
	require.Len(t, values, 2*91, "ticks of 0 to 3 s")
	for i := range 91 {
		assert.Equal(t, []float32{float32(min(i, n-1)), float32(i / 30)}, values[2*i:2*i+2], "tick %d", i)
		assert.Equal(t, []uint8{uint8(min(1, max(0, n-i))), 1}, valid[2*i:2*i+2], "tick %d", i)
	}
}

// angle-mixes-two-ranges: a heading that stays is one number, in the range that it was recorded in, on samples and between them.
func TestAnglesKeepTheirRange(t *testing.T) {
	for _, c := range []struct{ in, want []float32 }{
		{[]float32{350, 350, 350, 350}, []float32{350, 350, 350, 350, 350, 350, 350}},
		{[]float32{350, 0, 10, 355}, []float32{350, 355, 0, 5, 10, 2.5, 355}},
		{[]float32{-170, 170, 180, -180}, []float32{-170, -180, 170, 175, 180, -180, -180}},
		{[]float32{720, 730, 720, 900}, []float32{720, 725, 730, 725, 720, 810, 900}},
	} {
		in := writeNPZ(t, map[string]*tensor.Tensor{"values": tensor.Must(tensor.Of(c.in, 4, 1)), "times": vec(0., 1, 2, 3)})
		f := resampleTo(t, in, "--hz=2", "--method=angle", "--period=360")
		assert.Equal(t, c.want, array[float32](t, f, "values"), "%v", c.in)
	}
}

// linear-constant-infinity: a column that has no limit has none between its samples.
func TestInfiniteSamplesStayInfinite(t *testing.T) {
	inf := float32(math.Inf(1))
	in := writeNPZ(t, map[string]*tensor.Tensor{"values": tensor.Must(tensor.Of([]float32{inf, -inf, inf, inf, -inf, 1, inf, -inf, 2}, 3, 3)), "times": vec(0., .1, .2), "targets": vec(.05, .1, .15)})
	f := resampleTo(t, in)
	assert.Equal(t, []float32{inf, -inf, inf, inf, -inf, 1, inf, -inf, 1.5}, array[float32](t, f, "values"))
}

// A topic that speaks when something changes is valid after its last sample.
func TestEdgeHoldKeepsTheLastSample(t *testing.T) {
	in := writeNPZ(t, map[string]*tensor.Tensor{"values": tensor.Must(tensor.Of([]float32{1, 2}, 2, 1)), "times": vec[int64](2e9, 5e9), "targets": vec[int64](1e9, 4e9, 7e9)})
	out := filepath.Join(t.TempDir(), "o.npz")
	stdout, _ := good(t, "resample", in, "-o", out, "--backend=cpu", "--json", "--method=previous", "--edge=hold", "--fill=-1")
	f := open(t, out)
	assert.Equal(t, []float32{-1, 1, 2}, array[float32](t, f, "values"))
	assert.Equal(t, []uint8{0, 1, 1}, array[uint8](t, f, "valid"))
	assert.Equal(t, []int64{-1e9, 2e9, 2e9}, array[int64](t, f, "age"))
	stream := unmarshal(t, stdout)["streams"].([]any)[0].(map[string]any)
	assert.Equal(t, 1., stream["out_of_range"], "the one before the first sample")
	assert.Equal(t, 2., stream["valid"])
}

// Two unit quaternions, a quarter turn apart about z; half way is an eighth.
func TestSlerpReadsTheOrderAsked(t *testing.T) {
	h := float32(math.Sqrt2 / 2)
	c, s := float32(math.Cos(math.Pi/8)), float32(math.Sin(math.Pi/8))
	for _, o := range []struct {
		args []string
		data []float32
		want []float32
	}{
		{nil, []float32{0, 0, 0, 1, 0, 0, h, h}, []float32{0, 0, s, c}},
		{[]string{"--quat", "xyzw"}, []float32{0, 0, 0, 1, 0, 0, h, h}, []float32{0, 0, s, c}},
		{[]string{"--quat", "wxyz"}, []float32{1, 0, 0, 0, h, 0, 0, h}, []float32{c, 0, 0, s}},
	} {
		in := writeNPZ(t, map[string]*tensor.Tensor{
			"values": tensor.Must(tensor.Of(o.data, 2, 4)), "times": vec[int64](0, 2e9), "targets": vec[int64](1e9),
		})
		f := resampleTo(t, in, append(o.args, "--method", "slerp")...)
		assert.InDeltaSlice(t, o.want, array[float32](t, f, "values"), 1e-6)
	}
}

func TestPaddedTailIsNeverRead(t *testing.T) {
	f := resampleTo(t, "testdata/padded.npz")
	assert.Equal(t, []int{2, 3, 2}, shape(t, f, "values"))
	assert.Equal(t, []float32{0, 0, .5, -.5, 2.5, -2.5, 0, 1e9, 5, 1e9, 20, 1e9}, array[float32](t, f, "values"))
	assert.Equal(t, []uint8{1, 1, 1, 1, 1, 1}, array[uint8](t, f, "valid"))
	assert.Equal(t, []int{2, 3}, shape(t, f, "times"))
	assert.Equal(t, []int64{0, 10e6, 10e6, 0, 10e6, 0}, array[int64](t, f, "age"))

	_, remarks := good(t, "resample", "testdata/padded.npz", "-o", filepath.Join(t.TempDir(), "o.npz"), "--backend=cpu")
	assert.Contains(t, remarks, "not used: note")
}

func TestSharedClockAndTargets(t *testing.T) {
	f := resampleTo(t, "testdata/shared.npz")
	assert.Equal(t, []int{2, 3, 2}, shape(t, f, "values"))
	assert.Equal(t, []float64{0, 0, .5, -.5, 4, -4, 0, 1e9, 5, 1e9, 1e9, 1e9}, array[float64](t, f, "values"))
	assert.Equal(t, []int{3}, shape(t, f, "times"))
	assert.Equal(t, []int{2, 3}, shape(t, f, "valid"))
}

func TestHzCoversWhatRowsShare(t *testing.T) {
	// Rows reach from 0 to 80 ms and from 10 to 50 ms.
	f := resampleTo(t, "testdata/padded.npz", "--hz", "100")
	assert.Equal(t, []int64{10e6, 20e6, 30e6, 40e6, 50e6}, array[int64](t, f, "times"))
	assert.Equal(t, []int{2, 5, 2}, shape(t, f, "values"))
	f = resampleTo(t, "testdata/padded.npz", "--hz", "100", "--range", "union")
	assert.Equal(t, []uint8{1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0, 0}, array[uint8](t, f, "valid"))
	// 30 Hz does not divide a second into whole nanoseconds; on a clock of seconds ticks are i/30.
	f = resampleTo(t, "testdata/ramp.npz", "--hz", "30")
	times := array[float64](t, f, "times")
	require.Len(t, times, 31)
	assert.Equal(t, 1./30, times[1])
	assert.Equal(t, 2./30, times[2])
	assert.Equal(t, 1.0, times[30])
	f = resampleTo(t, "testdata/one_sample.npz", "--hz", "30")
	assert.Equal(t, []float64{3}, array[float64](t, f, "times"), "a row of one sample has one target")
}

// Timestamps between two nanoseconds: the clock begins at the first one that is not before them and ends at the last not after.
func TestHzOnSecondsStaysInside(t *testing.T) {
	first, last := 1762550000.0100001, 1762550000.9999999
	in := writeNPZ(t, map[string]*tensor.Tensor{"values": column[float32](0, 1), "times": vec(first, last)})
	f := resampleTo(t, in, "--hz", "1000")
	times := array[float64](t, f, "times")
	assert.GreaterOrEqual(t, times[0], first)
	assert.InDelta(t, first, times[0], 3e-7)
	assert.LessOrEqual(t, times[len(times)-1], last)
	assert.NotContains(t, array[uint8](t, f, "valid"), uint8(0))
}

func TestValueTypes(t *testing.T) {
	f := resampleTo(t, "testdata/bf16.npz", "--in-dtype", "bf16")
	h, err := f.Header("values")
	require.NoError(t, err)
	assert.Equal(t, "<u2", h.Descr, "bf16 is stored as uint16")
	b, err := f.BF16("values")
	require.NoError(t, err)
	assert.Equal(t, tensor.BF16, b.DType())
	bits, err := tensor.Data[tensor.BFloat16](b)
	require.NoError(t, err)
	assert.Equal(t, []tensor.BFloat16{0x3f00, 0x3fc0}, bits, "0.5 and 1.5")

	assert.Equal(t, []float32{.5, 1.5}, array[float32](t, resampleTo(t, "testdata/bf16.npz", "--in-dtype=bf16", "--dtype=f32"), "values"))
	half := resampleTo(t, "testdata/half.npz")
	assert.Equal(t, []tensor.Float16{0x3800, 0x3e00}, array[tensor.Float16](t, half, "values"))
	assert.Equal(t, []float32{.25, .25}, array[float32](t, half, "age"), "age has the times' dtype")
	assert.Equal(t, []float64{.5, 1.5}, array[float64](t, resampleTo(t, "testdata/half.npz", "--dtype", "f64"), "values"))
}

func TestGapsAndTolerance(t *testing.T) {
	in := writeNPZ(t, map[string]*tensor.Tensor{
		"values": column[float32](0, 1, 2), "times": vec[int64](0, 20e6, 220e6), "targets": vec[int64](10e6, 100e6, 220e6),
	})
	for _, c := range []struct {
		args  []string
		want  []float32
		valid []uint8
	}{
		{[]string{"--max-gap", "0.2s"}, []float32{.5, 1.4, 2}, []uint8{1, 1, 1}},
		{[]string{"--max-gap", "50ms"}, []float32{.5, 1.4, 2}, []uint8{1, 0, 1}},
		{[]string{"--max-gap", "50ms", "--fill-gaps", "--fill", "-1"}, []float32{.5, -1, 2}, []uint8{1, 0, 1}},
		{[]string{"--method=nearest", "--tolerance", "10ms"}, []float32{0, 1, 2}, []uint8{1, 0, 1}},
	} {
		f := resampleTo(t, in, c.args...)
		assert.Equal(t, c.want, array[float32](t, f, "values"), c.args)
		assert.Equal(t, c.valid, array[uint8](t, f, "valid"), c.args)
	}
}

func TestWindowsOfArrays(t *testing.T) {
	in := writeNPZ(t, map[string]*tensor.Tensor{
		"values": column[float32](0, 1, 5, 2), "times": vec[int64](0, 10e6, 20e6, 60e6), "targets": vec[int64](0, 20e6, 35e6, 50e6, 60e6),
	})
	nan := float32(math.NaN())
	for kind, want := range map[string][]float32{
		"window-mean": {0, 3, 5, nan, 2}, "window-min": {0, 1, 5, nan, 2}, "window-max": {0, 5, 5, nan, 2}, "window-last": {0, 5, 5, nan, 2},
	} {
		f := resampleTo(t, in, "--method", kind, "--window", "20ms")
		got := array[float32](t, f, "values")
		assert.True(t, math.IsNaN(float64(got[3])), "%s: the window of target 3 is empty", kind)
		got[3], want[3] = 0, 0
		assert.Equal(t, want, got, kind)
		assert.Equal(t, []uint8{1, 1, 1, 0, 1}, array[uint8](t, f, "valid"), kind)
	}
	f := resampleTo(t, in, "--method", "window-max", "--window", "20ms", "--fill-gaps", "--fill", "-1")
	assert.Equal(t, float32(-1), array[float32](t, f, "values")[3])
	out := filepath.Join(t.TempDir(), "o.npz")
	_, stderr := good(t, "resample", in, "-o", out, "--window=20ms")
	assert.Contains(t, stderr, "window has no effect")
}

func TestPlotOfArrays(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	picture := filepath.Join(dir, "p.png")
	good(t, "resample", "testdata/padded.npz", "-o", filepath.Join(dir, "o.npz"), "--plot", picture)
	head, err := os.ReadFile(picture)
	require.NoError(t, err)
	assert.Equal(t, "\x89PNG", string(head[:4]))
}

func TestNothingToDoIsDone(t *testing.T) {
	in := writeNPZ(t, map[string]*tensor.Tensor{
		"values": column[float32](0, 1), "times": vec[int64](0, 1), "targets": tensor.Must(tensor.New(tensor.I64, 0)),
	})
	f := resampleTo(t, in)
	assert.Equal(t, []int{0, 1}, shape(t, f, "values"))
}

func TestTableOfArrays(t *testing.T) {
	out := filepath.Join(t.TempDir(), "o.npz")
	stdout, stderr := good(t, "resample", "testdata/padded.npz", "-o", out, "--backend=cpu", "--hz=100")
	assert.Equal(t, `clock: 5 timestamps at 100 Hz, 0.010 to 0.050 s
  stream  samples  rate  gaps             range  timestamps    valid  outside  in gaps  lossy  methods
  values        8     -     0  0.000 to 0.080 s          10  100.0 %        0        0      0  linear
wrote `+out+`, computed on cpu
`, stdout)
	assert.Equal(t, "robocache: not used: targets, note\n", stderr, "--hz goes before targets, and says so")
}

func TestFigureSaysWhichRowsItShows(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	in := writeNPZ(t, map[string]*tensor.Tensor{
		"values": tensor.Must(tensor.New(tensor.F32, 9, 2, 1)), "times": vec[int64](0, 10), "targets": vec[int64](5),
	})
	dir := t.TempDir()
	_, stderr := good(t, "resample", in, "-o", filepath.Join(dir, "o.npz"), "--plot", filepath.Join(dir, "p.png"))
	assert.Contains(t, stderr, "the first 8 of 9 rows")

	none := writeNPZ(t, map[string]*tensor.Tensor{
		"values": tensor.Must(tensor.New(tensor.F32, 0, 2, 1)), "times": vec[int64](0, 10), "targets": vec[int64](5),
	})
	code, _, _ := execute("resample", none, "-o", filepath.Join(dir, "none.npz"), "--plot", filepath.Join(dir, "none.png"))
	assert.Equal(t, exitInput, code, "nothing to draw")
	f := resampleTo(t, none)
	assert.Equal(t, []int{0, 1, 1}, shape(t, f, "values"))
}
