package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Files written by numpy. scripts/gen_npy_golden.py lists their contents.
const (
	numpyStreams = "../../dataset/npz/testdata/streams.npz"
	numpyCloud   = "../../dataset/npy/testdata/cloud.npy"
)

// grip returns the path of a recording with a gripper of uint8 and an arm of floats, 10 Hz.
func grip(t *testing.T) string {
	times := vec(0, .1, .2, .3, .4)
	path := filepath.Join(t.TempDir(), "grip.npz")
	f, err := os.Create(path)
	require.NoError(t, err)
	w := npz.NewWriter(f, npz.Options{}) // in this order
	require.NoError(t, errors.Join(w.Add("arm.values", column[float32](0, 10, 20, 30, 40)), w.Add("arm.times", times),
		w.Add("gripper.values", column[uint8](0, 0, 1, 1, 2)), w.Add("gripper.times", times), w.Close(), f.Close()))
	return path
}

func TestWholeNumbersOfArraysKeepTheirPreviousValue(t *testing.T) {
	for _, args := range [][]string{nil, {"--method=linear"}, {"--stream=arm", "--stream=gripper"}, {"--stream=arm:linear", "--stream=gripper:previous"}, {"--method=next", "--stream=arm:linear", "--stream=gripper"}} {
		f := fuseTo(t, grip(t), append([]string{"--hz=20"}, args...)...)
		assert.Equal(t, []float32{0, 0, 5, 0, 10, 0, 15, 0, 20, 1, 25, 1, 30, 1, 35, 1, 40, 2}, array[float32](t, f, "values"), args)
	}
	f := fuseTo(t, grip(t), "--hz=20", "--stream=gripper:linear")
	assert.Equal(t, []float32{0, 0, 0, .5, 1, 1, 1, 1.5, 2}, array[float32](t, f, "values"), "a stream of nothing else is asked for a kind by its name")
}

func TestWholeNumbersOfABatchKeepTheirPreviousValueUnlessAKindIsAskedFor(t *testing.T) {
	in := writeNPZ(t, map[string]*tensor.Tensor{"values": tensor.Must(tensor.Of([]int64{0, 1<<53 + 1, 4, 6}, 2, 2, 1)), "times": vec[int64](0, 10e9), "targets": vec[int64](0, 5e9, 10e9)})
	out := filepath.Join(t.TempDir(), "o.npz")
	stdout, _ := good(t, "resample", in, "-o", out, "--backend=cpu", "--json")
	assert.Equal(t, []float64{0, 0, 1 << 53, 4, 4, 6}, array[float64](t, open(t, out), "values"))
	line := unmarshal(t, stdout)["streams"].([]any)[0].(map[string]any)
	assert.Equal(t, map[string]any{"previous": 1.0}, line["methods"])
	assert.Equal(t, 1.0, line["lossy_integers"], "2^53+1")
	f := resampleTo(t, in, "--method=linear")
	assert.Equal(t, []float64{0, 1 << 52, 1 << 53, 4, 5, 6}, array[float64](t, f, "values"))
	stdout, _ = good(t, "resample", in, "-o", out, "--backend=cpu", "--json", "--dtype=f16")
	line = unmarshal(t, stdout)["streams"].([]any)[0].(map[string]any)
	assert.Equal(t, 1.0, line["overflowed"])

	in = writeNPZ(t, map[string]*tensor.Tensor{"values": tensor.Must(tensor.Of([]tensor.BFloat16{0x3f80, 0x4000}, 2)), "times": vec[int64](0, 10e9), "targets": vec[int64](5e9)})
	_, stderr := good(t, "resample", in, "-o", out, "--backend=cpu")
	assert.Contains(t, stderr, "values: uint16 taken as whole numbers; --in-dtype bf16 reads them as bf16\n")
	assert.Equal(t, []int{1, 1}, shape(t, open(t, out), "values"), "values [S] are one column")
	f = resampleTo(t, in, "--in-dtype=bf16", "--dtype=f32")
	assert.Equal(t, []float32{1.5}, array[float32](t, f, "values"))
	code, _, stderr := execute("resample", "testdata/ramp.npz", "-o", out, "--in-dtype=bf16")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "want uint16")
}

// Records with a clock in datetime64, uint64 and datetime64 times, values with rank 1 and records; and arrays that are no stream.
func TestStreamsOfEveryKindThatNumpyHas(t *testing.T) {
	f := fuseTo(t, numpyStreams, "--hz=2", "--stream=imu", "--stream=grip", "--stream=pose[x]", "--dtype=f64")
	columns, err := f.Strings("columns")
	require.NoError(t, err)
	assert.Equal(t, []string{"imu.acc[0]", "imu.acc[1]", "imu.acc[2]", "imu.mode", "grip.0", "pose.x"}, columns)
	assert.Equal(t, []int64{0, 5e8, 1e9, 15e8, 2e9}, array[int64](t, f, "times"))
	assert.Equal(t, []float64{1.5, 2.5, 3.5, 1, 0, 2}, array[float64](t, f, "values")[6:12])
	_, stderr := good(t, "fuse", numpyStreams, "-o", filepath.Join(t.TempDir(), "o.npz"), "--backend=cpu", "--hz=2", "--stream=imu[acc]")
	assert.Contains(t, stderr, "left out, values of str of 3: imu.label\n")
	for _, c := range []struct{ stream, says string }{{"image", "uint8 [3,2,2,3]"}, {"imu[label]", "label"}, {"boxes", `no stream "boxes", want imu`}, {"two", "array two: records (t, time, v) [3] without one field that is their clock: t, time"}} {
		code, _, stderr := execute("fuse", numpyStreams, "-o", filepath.Join(t.TempDir(), "o.npz"), "--backend=cpu", "--hz=2", "--stream="+c.stream)
		assert.Equal(t, exitInput, code, c.stream)
		assert.Contains(t, stderr, c.says)
	}
	targets := writeNPZ(t, map[string]*tensor.Tensor{"a.values": column[float32](0, 2), "a.times": vec[int64](0, 2e9), "targets": vec[int64](1e9)})
	assert.Equal(t, []float32{1}, array[float32](t, fuseTo(t, targets), "values"))
}

func TestInspectSaysOfEveryArrayWhatItIs(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	stdout, _ := good(t, "inspect", numpyStreams)
	for _, line := range []string{
		`imu +3 +1\.0 Hz .* acc\[0\], acc\[1\], acc\[2\], mode`, `grip +3 .* 0\n`, `pose +3 .* x, n\n`, `left out: imu\.label, values of str of 3`,
		`left out: image, array image\.values: got uint8 \[3,2,2,3\]`, `left out: words, str of 1 \[1\] without a stream`, `left out: boxes, .*"\|O"`, `left out: two, records \(t, time, v\) \[3\] without one field that is their clock`,
	} {
		assert.Regexp(t, line, stdout)
	}
	stdout, _ = good(t, "inspect", "testdata/padded.npz")
	assert.Contains(t, stdout, "left out: values, float32 [2,5,2], values in the batch that robocache resample takes\n")
	assert.Contains(t, stdout, "left out: lengths, int64 [2], lengths in the batch that robocache resample takes\n")
	in := writeNPZ(t, map[string]*tensor.Tensor{"a.values": column[uint8](1, 2), "b.times": vec[int64](1), "c.columns": vec[int64](1), "targets": vec[int64](1), "points": tensor.Must(tensor.New(tensor.F32, 1, 3))})
	stdout, _ = good(t, "inspect", in)
	for _, line := range []string{
		"a.values, uint8 [2,1] without an array a.times", "b.times, int64 [1] without an array b.values", "c.columns, int64 [1] without an array c.values",
		"targets, int64 [1], the clock that robocache fuse takes without --hz", "points, float32 [1,3], points in the cloud that robocache voxelize takes",
	} {
		assert.Contains(t, stdout, "left out: "+line+"\n")
	}
	stdout, _ = good(t, "inspect", grip(t), "--json")
	s := unmarshal(t, stdout)["streams"].([]any)
	require.Len(t, s, 2)
	for _, one := range s {
		if one := one.(map[string]any); one["name"] == "gripper" {
			assert.Equal(t, []any{map[string]any{"name": "0", "type": "uint8", "integer": true}}, one["columns"])
		}
	}
}

// npz-names-with-slash: numpy takes a name for a name.
func TestNamesOfStreamsMayBePaths(t *testing.T) {
	in := writeNPZ(t, map[string]*tensor.Tensor{
		"/observations/qpos.values": column[float32](0, 1, 2), "/observations/qpos.times": vec(0, .1, .2), "/action": vec[int64](1), "w:0": vec[int64](1), "a/../b": vec[int64](1),
	})
	f := fuseTo(t, in, "--hz=20")
	columns, err := f.Strings("columns")
	require.NoError(t, err)
	assert.Equal(t, []string{"/observations/qpos.0"}, columns)
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 20\nstreams:\n  - name: /observations/qpos\n"), 0o644))
	f = resampleTo(t, in, "--plan", plan)
	assert.Equal(t, []float32{0, .5, 1, 1.5, 2}, array[float32](t, f, "/observations/qpos.values"))
}

// Names with colons and brackets are streams to name too, the longest that there is; and resample takes an archive of streams as fuse does.
func TestAnyNameCanBeAsked(t *testing.T) {
	arrays := map[string]*tensor.Tensor{}
	for _, name := range []string{"w", "w:0", "a[1]", "/obs/qpos"} {
		arrays[name+".values"], arrays[name+".times"] = column[float32](0, 2), vec[int64](0, 1e9)
	}
	in := writeNPZ(t, arrays)
	for flag, want := range map[string]string{"w:0": "w:0", "w:0:previous": "w:0", "w:previous": "w", "a[1]:next:5s": "a[1]", "a[1][0]": "a[1]", "/obs/qpos": "/obs/qpos"} {
		f := resampleTo(t, in, "--hz=2", "--stream", flag)
		assert.Equal(t, []int{3, 1}, shape(t, f, want+".values"), flag)
		assert.Len(t, f.Names(), 5, flag)
	}
	assert.Len(t, resampleTo(t, in, "--hz=2").Names(), 1+4*4)
	code, _, stderr := execute("resample", in, "-o", filepath.Join(t.TempDir(), "o.npz"), "--hz=2", "--stream=v:0")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, `kind "0"`)
}

// A file may have control characters in its names. The terminal gets them escaped.
func TestControlCharactersOfNamesAreWrittenOut(t *testing.T) {
	in := writeNPZ(t, map[string]*tensor.Tensor{"a\x1b[2J\n.values": column[float32](0, 1), "a\x1b[2J\n.times": vec[int64](0, 1), "b\x1b": vec[int64](1), "targets": vec[int64](1)})
	stdout, _ := good(t, "inspect", in)
	assert.Contains(t, stdout, `a\x1b[2J\n  2`)
	assert.Contains(t, stdout, `left out: b\x1b, int64 [1]`)
	_, stderr := good(t, "fuse", in, "-o", filepath.Join(t.TempDir(), "o.npz"), "--backend=cpu")
	assert.Contains(t, stderr, `not used: b\x1b`)
	assert.NotContains(t, stdout+stderr, "\x1b")
	_, _, stderr = execute("fuse", in, "-o", filepath.Join(t.TempDir(), "o.npz"), "--backend=cpu", "--stream=none")
	assert.NotContains(t, stderr, "\x1b")
}

func TestStreamsWithoutSamplesAreFilledOrLeftOut(t *testing.T) {
	none := writeNPZ(t, map[string]*tensor.Tensor{"a.values": tensor.Must(tensor.New(tensor.U8, 0, 2)), "a.times": tensor.Must(tensor.New(tensor.I64, 0)), "targets": vec[int64](1, 2)})
	f := fuseTo(t, none)
	assert.Equal(t, []float32{0, 0, 0, 0}, array[float32](t, f, "values"))
	assert.Equal(t, []uint8{0, 0}, array[uint8](t, f, "valid"))
	code, _, stderr := execute("fuse", none, "-o", filepath.Join(t.TempDir(), "o.npz"), "--backend=cpu", "--hz=10")
	assert.Equal(t, exitInput, code, stderr)
	stdout, _ := good(t, "inspect", none)
	assert.Regexp(t, `a +0 +- +- +0 +f32 +0, 1\n`, stdout)
	far := writeNPZ(t, map[string]*tensor.Tensor{"values": tensor.Must(tensor.New(tensor.F32, 1<<60, 0, 1)), "times": tensor.Must(tensor.New(tensor.I64, 0)), "targets": tensor.Must(tensor.New(tensor.I64, 0))})
	code, _, stderr = execute("resample", far, "-o", filepath.Join(t.TempDir(), "o.npz"), "--backend=cpu")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "at most 1048576 rows")
	batch := writeNPZ(t, map[string]*tensor.Tensor{"values": tensor.Must(tensor.New(tensor.U8, 0, 2)), "times": tensor.Must(tensor.New(tensor.I64, 0)), "targets": tensor.Must(tensor.New(tensor.I64, 0))})
	assert.Equal(t, []int{0, 2}, shape(t, resampleTo(t, batch), "values"))
}

// An organised cloud: 2 rows of 3 points with padding, a packed colour and a ring, as conversions from ROS and PCL write it.
func TestRecordsOfPointsAreVoxelized(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "o.npz")
	stdout, _ := good(t, "voxelize", numpyCloud, "-o", out, "--size=1", "--backend=cpu", "--min=0,0,0", "--max=6,16,26", "--mode=hard")
	assert.Contains(t, stdout, "cloud: 6 points, from 0,10,20 to 5,15,25 (x, y, z)")
	assert.Contains(t, stdout, "features: red, green, blue, ring\n")
	array, err := os.ReadFile(numpyCloud)
	require.NoError(t, err)
	packed := zipped(t, map[string][]byte{"points.npy": array, "features.npy": []byte("of records that have their own")})
	again := filepath.Join(dir, "again.npz")
	stdout, stderr := good(t, "voxelize", packed, "-o", again, "--size=1", "--backend=cpu", "--min=0,0,0", "--max=6,16,26", "--mode=hard")
	assert.Contains(t, stdout, "features: red, green, blue, ring\n")
	assert.Contains(t, stderr, "not used: features")
	assert.Equal(t, sameArrays(t, out), sameArrays(t, again))
}

// sameArrays returns the numbers in every array of an archive.
func sameArrays(t *testing.T, path string) map[string][]float64 {
	f, all := open(t, path), map[string][]float64{}
	for _, name := range f.Names() {
		if a, err := f.Tensor(name); err == nil && a.DType() == tensor.F32 {
			list, err := tensor.Floats(a)
			require.NoError(t, err)
			all[name] = list
		}
	}
	require.NotEmpty(t, all)
	return all
}

// zipped writes an archive of members as they are.
func zipped(t *testing.T, members map[string][]byte) string {
	path := filepath.Join(t.TempDir(), "in.npz")
	f, err := os.Create(path)
	require.NoError(t, err)
	z := zip.NewWriter(f)
	for name, data := range members {
		w, err := z.Create(name)
		require.NoError(t, err)
		_, err = w.Write(data)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	require.NoError(t, f.Close())
	return path
}

// float32 seconds of a batch are looked at row by row, and without their padding.
func TestFloat32ClocksOfABatch(t *testing.T) {
	times, epoch := make([]float32, 2*25), make([]float32, 25)
	for i := range 20 {
		times[i], times[25+i] = float32(i)/10, float32(i)/5
	}
	for i := range epoch {
		epoch[i] = 1.7e9 + float32(i)/10
	}
	arrays := map[string]*tensor.Tensor{"values": tensor.Must(tensor.New(tensor.F32, 2, 25, 1)), "times": tensor.Must(tensor.Of(times, 2, 25)), "lengths": vec[int64](20, 20)}
	resampleTo(t, writeNPZ(t, arrays), "--hz=10")
	copy(times[25:], epoch)
	code, _, stderr := execute("resample", writeNPZ(t, arrays), "-o", filepath.Join(t.TempDir(), "o.npz"), "--hz=10")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "float32 seconds that lie 128 s apart, so that 20 timestamps are 1 distinct ones")
}

// On a clock of float32 times, the last row is kept and valid, for arrays as for streams.
func TestTheLastRowOfFloat32TimesIsKept(t *testing.T) {
	for rate, rows := range map[int]int{15: 93, 24: 289, 50: 709} {
		times, values := make([]float32, rows), make([]float32, rows)
		for i := range times {
			times[i], values[i] = float32(12.3+float64(i)/float64(rate)), float32(i)
		}
		clock, hz := tensor.Must(tensor.Of(times, rows)), fmt.Sprint("--hz=", rate)
		for values, arrays := range map[string]map[string]*tensor.Tensor{
			"values":   {"values": column(values...), "times": clock},
			"a.values": {"a.values": column(values...), "a.times": clock},
		} {
			f := resampleTo(t, writeNPZ(t, arrays), hz)
			got := array[float32](t, f, values)
			require.Len(t, got, rows, values)
			assert.Equal(t, float32(rows-1), got[rows-1])
			assert.NotContains(t, array[uint8](t, f, strings.Replace(values, "values", "valid", 1)), uint8(0), values)
		}
	}
}

// Arrays have the same notes on their clocks as logs.
func TestClocksOfArraysThatAreNotClean(t *testing.T) {
	n := 60
	times, frames := make([]float64, n), make([]float32, n)
	for i := range times {
		times[i], frames[i] = math.Round(float64(i)*1000/30)/1000, float32(i)
	}
	run := func(values *tensor.Tensor, times []float64, args ...string) (f *npz.File, stderr string) {
		in := writeNPZ(t, map[string]*tensor.Tensor{"values": values, "times": vec(times...)})
		out := filepath.Join(t.TempDir(), "o.npz")
		_, stderr = good(t, append([]string{"resample", in, "-o", out, "--backend=cpu", "--method=previous", "--hz=30"}, args...)...)
		return open(t, out), stderr
	}
	_, stderr := run(column(frames...), times)
	assert.Contains(t, stderr, "row 0: its timestamps are whole multiples of 1ms")
	f, stderr := run(column(frames...), times, "--snap=501us")
	assert.Empty(t, stderr)
	assert.Equal(t, frames, array[float32](t, f, "values"))
	batch := tensor.Must(tensor.Of(append(slices.Clone(frames), frames...), 2, n, 1))
	_, stderr = run(batch, times)
	assert.Equal(t, 1, strings.Count(stderr, "whole multiples"), "once for all rows")

	millis := make([]int64, n)
	for i := range millis {
		millis[i] = 1_700_000_000_000 + int64(i)*33
	}
	in := writeNPZ(t, map[string]*tensor.Tensor{"values": column(frames...), "times": vec(millis...)})
	_, stderr = good(t, "resample", in, "-o", filepath.Join(t.TempDir(), "o.npz"), "--backend=cpu", "--hz=30")
	assert.Contains(t, stderr, "row 0: its timestamps are taken as nanoseconds")
	assert.Contains(t, stderr, "as milliseconds they would be 30.3")

	exact := make([]float64, n)
	for i := range exact {
		exact[i] = float64(i) / 30
	}
	swapped := slices.Clone(exact)
	swapped[7], swapped[8] = swapped[8], swapped[7]
	moved := slices.Clone(frames)
	moved[7], moved[8] = moved[8], moved[7]
	f, stderr = run(column(moved...), swapped, "--unordered=sort")
	assert.Equal(t, "robocache: values: 1 step back in time, sorted\n", stderr)
	assert.Equal(t, frames, array[float32](t, f, "values"))
	for _, args := range [][]string{{}, {"--unordered=error"}} {
		in := writeNPZ(t, map[string]*tensor.Tensor{"values": column(moved...), "times": vec(swapped...)})
		code, _, stderr := execute(append([]string{"resample", in, "-o", filepath.Join(t.TempDir(), "o.npz"), "--hz=30"}, args...)...)
		assert.Equal(t, exitInput, code)
		assert.Regexp(t, "backwards at (row 0, index|sample) 8; --unordered sort takes the samples in order\n$", stderr)
	}
	late := slices.Clone(exact)
	for i := range late {
		late[i] += 1000
	}
	late[0] = 0
	f, stderr = run(column(frames...), late)
	assert.Contains(t, stderr, "row 0: a timestamp of 0.000 s lies 1000.03")
	assert.Contains(t, stderr, "samples left out: 1\n")
	assert.Equal(t, frames[1:], array[float32](t, f, "values"))
}

// A row of a batch keeps a stray sample, and the clock does not follow it.
func TestAStrayTimestampOfARowIsIgnored(t *testing.T) {
	const n = 30
	times := make([]float64, 2*n)
	for i := range times {
		times[i] = 1000 + float64(i%n)/30
	}
	times[0] = 0
	in := writeNPZ(t, map[string]*tensor.Tensor{"values": tensor.Must(tensor.New(tensor.F32, 2, n, 1)), "times": tensor.Must(tensor.Of(times, 2, n))})
	_, stderr := good(t, "resample", in, "-o", filepath.Join(t.TempDir(), "o.npz"), "--hz=30", "--backend=cpu")
	_, end, _ := strings.Cut(notetext.Text(dataset.Note{Code: dataset.CodeStrayIgnored}), "others: ")
	assert.Contains(t, stderr, "row 0: a timestamp of 0.000 s lies")
	assert.Contains(t, stderr, "others: "+end)
}
