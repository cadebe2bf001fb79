package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each line is a documented misuse, its exit code, and words that the one line of error must hold.
func TestExitCodes(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	dir := t.TempDir()
	out := filepath.Join(dir, "o.npz")
	text, notBag := filepath.Join(dir, "text"), filepath.Join(dir, "text.bag")
	for _, path := range []string{text, notBag} {
		require.NoError(t, os.WriteFile(path, []byte("got a file of none"), 0o644))
	}
	broken := filepath.Join(dir, "broken.npz")
	require.NoError(t, os.WriteFile(broken, []byte("not a zip"), 0o644))
	brokenLog := filepath.Join(dir, "broken.ulg")
	require.NoError(t, os.WriteFile(brokenLog, []byte("not a log, but long enough"), 0o644))
	noClock := writeNPZ(t, map[string]*tensor.Tensor{"values": column[float32](0, 1), "times": vec[int64](0, 1)})
	noTimes := writeNPZ(t, map[string]*tensor.Tensor{"values": column[float32](0, 1)})
	badShape := writeNPZ(t, map[string]*tensor.Tensor{"values": column[float32](0, 1), "times": vec[int64](0), "targets": vec[int64](0)})
	badTargets := writeNPZ(t, map[string]*tensor.Tensor{"values": column[float32](0, 1), "times": vec[int64](0, 1), "targets": vec(0.5)})
	badLengths := writeNPZ(t, map[string]*tensor.Tensor{"values": column[float32](0, 1), "times": vec[int64](0, 1), "targets": vec[int64](0), "lengths": vec[int64](3)})
	integers := writeNPZ(t, map[string]*tensor.Tensor{"values": column[int32](0, 1), "times": vec[int64](0, 1), "targets": vec[int64](0)})
	empty := writeNPZ(t, map[string]*tensor.Tensor{"values": tensor.Must(tensor.New(tensor.F32, 0, 1)), "times": tensor.Must(tensor.New(tensor.I64, 0)), "targets": vec[int64](0)})
	apart := writeLog(t,
		topic{"early", "float v", []uint64{0, 1000}, []any{float32(1), float32(2)}},
		topic{"late", "float v", []uint64{5000, 6000}, []any{float32(1), float32(2)}})
	backwards := writeLog(t, topic{"back", "float v", []uint64{0, 2000, 1000}, []any{float32(1), float32(2), float32(3)}})
	still := writeLog(t, topic{"still", "float v", []uint64{5, 5}, []any{float32(1), float32(2)}})

	ramp := "testdata/ramp.npz"
	to := func(in string, more ...string) []string {
		return append([]string{"resample", in, "-o", out, "--backend=cpu"}, more...)
	}
	for _, c := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"resampel"}, exitUsage, []string{`"resampel"`, "resample"}},
		{[]string{"--nonsense"}, exitUsage, []string{"--nonsense"}},
		{[]string{"info", "more"}, exitUsage, []string{`"more"`}},
		{[]string{"completion"}, exitUsage, []string{"bash"}},
		{[]string{"completion", "tcsh"}, exitUsage, []string{"tcsh", "bash"}},
		{[]string{"resample", "-o", out}, exitUsage, []string{"one input file", "got none"}},
		{[]string{"resample", ramp, ramp, "-o", out}, exitUsage, []string{"got 2"}},
		{[]string{"resample", ramp}, exitUsage, []string{"-o OUT.npz"}},
		{[]string{"resample", ramp, "-o", "out.txt"}, exitUsage, []string{"out.txt", ".npz"}},
		{to(ramp, "--plot", "p.jpg"), exitUsage, []string{"p.jpg", ".png"}},
		{to(ramp, "--method", "cubic"), exitUsage, []string{"cubic", "linear, previous"}},
		{to(ramp, "--quat", "wxy"), exitUsage, []string{"wxy", "xyzw, wxyz"}},
		{to(ramp, "--edge", "wrap"), exitUsage, []string{"wrap", "clamp, fill"}},
		{to(ramp, "--dtype", "i32"), exitUsage, []string{"i32", "f32, f64"}},
		{to(ramp, "--in-dtype", "f32"), exitUsage, []string{"f32", "bf16"}},
		{to(ramp, "--fill", "seven"), exitUsage, []string{"seven", "number"}},
		{to(ramp, "--hz", "0"), exitUsage, []string{`"0"`, "above 0"}},
		{to(ramp, "--hz", "-50"), exitUsage, []string{"-50", "above 0"}},
		{to(ramp, "--hz", "nan"), exitUsage, []string{"nan"}},
		{to(noClock, "--hz", "1e10"), exitUsage, []string{"1e10", "at most"}},
		{to("testdata/shared.npz", "--hz", "1e6"), exitGood, nil},
		{to(flight, "--hz", "1e9"), exitUsage, []string{"1e+09", "at most"}},
		{to(flight, "--hz", "1.5e8"), exitInput, []string{"1.5e+08", "GiB"}},
		{to(ramp, "--period", "-1"), exitUsage, []string{"-1", "above 0"}},
		{to(ramp, "--max-gap", "50"), exitUsage, []string{`"50"`, "50ms"}},
		{to(ramp, "--tolerance", "-5ms"), exitUsage, []string{"-5ms", "negative"}},
		{to(ramp, "--window", "0s"), exitUsage, []string{"0s", "above 0"}},
		{to(ramp, "--window", "5"), exitUsage, []string{`"5"`, "50ms"}},
		{to(ramp, "--method", "window-mean"), exitUsage, []string{"--method window-mean", "--window"}},
		{to(flight, "--hz=50", "--stream=airspeed:window-max"), exitUsage, []string{"--stream airspeed:window-max", "--window"}},
		{to(flight, "--hz=50", "--method=rotvec"), exitUsage, []string{"--method rotvec", "--stream NAME:rotvec"}},
		{to(ramp, "--range", "outer"), exitUsage, []string{"outer", "union"}},
		{to(ramp, "--stream", "a"), exitInput, []string{`no stream "a"`, "NAME.values"}},
		{to(flight, "--hz=50", "--in-dtype=bf16"), exitUsage, []string{".npz"}},
		{to(flight), exitUsage, []string{"--hz"}},
		{to(noClock), exitUsage, []string{"targets", "--hz"}},
		{to(flight, "--hz=50", "--stream=airspeed:cubic"), exitUsage, []string{"cubic", "linear"}},
		{to(flight, "--hz=50", "--stream=:linear"), exitUsage, []string{"NAME"}},
		{to(flight, "--hz=50", "--stream=airspeed", "--stream=airspeed:next"), exitUsage, []string{"airspeed", "twice"}},
		{to(ramp, "--backend", "tpu"), exitUsage, []string{"tpu", "cpu"}},
		{to(ramp, "--backend", ""), exitUsage, []string{"auto"}},
		{[]string{"info", "--backend", "tpu"}, exitUsage, []string{"tpu"}},

		{to(filepath.Join(dir, "missing.npz")), exitInput, []string{"missing.npz", "no such file"}},
		{to(t.TempDir(), "--hz=10"), exitInput, []string{"a folder without a recording in any known format"}},
		{to(text), exitInput, []string{"got a file in no known format", "aloha (.hdf5, .h5), calvin (a folder), csv"}},
		{to(notBag), exitInput, []string{"got a file in no known format, want rosbag (.bag)"}},
		{to(broken), exitInput, []string{"broken.npz"}},
		{to(brokenLog, "--hz=50"), exitInput, []string{"broken.ulg"}},
		{to(noTimes, "--hz=50"), exitInput, []string{"times"}},
		{to(badShape), exitInput, []string{"times", "[1]", "[2]"}},
		{to(badTargets), exitInput, []string{"targets", "f64", "i64"}},
		{to(badLengths), exitInput, []string{"lengths", "3 for row 0", "0 to 2"}},
		{to(integers, "--in-dtype=bf16"), exitInput, []string{"values", "int32", "want uint16"}},
		{to(empty), exitInput, []string{"values"}},
		{to("testdata/unsorted.npz"), exitInput, []string{"times", "backwards", "row 0, index 2"}},
		{to("testdata/unsorted.npz", "--hz=10"), exitInput, []string{"times", "backwards", "row 0, index 2"}},
		{to("testdata/ends.npz", "--edge=error"), exitInput, []string{"targets", "outside", "index 0"}},
		{to(ramp, "--method=slerp"), exitInput, []string{"multiple of 4"}},
		{to(ramp, "--method=rotvec"), exitInput, []string{"multiple of 3"}},
		{to(flight, "--hz=50", "--stream=airspeed:rot6d"), exitInput, []string{"airspeed", "six floats"}},
		{to(flight, "--hz=50", "--stream=vehicle_attitude:hermite"), exitInput, []string{"as many values as velocities"}},
		{to(ramp, "--in-dtype=bf16"), exitInput, []string{"values"}},
		{to(flight, "--hz=50", "--stream=airspede"), exitInput, []string{"airspede", "airspeed"}},
		{to(flight, "--hz=50", "--stream=mission"), exitInput, []string{"mission", "two distinct timestamps"}},
		{to(flight, "--hz=50", "--stream=sensor_mag_2"), exitInput, []string{"sensor_mag_2", "no samples"}},
		{to(flight, "--hz=50", "--stream=airspeed:slerp"), exitInput, []string{"airspeed", "four floats"}},
		{to(apart, "--hz=50", "--range=intersection"), exitInput, []string{"early covers 0.000 to 0.001 s", "late covers 0.005 to 0.006 s"}},
		{to(apart, "--hz=50", "--range=union"), exitGood, nil},
		{to(backwards, "--hz=50"), exitInput, []string{"stream back", "backwards at sample 2"}},
		{to(still, "--hz=50"), exitInput, []string{"still", "two distinct timestamps"}},

		{[]string{"resample", ramp, "-o", filepath.Join(dir, "no", "folder.npz")}, exitOther, []string{"folder.npz"}},
		{to(ramp, "--plot", filepath.Join(dir, "no", "p.png")), exitOther, []string{"p.png"}},
	} {
		require.NoError(t, os.RemoveAll(out))
		code, stdout, stderr := execute(c.args...)
		assert.Equal(t, c.code, code, "%q: %s", c.args, stderr)
		first, _, _ := strings.Cut(stderr, "\n")
		for _, w := range c.want {
			assert.Contains(t, first, w, "%q", c.args)
		}
		if c.code == exitGood {
			continue
		}
		assert.Empty(t, stdout, "%q", c.args)
		assert.Equal(t, c.code == exitUsage, strings.Contains(stderr, "\nusage: "), "%q: usage belongs to usage errors", c.args)
		assert.NoFileExists(t, out, "%q: a command that fails leaves no file", c.args)

		code, stdout, stderr = execute(append(c.args, "--json")...)
		assert.Equal(t, c.code, code, "%q with --json", c.args)
		assert.Empty(t, stderr, "%q with --json", c.args)
		e := unmarshal(t, stdout)["error"].(map[string]any)
		assert.Equal(t, float64(c.code), e["code"])
		assert.Equal(t, map[int]string{1: "other", 2: "usage", 3: "input"}[c.code], e["kind"], "%q", c.args)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*o.npz*"))
	require.NoError(t, err)
	assert.Empty(t, left, "nothing half written")
}

func TestErrorsInJSONSayWhere(t *testing.T) {
	_, stdout, _ := execute("resample", "testdata/unsorted.npz", "-o", filepath.Join(t.TempDir(), "o.npz"), "--json", "--backend=cpu")
	e := unmarshal(t, stdout)["error"].(map[string]any)
	assert.Equal(t, "testdata/unsorted.npz", e["path"])
	assert.Equal(t, "times", e["array"])
	assert.Equal(t, 0.0, e["row"])
	assert.Equal(t, 2.0, e["index"])
}

// absent is a backend without a device.
func TestNoDeviceHasItsOwnCode(t *testing.T) {
	backend.Register(backend.Opener{Name: "absent", Open: func(string) (backend.Backend, error) { return nil, os.ErrNotExist }})
	code, _, stderr := execute("resample", "testdata/ramp.npz", "-o", filepath.Join(t.TempDir(), "o.npz"), "--backend", "absent:1")
	assert.Equal(t, exitNoDevice, code, stderr)
	code, stdout, _ := execute("info", "--backend=absent", "--json")
	assert.Equal(t, exitNoDevice, code)
	assert.Equal(t, "device", unmarshal(t, stdout)["error"].(map[string]any)["kind"])

	stdout, _ = good(t, "info")
	assert.Contains(t, stdout, "absent  not available\n  why   file does not exist\n", "info says why, and goes on")
}

func TestInputIsNeverOverwritten(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in.npz")
	data, err := os.ReadFile("testdata/ramp.npz")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(in, data, 0o644))
	require.NoError(t, os.Symlink(in, filepath.Join(dir, "link.npz")))
	require.NoError(t, os.Link(in, filepath.Join(dir, "hard.npz")))
	for _, out := range []string{in, filepath.Join(dir, ".", "in.npz"), filepath.Join(dir, "link.npz"), filepath.Join(dir, "hard.npz")} {
		code, _, stderr := execute("resample", in, "-o", out)
		assert.Equal(t, exitUsage, code, out)
		assert.Contains(t, stderr, "is the input")
	}
	now, err := os.ReadFile(in)
	require.NoError(t, err)
	assert.Equal(t, data, now)
}

func TestFailureKeepsTheOldOutput(t *testing.T) {
	out := filepath.Join(t.TempDir(), "o.npz")
	require.NoError(t, os.WriteFile(out, []byte("old"), 0o644))
	code, _, _ := execute("resample", "testdata/unsorted.npz", "-o", out)
	require.Equal(t, exitInput, code)
	old, err := os.ReadFile(out)
	require.NoError(t, err)
	assert.Equal(t, "old", string(old))
	good(t, "resample", "testdata/ramp.npz", "-o", out)
	assert.True(t, open(t, out).Has("values"))
}

func TestInfoAndVersion(t *testing.T) {
	stdout, _ := good(t, "info", "--backend", "cpu")
	assert.Contains(t, stdout, "\ncpu  ")
	assert.Contains(t, stdout, "cpu takes cpu: asked for by name")
	stdout, _ = good(t, "info", "--json")
	r := unmarshal(t, stdout)
	assert.Contains(t, r["backends"], "cpu")
	assert.NotEmpty(t, r["auto"].(map[string]any)["why"])
	stdout, _ = good(t, "--version")
	assert.Regexp(t, `^robocache \S+ .*go1\.\d+.* \w+/\w+\n$`, stdout)
	stdout, _ = good(t, "--version", "--json")
	assert.Contains(t, unmarshal(t, stdout), "version")
}

func TestHelpAndCompletion(t *testing.T) {
	stdout, _ := good(t, "resample", "--help")
	for _, flag := range []string{"--stream", "--method", "--quat", "--period", "--edge", "--fill", "--max-gap", "--fill-gaps", "--tolerance", "--dtype",
		"--in-dtype", "--backend", "--hz", "--range", "--plot", "--json", "--output"} {
		assert.Contains(t, stdout, flag+" ")
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		stdout, _ = good(t, "completion", shell)
		assert.Contains(t, stdout, "robocache")
	}
	stdout, _ = good(t, "__complete", "resample", "x.npz", "--method", "")
	assert.Contains(t, stdout, "pchip\n")
}

func TestUselessFillIsPointedOut(t *testing.T) {
	_, stderr := good(t, "resample", "testdata/ramp.npz", "-o", filepath.Join(t.TempDir(), "o.npz"), "--fill", "-7.5")
	assert.Contains(t, stderr, "fill has no effect")
}

// listed returns the names in a folder.
func listed(t *testing.T, dir string) []string {
	t.Helper()
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	names := []string{}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}
