package npz

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// reasons returns what an episode left out, by name.
func reasons(e *dataset.Episode) map[string]string {
	m := map[string]string{}
	for _, l := range e.Notes {
		m[l.Subject] = l.Reason()
	}
	return m
}

// numbers is an array as a file.
func numbers[T tensor.Element](t *testing.T, shape []int, data ...T) string {
	var b bytes.Buffer
	require.NoError(t, npy.Write(&b, tensor.Must(tensor.Of(data, shape...))))
	return b.String()
}

// texts is an array of strings as a file.
func texts(t *testing.T, list ...string) string {
	var b bytes.Buffer
	require.NoError(t, npy.WriteStrings(&b, list))
	return b.String()
}

// beside is an archive of a good stream "a" and of what is given.
func beside(t *testing.T, members ...string) []byte {
	good := []string{"a.values.npy", numbers(t, []int{2, 1}, 1., 2), "a.times.npy", numbers[int64](t, []int{2}, 0, 1e9)}
	return archive(t, zip.Store, append(good, members...)...)
}

// nat is datetime64[ns]: a second, and none.
func nat() string {
	return npyOf("'<M8[ns]'", "(2,)", 0, 202, 154, 59, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 128)
}

func TestABadStreamCostsItself(t *testing.T) {
	two, times := numbers(t, []int{2, 1}, 7.5, 8), numbers[int64](t, []int{2}, 0, 1e9)
	for name, c := range map[string]struct {
		members []string
		reason  string
		strict  bool // it is an error with Strict
	}{
		"long clock": {[]string{"b.values.npy", two, "b.times.npy", numbers[int64](t, []int{3}, 0, 1, 2)}, "array b.times: got i64 [3] on host, want [2], one timestamp a sample", true},
		"wide clock": {[]string{"b.values.npy", two, "b.times.npy", numbers[int64](t, []int{2, 1}, 0, 1)}, "array b.times: got i64 [2,1] on host, want [2]", true},
		"0-d clock":  {[]string{"b.values.npy", two, "b.times.npy", numbers[int64](t, nil, 0)}, "array b.times: got i64 [] on host, want [2]", true},
		"int32":      {[]string{"b.values.npy", two, "b.times.npy", numbers[int32](t, []int{2}, 0, 1)}, `"<i4", want int64 or uint64 nanoseconds`, true},
		"NaT":        {[]string{"b.values.npy", two, "b.times.npy", nat()}, "got NaT at index 1", true},
		"columns":    {[]string{"b.values.npy", two, "b.times.npy", times, "b.columns.npy", texts(t, "x", "y")}, "array b.columns: got 2 names, want 1, one a feature", true},
		"twice":      {[]string{"b.values.npy", two, "b.times.npy", times, "b.values.npy", two}, `got "b.values" twice, want each name once`, true},
		"cut":        {[]string{"b.values.npy", two[:len(two)-1], "b.times.npy", times}, "array data: truncated", true},
		"no array":   {[]string{"b.values.npy", "nothing", "b.times.npy", times}, "array b.values: npy: b.values.npy: byte 7: file header: truncated", true},
		"record NaT": {[]string{"b.npy", npyOf("[('t', '<M8[ns]'), ('v', '|u1')]", "(1,)", 0, 0, 0, 0, 0, 0, 0, 128, 1)}, "array b: npy: b.npy: byte 92: datetime64[ns] time: not supported: got NaT", true},
		"images":     {[]string{"b.values.npy", npyOf("'|u1'", "(0, 2, 2, 3)"), "b.times.npy", times}, "array b.values: got uint8 [0,2,2,3], want [S,D], [S] or records [S]", false},
		"objects":    {[]string{"b.values.npy", npyOf("'|O'", "(2,)"), "b.times.npy", times}, `got "|O", Python objects, want f2 f4`, false},
		"texts":      {[]string{"b.values.npy", texts(t, "x", "y"), "b.times.npy", times}, `got "<U1", want f2 f4`, false},
		"complex":    {[]string{"b.values.npy", npyOf("'<c16'", "(2,)"), "b.times.npy", times}, `got "<c16", want f2 f4`, false},
		"float128":   {[]string{"b.values.npy", npyOf("'<f16'", "(2,)"), "b.times.npy", times}, `got "<f16", want f2 f4`, false},
		"no column":  {[]string{"b.values.npy", npyOf("'<f4'", "(2, 0)"), "b.times.npy", times}, "float32 [2,0], want at least one feature", false},
	} {
		f := read(t, beside(t, c.members...))
		e, used, err := f.Episode(EpisodeOptions{})
		require.NoError(t, err, name)
		assert.Equal(t, []string{"a"}, e.Names(), name)
		assert.Contains(t, reasons(e)["b"], c.reason, name)
		for _, array := range f.Names() {
			assert.Contains(t, used, array, name)
		}
		_, _, err = f.Episode(EpisodeOptions{Strict: true})
		var bad *StreamError
		assert.Equal(t, c.strict, errors.As(err, &bad), "%s: %v", name, err)
		_, _, err = f.Episode(EpisodeOptions{Streams: []string{"a", "b"}})
		require.ErrorAs(t, err, &bad, name)
		assert.Equal(t, "b", bad.Stream, name)
		assert.Contains(t, err.Error(), c.reason, name)
	}
}

func TestABrokenStreamIsCountedAsDamage(t *testing.T) {
	b := beside(t, "b.values.npy", numbers(t, []int{2, 1}, 7.5, 8), "b.times.npy", numbers[int64](t, []int{2}, 0, 1e9))
	at := bytes.Index(b, []byte(numbers(t, []int{2, 1}, 7.5, 8)))
	b[at+128] ^= 1
	e, _, err := read(t, b).Episode(EpisodeOptions{})
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, e.Names())
	assert.Contains(t, reasons(e)["b"], "array b.values: npz: b.values.npy: byte 144: archive: corrupt: zip: checksum error")
	require.Len(t, e.Notes.Damage(), 1)
	assert.Equal(t, 1, e.Notes.Damage()[0].Count)
	assert.EqualValues(t, 128+16, e.Notes.LostBytes(), "a header and two float64")
	assert.Equal(t, "b.values.npy", e.Notes.Damage()[0].Cause.(*dataset.FormatError).Path)
	_, _, err = read(t, b).Episode(EpisodeOptions{Strict: true})
	assert.ErrorIs(t, err, dataset.ErrCorrupt)
}

// failing fails once it is told to.
type failing struct {
	*bytes.Reader
	err error
}

func (r *failing) ReadAt(p []byte, off int64) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	return r.Reader.ReadAt(p, off)
}

func TestAFailureOfTheDiskIsNoFaultOfTheStream(t *testing.T) {
	for _, b := range [][]byte{beside(t), archive(t, zip.Store, "imu.npy", npyOf("[('t', '<f8'), ('v', '<f4')]", "(0,)")), archive(t, zip.Store, "b.values.npy", oneArray(t), "t.npy", oneArray(t))} {
		r := &failing{Reader: bytes.NewReader(b)}
		f, err := NewReader(r, int64(len(b)))
		require.NoError(t, err)
		r.err = io.ErrNoProgress
		_, _, err = f.Episode(EpisodeOptions{})
		assert.ErrorIs(t, err, io.ErrNoProgress)
		var bad *StreamError
		assert.False(t, errors.As(err, &bad))
	}
}

func TestNamesThatAreNoStringsCostNoNumbers(t *testing.T) {
	for got, columns := range map[string]string{`"|O", Python objects`: npyOf("'|O'", "(1,)"), `"<i8"`: numbers[int64](t, []int{1}, 5), "shape [1,1]": npyOf("'<U1'", "(1, 1)", 'x', 0, 0, 0)} {
		b := beside(t, "a.columns.npy", columns)
		for _, opt := range []EpisodeOptions{{}, {Streams: []string{"a"}}, {Strict: true}} {
			e, used, err := read(t, b).Episode(opt)
			require.NoError(t, err)
			assert.Equal(t, []string{"0"}, e.Streams[0].ColumnNames())
			assert.Equal(t, "column-names: got "+got, reasons(e)["a.columns"])
			assert.Contains(t, used, "a.columns")
		}
	}
}

func TestWhatIsNearlyAStreamIsLeftOutWithTheReason(t *testing.T) {
	f := read(t, beside(t, "v.values.npy", numbers(t, []int{2}, 1., 2), "w.times.npy", numbers[int64](t, []int{2}, 0, 1), "c.columns.npy", texts(t, "x"),
		"r.npy", npyOf("[('x', '<f8')]", "(0,)"), "two.npy", npyOf("[('t', '<f8'), ('stamp', '<f8')]", "(0,)"), "i.npy", npyOf("[('t', '<i4')]", "(0,)"), "m.npy", npyOf("[('t', '<f8')]", "(0, 3)"),
		".values.npy", numbers(t, []int{2}, 1., 2), ".times.npy", numbers[int64](t, []int{2}, 0, 1), "\xff.npy", npyOf("[('t', '<f8'), ('x', '<f8')]", "(0,)"), "qpos.npy", numbers(t, []int{2}, 1., 2)))
	e, used, err := f.Episode(EpisodeOptions{})
	require.NoError(t, err)
	assert.Equal(t, []string{"a"}, e.Names())
	assert.Equal(t, []string{"a"}, f.StreamNames())
	assert.Equal(t, map[string]string{
		"v.values": "array-missing: got float64 [2], v.times", "w.times": "array-missing: got int64 [2], w.values", "c.columns": "array-missing: got str of 1 [1], c.values",
		"r":       "clock-field: got records (x) [0], want timestamp, timestamps, time, times, t, stamp",
		"two":     "clock-field: got records (t, stamp) [0], t, stamp",
		"i":       "clock-field: got records (t) [0], t of int32",
		"m":       "value-shape: got records (t) [0,3], want records [S]",
		".values": dataset.CodeStreamName.String() + `: got ""`,
		"\xff":    `stream-name: got "\xff"`,
	}, reasons(e))
	assert.Contains(t, used, ".times")
	assert.NotContains(t, used, "qpos", "which is no stream's")
	for name, says := range map[string]string{"v": dataset.CodeArrayMissing.String(), "w": "w.values", "r": dataset.CodeClockField.String(), "qpos": `got "qpos", want a`} {
		_, _, err := f.Episode(EpisodeOptions{Streams: []string{name}})
		assert.ErrorContains(t, err, says)
	}
}

func TestOneClockServesAllValuesOfItsLength(t *testing.T) {
	two, three := numbers(t, []int{2, 1}, 5., 6), numbers(t, []int{3}, 5., 6, 7)
	for _, clock := range Clocks() {
		f := read(t, beside(t, "b.values.npy", two, clock+".npy", numbers[int64](t, []int{2}, 3, 4), "c.values.npy", three, "d.values.npy", npyOf("'<f8'", "()", make([]byte, 8)...)))
		assert.Equal(t, []string{"a", "b"}, f.StreamNames())
		e, used, err := f.Episode(EpisodeOptions{})
		require.NoError(t, err)
		assert.Equal(t, []int64{0, 1e9}, e.Streams[0].Nanoseconds(), "its own clock goes before")
		assert.Equal(t, []int64{3, 4}, e.Streams[1].Nanoseconds())
		assert.Contains(t, used, clock)
		assert.Equal(t, dataset.CodeClockMismatch.String()+": got float64 [3], want "+clock+", c.times", reasons(e)["c.values"])
		assert.Equal(t, dataset.CodeClockMismatch.String()+": got float64 [], want "+clock+", d.times", reasons(e)["d.values"])
	}
	f := read(t, beside(t, "b.values.npy", two, "t.npy", numbers[int64](t, []int{2}, 3, 4), "stamp.npy", numbers[float64](t, []int{2}, 3, 4)))
	e, _, err := f.Episode(EpisodeOptions{})
	require.NoError(t, err)
	assert.Equal(t, "array-missing: got float64 [2,1], want t and stamp, b.times", reasons(e)["b.values"])
	f = read(t, beside(t, "b.values.npy", two, "t.npy", numbers[int32](t, []int{2}, 3, 4), "time.npy", numbers[int64](t, []int{2, 1}, 3, 4)))
	assert.Equal(t, []string{"a"}, f.StreamNames(), "neither is a clock [S]")
}

func TestErrorsNameHowAMemberIsPacked(t *testing.T) {
	for method, says := range map[uint16]string{12: "compressed with bzip2", 14: "compressed with lzma", 95: "compressed with xz", 77: "compressed with method 77"} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		w, err := z.CreateRaw(&zip.FileHeader{Name: "a.npy", Method: method, CompressedSize64: 4, UncompressedSize64: 1})
		require.NoError(t, err)
		_, err = w.Write([]byte("BZh9"))
		require.NoError(t, errors.Join(err, z.Close()))
		_, err = read(t, b.Bytes()).Tensor("a")
		assert.ErrorIs(t, err, dataset.ErrUnsupported)
		assert.ErrorContains(t, err, "a.npy: member: not supported: got "+says+", want stored or deflated")
	}
	b := beside(t)
	at := bytes.Index(b, []byte("PK\x01\x02")) // the directory, which is what counts
	b[at+8] |= 1
	_, err := read(t, b).Tensor("a.values")
	assert.ErrorContains(t, err, "got encrypted")
}

func TestNoArrayIsSaidToBeNone(t *testing.T) {
	_, err := read(t, archive(t, zip.Store, "a", "1", "b.txt", "2")).Tensor("a")
	assert.ErrorContains(t, err, `got "a", want arrays: of the archive's members none is called NAME.npy, but a, b.txt`)
	_, err = read(t, archive(t, zip.Store)).Tensor("a")
	assert.ErrorContains(t, err, "want an archive that is not empty")
	var many []string
	for i := range 50 {
		many = append(many, fmt.Sprintf("n%d.npy", i), "")
	}
	_, err = read(t, archive(t, zip.Store, many...)).Tensor("a")
	assert.ErrorContains(t, err, "n39 and 10 more")
}

// Forty thousand streams take a second or so; were the time that of their square, it would be minutes.
func TestTimeGrowsAsTheNumberOfStreams(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	var members []string
	values, times := numbers(t, []int{1}, math.Pi), numbers[int64](t, []int{1}, 0)
	for i := range 40_000 {
		members = append(members, fmt.Sprintf("stream%d.values.npy", i), values, fmt.Sprintf("stream%d.times.npy", i), times)
	}
	f := read(t, archive(t, zip.Store, members...))
	start := time.Now()
	e, used, err := f.Episode(EpisodeOptions{Streams: f.StreamNames()})
	require.NoError(t, err)
	assert.Len(t, e.Streams, 40_000)
	assert.Len(t, used, 80_000)
	assert.Less(t, time.Since(start), 2*time.Minute)
}
