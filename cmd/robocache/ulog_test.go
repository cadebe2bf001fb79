package main

import (
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/robocache/robocache/dataset/ulog"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFlightLogToOneClock(t *testing.T) {
	f := resampleTo(t, flight, "--hz", "50", "--stream", "vehicle_attitude", "--stream", "sensor_combined:pchip")
	assert.Equal(t, []string{
		"times", "vehicle_attitude.values", "vehicle_attitude.valid", "vehicle_attitude.age", "vehicle_attitude.columns",
		"sensor_combined.values", "sensor_combined.valid", "sensor_combined.age", "sensor_combined.columns",
	}, f.Names())
	times := array[int64](t, f, "times")
	// Both streams run from 20.326716 s to 26.822868 s: 6.496152 s * 50 Hz, and the first.
	require.Len(t, times, 325)
	assert.Equal(t, int64(20_326_716_000), times[0])
	assert.Equal(t, int64(20_346_716_000), times[1])
	assert.Equal(t, []int{325, 9}, shape(t, f, "vehicle_attitude.values"))
	assert.Equal(t, []int{325, 10}, shape(t, f, "sensor_combined.values"))
	h, err := f.Header("sensor_combined.values")
	require.NoError(t, err)
	assert.Equal(t, "<f8", h.Descr, "uint32_t columns need f64")
	names, err := f.Strings("vehicle_attitude.columns")
	require.NoError(t, err)
	assert.Equal(t, "q[0] q[1] q[2] q[3] delta_q_reset[0] delta_q_reset[1] delta_q_reset[2] delta_q_reset[3] quat_reset_counter", strings.Join(names, " "))
	v := array[float32](t, f, "vehicle_attitude.values")
	for i := range times {
		q := v[i*9 : i*9+4]
		assert.InDelta(t, 1, q[0]*q[0]+q[1]*q[1]+q[2]*q[2]+q[3]*q[3], 1e-5, "slerp keeps the length")
	}
	for _, age := range array[int64](t, f, "vehicle_attitude.age") {
		assert.True(t, age >= 0 && age < 200e6, "age %d", age)
	}
}

func TestAllStreamsAndThoseLeftOut(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	out := filepath.Join(t.TempDir(), "o.npz")
	stdout, stderr := good(t, "resample", flight, "-o", out, "--hz=50", "--backend=cpu")
	assert.Contains(t, stdout, "begins with differential_pressure_1, ends with telemetry_status_1")
	assert.Contains(t, stdout, " % of the time from 19.443729 to 26.82573 s is outside, because each stream must have samples: without differential_pressure_1 or telemetry_status_1 there is more\n")
	assert.Contains(t, stdout, "yaw_estimator_status        8    5.0 Hz     0  22.785 to 23.822 s         208   25.0 %", "a second of six does not narrow the clock")
	assert.Contains(t, stdout, "previous, held\n", "a topic under one message a second holds its value")
	assert.Contains(t, stdout, "dropouts noted by the recorder: 1, 0.030 s in all")
	assert.Contains(t, stderr, "left out, no samples: vehicle_local_position_setpoint, sensor_mag_2")
	assert.Contains(t, stderr, "left out, fewer than two distinct timestamps: mission, position_setpoint_triplet, sensor_selection, test_motor, vehicle_command")
	f := open(t, out)
	for _, name := range []string{"actuator_outputs.values", "actuator_outputs_1.values", "vehicle_imu_2.valid"} {
		assert.True(t, f.Has(name), name)
	}
	assert.False(t, f.Has("mission.values"))
}

func TestTableOfStreams(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	out := filepath.Join(t.TempDir(), "o.npz")
	stdout, _ := good(t, "resample", flight, "-o", out, "--hz=50", "--backend=cpu", "--max-gap=50ms",
		"--stream=airspeed", "--stream=vehicle_attitude", "--stream=vehicle_gps_position:nearest")
	assert.Equal(t, `clock: 310 timestamps at 50 Hz, 20.471648 to 26.651648 s (begins with vehicle_gps_position, ends with vehicle_gps_position)
                stream  samples      rate  gaps               range  timestamps   valid  outside  in gaps  lossy  methods
              airspeed      595   93.6 Hz     1  20.319 to 26.823 s         310  99.7 %        0        1      0  linear
      vehicle_attitude     1298  204.6 Hz     1  20.327 to 26.823 s         310  99.7 %        0        1      0  8 slerp, 1 previous
  vehicle_gps_position       32    5.0 Hz     0  20.472 to 26.659 s         310   0.3 %        0      309      0  13 nearest, 11 previous
dropouts noted by the recorder: 1, 0.030 s in all
wrote `+out+`, computed on cpu
`, stdout)
}

func TestJSONCountsAddUp(t *testing.T) {
	out := filepath.Join(t.TempDir(), "o.npz")
	stdout, stderr := good(t, "resample", flight, "-o", out, "--hz=50", "--backend=cpu", "--max-gap=50ms", "--range=union", "--json",
		"--stream=airspeed", "--stream=mission", "--stream=vehicle_gps_position")
	assert.Empty(t, stderr, "with --json there is nothing else")
	r := unmarshal(t, stdout)
	assert.Equal(t, "cpu", r["device"].(map[string]any)["name"])
	assert.Equal(t, map[string]any{"count": 1.0, "seconds": 0.03}, r["dropouts"])
	assert.Empty(t, leftOutOf(t, r))
	streams := r["streams"].([]any)
	require.Len(t, streams, 3)
	assert.Equal(t, []any{"mission", "hold", 0.0}, []any{streams[1].(map[string]any)["name"], streams[1].(map[string]any)["edge"], streams[1].(map[string]any)["valid"]},
		"a single timestamp, of 1194 s, is held from there on, and the clock ends before it")
	for _, s := range streams {
		s := s.(map[string]any)
		sum := s["valid"].(float64) + s["out_of_range"].(float64) + s["gapped"].(float64) + s["not_finite"].(float64)
		assert.Equal(t, s["targets"], sum, s["name"])
	}
	gps := streams[2].(map[string]any)
	// Airspeed runs from 20.319245 s to 26.822731 s, the receiver from 20.471648 s to 26.658637 s:
	// ticks 0 to 7 are before it, 317 to 325 after.
	assert.Equal(t, 17.0, gps["out_of_range"])
	assert.Equal(t, map[string]any{"linear": 13.0, "previous": 11.0}, gps["methods"])
}

func TestIntegersKeepTheirLastValue(t *testing.T) {
	in := writeLog(t,
		topic{"count", "int32_t v", []uint64{0, 1000, 2000}, []any{int32(1), int32(5), int32(9)}},
		topic{"height", "float v", []uint64{0, 1000, 2000}, []any{float32(1), float32(5), float32(9)}},
	)
	for _, kind := range []string{"", "linear", "next", "nearest", "pchip"} {
		args := []string{"--hz", "4000"}
		if kind != "" {
			args = append(args, "--method", kind)
		}
		f := resampleTo(t, in, args...)
		assert.Equal(t, []float64{1, 1, 1, 1, 5, 5, 5, 5, 9}, array[float64](t, f, "count.values"), kind)
		if kind == "" || kind == "linear" {
			assert.Equal(t, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}, array[float32](t, f, "height.values"))
		}
	}
	f := resampleTo(t, in, "--hz=4000", "--stream=height:next", "--dtype=f16")
	assert.Len(t, array[uint8](t, f, "height.valid"), 9)
	assert.False(t, f.Has("count.values"))
}

// The means are those of the columns' samples in the last 50 ms, added up here one by one.
func TestFlightLogInWindows(t *testing.T) {
	f := resampleTo(t, flight, "--hz", "20", "--stream", "airspeed:window-mean", "--window", "50ms")
	times, v, valid := array[int64](t, f, "times"), array[float32](t, f, "airspeed.values"), array[uint8](t, f, "airspeed.valid")
	log, err := ulog.ReadFile(flight, ulog.Options{})
	require.NoError(t, err)
	s := log.Stream("airspeed")
	d := len(s.Columns)
	recorded, err := tensor.Data[float32](s.Values)
	require.NoError(t, err)
	held, most := 0, 0
	for i, x := range times {
		sum, n := 0.0, 0
		for k, at := range s.Nanoseconds() {
			if at <= x && x-at < 50e6 {
				sum += float64(recorded[k*d])
				n++
			}
		}
		most = max(most, n)
		if n == 0 {
			held++
			assert.Zero(t, valid[i], "target %d", i)
			continue
		}
		assert.Equal(t, float32(sum/float64(n)), v[i*d], "target %d", i)
	}
	assert.GreaterOrEqual(t, most, 4, "samples in a window")
	assert.Less(t, held, len(times)/10, "empty windows")
}

func TestFigureOfALogIsAnImage(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	picture := filepath.Join(dir, "p.png")
	good(t, "resample", flight, "-o", filepath.Join(dir, "o.npz"), "--plot", picture, "--hz=50", "--stream=airspeed", "--stream=vehicle_control_mode")
	file, err := os.Open(picture)
	require.NoError(t, err)
	defer file.Close()
	config, err := png.DecodeConfig(file)
	require.NoError(t, err)
	assert.Equal(t, 1200, config.Width)
	_, stderr := good(t, "resample", flight, "-o", filepath.Join(dir, "o.npz"), "--plot", picture, "--hz=5")
	_, out, _ := strings.Cut(stderr, "the figure shows 12 of 65 streams (--stream chooses), without ")
	assert.Contains(t, out, " more")
	assert.NotContains(t, out, "actuator_controls_0", "the action, which a plan takes first")
}

func TestWhatIsWholeOfATruncatedLogIsKept(t *testing.T) {
	whole, err := os.ReadFile(flight)
	require.NoError(t, err)
	dir := t.TempDir()
	in := filepath.Join(dir, "cut.ulg")
	require.NoError(t, os.WriteFile(in, whole[:len(whole)/2], 0o644))
	code, _, stderr := execute("resample", in, "-o", filepath.Join(dir, "o.npz"), "--hz=50", "--stream=airspeed", "--strict")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "truncated")
	_, stderr = good(t, "resample", in, "-o", filepath.Join(dir, "o.npz"), "--hz=50", "--stream=airspeed")
	assert.Contains(t, stderr, "robocache: lost: ")
	assert.Contains(t, stderr, "truncated")
}

func TestCompletionKnowsTheStreams(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	stdout, _ := good(t, "__complete", "resample", flight, "--stream", "airspeed:next", "--stream", "")
	lines := strings.Split(stdout, "\n")
	assert.Contains(t, lines, "vehicle_attitude")
	assert.False(t, slices.Contains(lines, "airspeed"), "what was given is not offered again")
	stdout, _ = good(t, "__complete", "resample", flight, "--stream", "airspeed:")
	assert.Contains(t, stdout, "airspeed:pchip\n")
}

// The numbers are numpy.interp's, in float64, over the samples as a few lines of Python's struct read them from the file. Target 4
// lies in the gap that the dropout left.
func TestFlightLogEqualsNumpyInterp(t *testing.T) {
	f := resampleTo(t, flight, "--hz", "50", "--stream", "airspeed")
	v := array[float32](t, f, "airspeed.values")
	require.Len(t, v, 326*4)
	for i, want := range map[int]float64{
		0: -2.361255407333374, 4: -2.2512910690212165, 100: -3.2165355096478243, 200: -3.125940852496737, 325: -2.3765009600817657,
	} {
		// The weight and two operations are rounded to float32.
		assert.InDelta(t, want, v[4*i], 4*4*0x1p-24, "target %d", i)
	}
}

// A plan file and flags with the same values have the same output, to the bit.
func TestAPlanFileInPlaceOfFlags(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	require.NoError(t, os.WriteFile(plan, []byte(`version: 1
rate: 50
defaults: {max_gap: 50ms}
streams:
  - {name: speed, from: airspeed, columns: [true_airspeed_m_s]}
  - {name: vehicle_attitude, columns: [q], method: {q: slerp}}
`), 0o644))
	f := resampleTo(t, flight, "--plan", plan)
	want := resampleTo(t, flight, "--hz=50", "--max-gap=50ms", "--stream=airspeed", "--stream=vehicle_attitude")
	assert.Equal(t, array[int64](t, want, "times"), array[int64](t, f, "times"))
	assert.Equal(t, array[uint8](t, want, "airspeed.valid"), array[uint8](t, f, "speed.valid"))
	names, err := f.Strings("speed.columns")
	require.NoError(t, err)
	assert.Equal(t, []string{"true_airspeed_m_s"}, names)
	all, q := array[float32](t, want, "vehicle_attitude.values"), array[float32](t, f, "vehicle_attitude.values")
	require.Equal(t, []int{len(q) / 4, 4}, shape(t, f, "vehicle_attitude.values"))
	for i := range q {
		require.Equal(t, all[i/4*9+i%4], q[i])
	}
	fused := fuseTo(t, flight, "--plan", plan)
	names, err = fused.Strings("columns")
	require.NoError(t, err)
	assert.Equal(t, []string{"speed.true_airspeed_m_s", "vehicle_attitude.q[0]", "vehicle_attitude.q[1]", "vehicle_attitude.q[2]", "vehicle_attitude.q[3]"}, names)

	out := filepath.Join(t.TempDir(), "o.npz")
	code, _, stderr := execute("resample", flight, "-o", out, "--plan", plan, "--hz=50")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "--hz with --plan")
	require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 50\nstreams:\n  - name: airspeed\n    edge: hold on\n"), 0o644))
	code, stdout, _ := execute("resample", flight, "-o", out, "--plan", plan, "--json")
	assert.Equal(t, exitInput, code)
	e := unmarshal(t, stdout)["error"].(map[string]any)
	assert.Equal(t, []any{plan, 5.0, 11.0, "streams[0].edge", `"hold on"`}, []any{e["path"], e["line"], e["column"], e["arg"], e["got"]})
	code, _, stderr = execute("resample", flight, "-o", out, "--plan", plan+".none")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "no such file")
	assert.NoFileExists(t, out)
}

// A topic that speaks when something changes keeps its last value to the end, and does not shorten the flight.
func TestATopicOnChangeHolds(t *testing.T) {
	var times []uint64
	var values []any
	for i := range 301 {
		times, values = append(times, uint64(i)*100_000), append(values, float32(i))
	}
	in := writeLog(t, topic{"pose", "float v", times, values}, topic{"mode", "uint8_t v", []uint64{11e6, 11_400_000}, []any{uint8(3), uint8(4)}})
	f := resampleTo(t, in, "--hz=10")
	require.Len(t, array[int64](t, f, "times"), 301)
	mode, valid := array[float32](t, f, "mode.values"), array[uint8](t, f, "mode.valid")
	assert.Equal(t, []float32{3, 3, 4, 4}, []float32{mode[110], mode[113], mode[114], mode[300]})
	assert.Equal(t, []uint8{0, 1, 1}, []uint8{valid[109], valid[110], valid[300]})
	f = resampleTo(t, in, "--hz=10", "--edge=clamp")
	assert.Zero(t, array[uint8](t, f, "mode.valid")[300], "as asked")
	f = resampleTo(t, in, "--hz=10", "--range=intersection")
	assert.Len(t, array[int64](t, f, "times"), 5)
}
