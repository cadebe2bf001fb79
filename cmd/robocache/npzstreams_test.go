package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// beside writes an archive with a good stream "a" and the given arrays.
func beside(t *testing.T, arrays map[string]*tensor.Tensor) string {
	all := map[string]*tensor.Tensor{"a.values": column[float32](0, 2), "a.times": vec[int64](0, 1e9)}
	for name, a := range arrays {
		all[name] = a
	}
	return writeNPZ(t, all)
}

// leftOutOf returns a result's notes about data that is left out, reasons by subject.
func leftOutOf(t *testing.T, result map[string]any) map[string]string {
	m := map[string]string{}
	for _, l := range result["notes"].([]any) {
		if l := l.(map[string]any); l["class"] == string(dataset.ClassLeftOut) {
			reason, is := strings.CutPrefix(l["text"].(string), "left out: "+l["subject"].(string)+": ")
			assert.True(t, is, l)
			m[l["subject"].(string)] = reason
		}
	}
	return m
}

// noteTexts returns the texts in a result's notes.
func noteTexts(result map[string]any) (list []any) {
	for _, n := range result["notes"].([]any) {
		list = append(list, n.(map[string]any)["text"])
	}
	return list
}

func TestABadStreamOfAnArchiveCostsItselfInEveryCommand(t *testing.T) {
	const reason = "array b.times: got i64 [3] on host, want [2], one timestamp a sample"
	in := beside(t, map[string]*tensor.Tensor{"b.values": column[float32](5, 6), "b.times": vec[int64](0, 1, 2), "note": vec[int64](1)})
	for _, command := range []string{"resample", "fuse"} {
		out := filepath.Join(t.TempDir(), "o.npz")
		to := func(args ...string) []string {
			return append([]string{command, in, "-o", out, "--hz=2", "--backend=cpu"}, args...)
		}
		stdout, _ := good(t, to("--json")...)
		res := unmarshal(t, stdout)
		assert.Equal(t, map[string]string{"b": reason}, leftOutOf(t, res), command)
		assert.Equal(t, []any{"note"}, res["ignored"], command)
		assert.Equal(t, []any{"not used: note", "left out: b: " + reason}, noteTexts(res), "%s: in one wording", command)
		assert.Len(t, res["streams"], 1, command)
		plan := filepath.Join(t.TempDir(), "plan.yaml")
		require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 2\nstreams:\n  - name: x\n    from: b\n"), 0o644))
		for _, args := range [][]string{to("--strict"), to("--stream=a", "--stream=b"), {command, in, "-o", out, "--backend=cpu", "--plan", plan}} {
			code, _, stderr := execute(args...)
			assert.Equal(t, exitInput, code, args)
			assert.Equal(t, "robocache: "+in+": "+reason+"\n", stderr, args)
		}
		stdout, _ = good(t, to("--json", "--stream=a")...)
		assert.Empty(t, leftOutOf(t, unmarshal(t, stdout)), "what is not asked for is not left out")
	}
	stdout, _ := good(t, "inspect", in)
	assert.Contains(t, stdout, "left out: b, "+reason+"\n")
	code, _, stderr := execute("inspect", in, "--strict")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, reason)
}

func TestABrokenStreamOfAnArchiveIsLost(t *testing.T) {
	in := beside(t, map[string]*tensor.Tensor{"b.values": column(5., 6), "b.times": vec[int64](0, 1)})
	data, err := os.ReadFile(in)
	require.NoError(t, err)
	at := strings.Index(string(data), string([]byte{0, 0, 0, 0, 0, 0, 20, 64})) // 5
	require.Positive(t, at)
	data[at] ^= 1
	require.NoError(t, os.WriteFile(in, data, 0o644))
	stdout, _ := good(t, "fuse", in, "-o", filepath.Join(t.TempDir(), "o.npz"), "--hz=2", "--backend=cpu", "--json")
	res := unmarshal(t, stdout)
	assert.Contains(t, leftOutOf(t, res)["b"], "checksum error")
	assert.Equal(t, 128+16., res["lost_bytes"])
	_, stderr := good(t, "inspect", in)
	assert.Contains(t, stderr, "robocache: lost: broken arrays: 1, 144 bytes (npz: ")
}

func TestWhereNothingCanBeUsedEveryReasonIsSaid(t *testing.T) {
	images, short := tensor.Must(tensor.New(tensor.U8, 2, 4, 4, 3)), vec[int64](0)
	text := filepath.Join(t.TempDir(), "text.npz")
	f, err := os.Create(text)
	require.NoError(t, err)
	w := npz.NewWriter(f, npz.Options{})
	require.NoError(t, errors.Join(w.AddStrings("a.values", []string{"x"}), w.Add("a.times", short), w.Add("b.values", column[float32](1)), w.Close(), f.Close()))
	for in, says := range map[string]string{
		writeNPZ(t, map[string]*tensor.Tensor{"im.values": images, "im.times": vec[int64](0, 1)}): `: array im.values: got uint8 [2,4,4,3], want [S,D], [S] or records [S]`,
		writeNPZ(t, map[string]*tensor.Tensor{"a.values": column[float32](1)}):                    `: no streams that can be used: a.values (float32 [1,1] without an array a.times)`,
		writeNPZ(t, map[string]*tensor.Tensor{".values": column[float32](1), ".times": short}):    `: no streams that can be used: .values (a stream with the name ""`,
		text: `: no streams that can be used: a (array a.values: npy: ` + text + `:a.values.npy: byte 128: element type: not supported: got "<U1", want f2 f4 f8, i1 i2 i4 i8, u1 u2 u4 u8, b1 or records), b.values (float32 [1,1] without an array b.times)`,
		writeNPZ(t, map[string]*tensor.Tensor{"qpos": short}): `: no streams: got qpos, want arrays NAME.values [S,D] and NAME.times [S], or records`,
		writeNPZ(t, nil): `: no streams: got nothing in it, want`,
		zipped(t, map[string][]byte{"a.values": nil, "a.times": nil}): `: no streams: got no member called NAME.npy, but a.`,
		// A stream that is left out for two reasons is reported with both.
		writeNPZ(t, map[string]*tensor.Tensor{"a.values": column[float32](1), "a.times": short, "b.values": column[float32](1), "b.times": vec[int64](0, 1)}): `: no stream that can be put on a clock, want one with samples and columns: a (fewer than two distinct timestamps), b (array b.times: got i64 [2] on host, want [1]`,
	} {
		out := filepath.Join(t.TempDir(), "o.npz")
		code, _, stderr := execute("resample", in, "-o", out, "--hz=2", "--backend=cpu")
		assert.Equal(t, exitInput, code, says)
		assert.Contains(t, stderr, in+says)
		assert.NoFileExists(t, out)
	}
	code, stdout, _ := execute("fuse", writeNPZ(t, map[string]*tensor.Tensor{"im.values": images, "im.times": vec[int64](0, 1)}), "-o", filepath.Join(t.TempDir(), "o.npz"), "--hz=2", "--json")
	assert.Equal(t, exitInput, code)
	e := unmarshal(t, stdout)["error"].(map[string]any)
	assert.Equal(t, []any{"im.values", "uint8 [2,4,4,3]"}, []any{e["array"], e["got"]}, "the only stream's error is the error")
}

func TestWhatIsNearlyAStreamIsLeftOutAndTheRestIgnored(t *testing.T) {
	in := beside(t, map[string]*tensor.Tensor{"b.values": column[float32](1), ".values": column[float32](1), ".times": vec[int64](1), "qpos": vec[int64](1)})
	stdout, _ := good(t, "fuse", in, "-o", filepath.Join(t.TempDir(), "o.npz"), "--hz=2", "--backend=cpu", "--json")
	res := unmarshal(t, stdout)
	left := leftOutOf(t, res)
	assert.Equal(t, "float32 [1,1] without an array b.times", left["b.values"])
	assert.Contains(t, left[".values"], `a stream with the name ""`)
	assert.Equal(t, []any{"qpos"}, res["ignored"])
}

// The output of resample has one shared array times, and can be read again.
func TestWhatResampleWritesIsAnArchiveOfStreams(t *testing.T) {
	in := beside(t, map[string]*tensor.Tensor{"b.values": column(10., 20), "b.times": vec[int64](0, 1e9)})
	out := filepath.Join(t.TempDir(), "o.npz")
	good(t, "resample", in, "-o", out, "--hz=2", "--backend=cpu")
	f := fuseTo(t, out, "--hz=4", "--stream=a", "--stream=b")
	assert.Equal(t, []float64{0, 10, .5, 12.5, 1, 15, 1.5, 17.5, 2, 20}, array[float64](t, f, "values"))
}

func TestInDTypeOfNoArrayIsSaid(t *testing.T) {
	const says = "in-dtype has no effect: no array is uint16"
	to := func(in string) string {
		_, stderr := good(t, "fuse", in, "-o", filepath.Join(t.TempDir(), "o.npz"), "--hz=2", "--backend=cpu", "--in-dtype=bf16")
		return stderr
	}
	assert.Contains(t, to(beside(t, nil)), says)
	assert.NotContains(t, to(beside(t, map[string]*tensor.Tensor{"b.values": column[tensor.BFloat16](0x3f80, 0x4000), "b.times": vec[int64](0, 1e9)})), says)
}

func TestErrorsOfOrderSayWhatSorts(t *testing.T) {
	in := beside(t, map[string]*tensor.Tensor{"b.values": column[float32](5, 6, 7), "b.times": vec[int64](0, 2, 1)})
	out := filepath.Join(t.TempDir(), "o.npz")
	_, _, stderr := execute("fuse", in, "-o", out, "--hz=2", "--backend=cpu", "--unordered=error")
	assert.Contains(t, stderr, "backwards at sample 2; --unordered sort takes the samples in order\n")
	plan := filepath.Join(t.TempDir(), "plan.yaml")
	require.NoError(t, os.WriteFile(plan, []byte("version: 1\nrate: 2\nunordered: error\n"), 0o644))
	_, _, stderr = execute("fuse", in, "-o", out, "--backend=cpu", "--plan", plan)
	assert.Contains(t, stderr, "backwards at sample 2; unordered: sort in the plan takes the samples in order\n")
	log := writeLog(t, topic{"b", "float v", []uint64{0, 2000, 1000}, []any{float32(1), float32(2), float32(3)}})
	_, _, stderr = execute("resample", log, "-o", out, "--hz=2", "--backend=cpu", "--unordered=error")
	assert.Contains(t, stderr, "backwards at sample 2; --unordered sort takes the samples in order\n")
}

func TestNamesOfAnArchiveAreCompleted(t *testing.T) {
	in := beside(t, map[string]*tensor.Tensor{"w:0.values": column[float32](1, 2), "w:0.times": vec[int64](0, 1), "qpos": vec[int64](1)})
	stdout, _ := good(t, "__complete", "resample", in, "--stream", "")
	assert.Equal(t, []string{"a", "w:0"}, sortedLines(stdout))
	stdout, _ = good(t, "__complete", "resample", in, "--stream", "w:0:next", "--stream", "")
	assert.Equal(t, []string{"a"}, sortedLines(stdout))
	for _, word := range []string{"w:0", "a", "w:0[0]"} {
		stdout, _ = good(t, "__complete", "fuse", in, "--stream", word+":")
		assert.Contains(t, stdout, word+":pchip\n")
	}
}

// sortedLines returns the lines of a completion, sorted.
func sortedLines(stdout string) (list []string) {
	for _, line := range strings.Split(stdout, "\n") {
		if line != "" && line[0] != ':' {
			list = append(list, line)
		}
	}
	if len(list) > 1 && list[0] > list[1] {
		list[0], list[1] = list[1], list[0]
	}
	return list
}
