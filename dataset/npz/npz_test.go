package npz

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/mutate"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

func read(t *testing.T, b []byte) *File {
	t.Helper()
	f, err := NewReader(bytes.NewReader(b), int64(len(b)))
	require.NoError(t, err)
	return f
}

func data[T tensor.Element](t *testing.T, v *tensor.Tensor, err error) []T {
	t.Helper()
	require.NoError(t, err)
	d, err := tensor.Data[T](v)
	require.NoError(t, err)
	return d
}

func TestArchivesOfNumpyRead(t *testing.T) {
	for _, name := range []string{"stored", "deflated"} {
		f, err := Open(filepath.Join("testdata", name+".npz"))
		require.NoError(t, err)
		assert.Equal(t, []string{"values", "times", "deep/name", "columns", "half"}, f.Names())
		assert.True(t, f.Has("times"))
		h, err := f.Header("values")
		require.NoError(t, err)
		assert.Equal(t, []int{2, 3, 4}, h.Shape)
		v, err := f.Tensor("values")
		got := data[float32](t, v, err)
		assert.Equal(t, float32(23), got[23])
		times, err := f.Tensor("times")
		assert.Equal(t, []int64{0, 1e9, 2e9}, data[int64](t, times, err))
		deep, err := f.Tensor("deep/name")
		assert.Equal(t, []uint8{1, 2}, data[uint8](t, deep, err))
		cols, err := f.Strings("columns")
		require.NoError(t, err)
		assert.Equal(t, []string{"x", "y"}, cols)
		half, err := f.BF16("half")
		assert.Equal(t, []tensor.BFloat16{0x3f80, 0xc000}, data[tensor.BFloat16](t, half, err))

		require.NoError(t, f.Close())
		require.NoError(t, f.Close())
		_, err = f.Tensor("values")
		assert.ErrorIs(t, err, dataset.ErrClosed)
		assert.ErrorIs(t, err, fs.ErrClosed)
	}
}

func sample(t *testing.T, opt Options) []byte {
	var b bytes.Buffer
	w := NewWriter(&b, opt)
	v := make([]float32, 1000)
	for i := range v {
		v[i] = float32(i % 7)
	}
	require.NoError(t, w.Add("imu.values", tensor.Must(tensor.Of(v, 100, 10))))
	require.NoError(t, w.AddStrings("imu.columns", []string{"x", "esc[2].rpm"}))
	require.NoError(t, w.Add("times", tensor.Must(tensor.Of([]int64{1, 2, 3}, 3))))
	require.NoError(t, w.Add("valid", tensor.Must(tensor.Of([]uint8{1, 0, 1}, 3))))
	require.NoError(t, w.Add("scalar", tensor.Must(tensor.Of([]float64{0.5}))))
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestWhatIsWrittenReadsBackAndIsTheSameEveryTime(t *testing.T) {
	stored, deflated := sample(t, Options{}), sample(t, Options{Compress: true})
	assert.Equal(t, stored, sample(t, Options{}))
	assert.Equal(t, deflated, sample(t, Options{Compress: true}))
	assert.Less(t, len(deflated), len(stored)/2)
	for _, b := range [][]byte{stored, deflated} {
		f := read(t, b)
		assert.Equal(t, []string{"imu.values", "imu.columns", "times", "valid", "scalar"}, f.Names())
		v, err := f.Tensor("imu.values")
		assert.Equal(t, float32(999%7), data[float32](t, v, err)[999])
		assert.Equal(t, []int{100, 10}, v.Shape())
		cols, err := f.Strings("imu.columns")
		require.NoError(t, err)
		assert.Equal(t, []string{"x", "esc[2].rpm"}, cols)
		require.NoError(t, f.Close())
	}
}

func TestMembersReadFromManyGoroutines(t *testing.T) {
	f := read(t, sample(t, Options{Compress: true}))
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for _, name := range []string{"times", "imu.values", "valid"} {
				_, err := f.Tensor(name)
				assert.NoError(t, err)
			}
		}()
	}
	wg.Wait()
}

func TestARefusedArrayLeavesNoTrace(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, Options{})
	one := tensor.Must(tensor.Of([]uint8{1}, 1))
	require.NoError(t, w.Add("a", one))
	var bad *Error
	for _, name := range []string{"a", "a.npy", "", "a\x00b", "\xff", strings.Repeat("n", 1<<16-4)} {
		require.ErrorAs(t, w.Add(name, one), &bad)
		assert.Contains(t, bad.Error(), "want")
	}
	var value *npy.Error
	assert.ErrorAs(t, w.AddStrings("s", []string{"\xff"}), &value)
	shut := tensor.Must(tensor.New(tensor.U8, 1))
	require.NoError(t, shut.Close())
	assert.ErrorIs(t, w.Add("shut", shut), tensor.ErrClosed)
	require.NoError(t, w.Add("s", one))
	require.NoError(t, w.Close())
	assert.ErrorAs(t, w.Add("late", one), &bad)
	assert.Equal(t, []string{"a", "s"}, read(t, b.Bytes()).Names())
}

type brokenDisk struct{ left int }

var errDisk = errors.New("disk full")

func (d *brokenDisk) Write(p []byte) (int, error) {
	if d.left -= len(p); d.left < 0 {
		return 0, errDisk
	}
	return len(p), nil
}

func TestAFailedWriteIsReportedByEveryLaterCall(t *testing.T) {
	big := tensor.Must(tensor.New(tensor.F64, 1<<16))
	w := NewWriter(&brokenDisk{left: 1000}, Options{})
	err := w.Add("a", big)
	require.ErrorIs(t, err, errDisk)
	assert.ErrorIs(t, w.Add("b", big), errDisk)
	assert.ErrorIs(t, w.Close(), errDisk)
	assert.ErrorIs(t, w.Close(), errDisk)
}

// archive makes a zip by hand.
func archive(t *testing.T, method uint16, members ...string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(members); i += 2 {
		w, err := z.CreateHeader(&zip.FileHeader{Name: members[i], Method: method})
		require.NoError(t, err)
		_, err = w.Write([]byte(members[i+1]))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	return b.Bytes()
}

func oneArray(t *testing.T) string {
	var b bytes.Buffer
	require.NoError(t, npy.Write(&b, tensor.Must(tensor.Of([]float32{1, 2}, 2))))
	return b.String()
}

func TestABadArchiveIsAFormatError(t *testing.T) {
	a := oneArray(t)
	open := func(b []byte) error {
		_, err := NewReader(bytes.NewReader(b), int64(len(b)))
		return err
	}
	var bad *dataset.FormatError
	for name, b := range map[string][]byte{
		"nothing": nil, "no zip": []byte("PK but not an archive at all"),
	} {
		err := open(b)
		require.ErrorAs(t, err, &bad, name)
		assert.ErrorIs(t, err, dataset.ErrCorrupt, name)
	}
	whole := archive(t, zip.Store, "a.npy", a)
	for n := range whole {
		assert.Error(t, open(whole[:n]), n)
	}

	f := read(t, archive(t, zip.Store, "a.npy", a+"tail", "cut.npy", a[:len(a)-3], "notes.txt", "hello", "t.npy", "not an array"))
	assert.Equal(t, []string{"notes.txt"}, f.Others())
	_, err := f.Tensor("a")
	assert.ErrorIs(t, err, dataset.ErrCorrupt)
	assert.ErrorContains(t, err, "a.npy: byte 136: after the array")
	_, err = f.Tensor("cut")
	assert.ErrorIs(t, err, dataset.ErrTruncated)
	_, err = f.Tensor("t")
	assert.ErrorIs(t, err, dataset.ErrCorrupt)
	_, err = f.Tensor("b")
	assert.ErrorIs(t, err, dataset.ErrNotFound)
	assert.ErrorContains(t, err, "one of a, cut, t")
	_, err = f.Header("b")
	assert.ErrorIs(t, err, dataset.ErrNotFound)

	_, err = Open(filepath.Join(t.TempDir(), "none.npz"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	path := filepath.Join(t.TempDir(), "bad.npz")
	filetest.Write(t, path, "bad")
	_, err = Open(path)
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, path, bad.Path)
	filetest.Write(t, path, archive(t, zip.Store, "x.npy", "bad"))
	f, err = Open(path)
	require.NoError(t, err)
	defer f.Close()
	_, err = f.Tensor("x")
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, path+":x.npy", bad.Path)
}

type brokenReader struct{}

func (b *brokenReader) ReadAt([]byte, int64) (int, error) { return 0, errDisk }

func TestAnErrorOfTheReaderIsNotTheFiles(t *testing.T) {
	_, err := NewReader(&brokenReader{}, 1000)
	assert.ErrorIs(t, err, errDisk)
	var bad *dataset.FormatError
	assert.NotErrorAs(t, err, &bad)
}

func TestAFlippedBitIsFound(t *testing.T) {
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		b := archive(t, method, "a.npy", oneArray(t))
		at := bytes.Index(b, []byte("a.npy")) + len("a.npy") + 128 // stored: the first byte of the data
		if method == zip.Deflate {
			at = bytes.Index(b, []byte("a.npy")) + len("a.npy") + 20
		}
		b[at] ^= 0x10
		f := read(t, b)
		_, err := f.Tensor("a")
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad)
	}
	b := archive(t, 0, "a.npy", oneArray(t))
	copy(b[bytes.Index(b, []byte("PK\x01\x02"))+10:], []byte{99, 0}) // the method in the directory
	_, err := read(t, b).Tensor("a")
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
}

// A member may declare any size: in the directory, in the array's header, or both.
func TestMemoryGrowsWithTheDataNotWithTheDeclaredSize(t *testing.T) {
	head := "\x93NUMPY\x01\x00\x80\x00{'descr': '<f8', 'fortran_order': False, 'shape': (100000000000,)}"
	head += strings.Repeat(" ", 138-len(head)) + strings.Repeat("\x00", 5000)
	for _, method := range []uint16{zip.Store, zip.Deflate} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		w, err := z.CreateRaw(&zip.FileHeader{Name: "a.npy", Method: method, CRC32: crc32.ChecksumIEEE([]byte(head)), CompressedSize64: uint64(len(head)), UncompressedSize64: 1 << 50})
		require.NoError(t, err)
		_, err = w.Write([]byte(head))
		require.NoError(t, err)
		require.NoError(t, z.Close())
		if method == zip.Deflate { // a true bomb instead: 1 MB of zeros in 1 kB, under a header that wants 800 GB
			b = *bytes.NewBuffer(archive(t, zip.Deflate, "a.npy", head+strings.Repeat("\x00", 1<<20)))
		}
		f := read(t, b.Bytes())
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err = f.Tensor("a")
		runtime.ReadMemStats(&after)
		var bad *dataset.FormatError
		require.ErrorAs(t, err, &bad)
		assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
	}
}

// names are what numpy takes for the name of an array.
var names = []string{"imu.values", "/observations/qpos.values", "../x", "a/../b", "a//b", "a\\b", "c:x", "w:0", ".", "x/", "a\nb", "a.npy", "naïve 🤖", strings.Repeat("n", 1<<16-5)}

func TestNumpyLoadsWhatIsWritten(t *testing.T) {
	python := ""
	for _, p := range []string{"python3", "/usr/bin/python3"} {
		if python == "" && exec.Command(p, "-c", "import numpy").Run() == nil {
			python = p
		}
	}
	if python == "" {
		t.Skip("no python with numpy")
	}
	load := func(b []byte, script string) string {
		path := filepath.Join(t.TempDir(), "x.npz")
		filetest.Write(t, path, b)
		out, err := exec.Command(python, "-c", "import sys, json, numpy as np\nz = np.load(sys.argv[1])\n"+script, path).CombinedOutput()
		require.NoError(t, err, string(out))
		return strings.TrimSpace(string(out))
	}
	for _, opt := range []Options{{}, {Compress: true}} {
		out := load(sample(t, opt), `print(z.files, z["imu.values"].shape, float(z["imu.values"].sum()), z["imu.columns"].tolist(), z["times"].dtype, z["valid"].tolist(), float(z["scalar"]))`)
		assert.Equal(t, "['imu.values', 'imu.columns', 'times', 'valid', 'scalar'] (100, 10) 2997.0 ['x', 'esc[2].rpm'] int64 [1, 0, 1] 0.5", out)
		var got map[string][]float32
		require.NoError(t, json.Unmarshal([]byte(load(named(t, opt), `print(json.dumps({n: z[n].tolist() for n in z.files}))`)), &got))
		require.Len(t, got, len(names))
		for i, name := range names {
			assert.Equal(t, []float32{float32(i)}, got[name])
		}
	}
}

// named is an archive with an array of each name, which holds its index.
func named(t *testing.T, opt Options) []byte {
	var b bytes.Buffer
	w := NewWriter(&b, opt)
	for i, name := range names {
		require.NoError(t, w.Add(name, tensor.Must(tensor.Of([]float32{float32(i)}, 1))))
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestANameIsOnlyAName(t *testing.T) {
	f := read(t, named(t, Options{}))
	assert.Equal(t, names, f.Names())
	for i, name := range names {
		v, err := f.Tensor(name)
		assert.Equal(t, []float32{float32(i)}, data[float32](t, v, err))
	}
	a := oneArray(t)
	f = read(t, archive(t, zip.Store, "/a.npy", a, ".npy", a, "\xff\xfe.npy", a, "d/", "", "..\\b.npy", a))
	assert.Equal(t, []string{"/a", "", "\xff\xfe", "..\\b"}, f.Names(), "as the archive has them")
	assert.Equal(t, []string{"d/"}, f.Others())
	for _, name := range f.Names() {
		v, err := f.Tensor(name)
		assert.Equal(t, []float32{1, 2}, data[float32](t, v, err), name)
	}
	f, err := Open("testdata/names.npz")
	require.NoError(t, err)
	defer f.Close()
	assert.Equal(t, []string{"/observations/qpos.values", "/observations/qpos.times", "w:0", "a/../b", "back\\slash", "é"}, f.Names())
	e, used, err := f.Episode(EpisodeOptions{})
	require.NoError(t, err)
	assert.Equal(t, []string{"/observations/qpos"}, e.Names())
	assert.Equal(t, []string{"/observations/qpos.values", "/observations/qpos.times"}, used)
}

// numpy takes the last of two arrays of one name: here that is an error, but only where the name is asked for.
func TestWhatNobodyAsksForCostsNothing(t *testing.T) {
	a := oneArray(t)
	values := bytes.NewBuffer(nil)
	require.NoError(t, npy.Write(values, tensor.Must(tensor.Of([]float32{3, 4}, 2, 1))))
	b := archive(t, zip.Store, "x.values.npy", values.String(), "x.times.npy", a, "twice.npy", a, "twice.npy", a, "broken.npy", "no array", "cut.npy", a[:20],
		"empty.npy", "", "records.npy", string(a[:10])+"[((((((", "object.npy", strings.Replace(a, "<f4", "|O ", 1))
	f := read(t, b)
	assert.Equal(t, []string{"x.values", "x.times", "twice", "broken", "cut", "empty", "records", "object"}, f.Names())
	e, _, err := f.Episode(EpisodeOptions{})
	require.NoError(t, err)
	assert.Equal(t, []string{"x"}, e.Names())
	_, err = f.Tensor("twice")
	assert.ErrorIs(t, err, dataset.ErrCorrupt)
	assert.ErrorContains(t, err, `got "twice" twice`)
	_, err = f.Header("twice")
	assert.Error(t, err)
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"stored", "deflated"} {
		if b, err := os.ReadFile(filepath.Join("testdata", name+".npz")); err == nil {
			f.Add(b)
			f.Add(b[:len(b)/2])
		}
	}
	for _, name := range []string{"names", "streams", "piped", "piped_deflated"} {
		if b, err := os.ReadFile(filepath.Join("testdata", name+".npz")); err == nil {
			f.Add(b)
		}
	}
	f.Add(binary.LittleEndian.AppendUint32(make([]byte, 18), 0x06054b50))
	f.Fuzz(func(t *testing.T, b []byte) { exercise(t, b) })
}

// exercise reads all of an archive, and returns nil for one that cannot be opened: errors are typed, and streams sound.
func exercise(t *testing.T, b []byte) *File {
	z, err := NewReader(bytes.NewReader(b), int64(len(b)))
	var bad *dataset.FormatError
	if err != nil {
		require.ErrorAs(t, err, &bad)
		return nil
	}
	for _, name := range z.Names() {
		if _, err := z.Tensor(name); err != nil {
			require.ErrorAs(t, err, &bad)
		}
		_, _ = z.Strings(name)
	}
	for _, name := range z.StreamNames() {
		e, _, err := z.Episode(EpisodeOptions{Streams: []string{name}})
		var stream *StreamError
		if err != nil {
			require.ErrorAs(t, err, &stream)
			continue
		}
		require.NoError(t, e.Streams[0].Check())
	}
	return z
}

// Most mutants are arrays in an archive whose checksums are right, the others archives.
func TestMutantsDoNoHarm(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	seeds, err := mutate.Files("testdata", "stored.npz", "deflated.npz", "names.npz", "streams.npz", "piped.npz", "piped_deflated.npz")
	require.NoError(t, err)
	var archives []*mutate.Archive
	for _, seed := range seeds {
		a, err := mutate.Unzip(seed, 128)
		require.NoError(t, err)
		archives = append(archives, a)
		seeds = append(seeds, a.Seeds()...)
	}
	words := []string{"(", ")", ",", "'", "{", "<f8", "|O", "True", "[", "]", "9999999999", "-1", "<U3", "<M8[ns]"}
	mutate.Run(t, mutate.Plan{Seeds: seeds, Words: words, Few: 5000, Most: 64 << 20, Try: func(m mutate.Mutant) {
		for _, a := range archives {
			if b, ok := a.With(m); ok {
				m.Data = b
			}
		}
		z := exercise(t, m.Data)
		if z == nil {
			return
		}
		e, _, err := z.Episode(EpisodeOptions{Strict: m.N%2 == 0})
		var stream *StreamError
		if err != nil {
			require.True(t, errors.As(err, &stream) || mutate.Untyped(err) == nil, "%v", err)
			return
		}
		for i := range e.Streams {
			require.NoError(t, e.Streams[i].Check())
		}
	}})
}

func Example() {
	var b bytes.Buffer
	w := NewWriter(&b, Options{Compress: true})
	if err := errors.Join(
		w.Add("values", tensor.Must(tensor.Of([]float32{1, 2, 3, 4}, 2, 2))),
		w.AddStrings("columns", []string{"roll", "pitch"}),
		w.Close(),
	); err != nil {
		fmt.Println(err)
		return
	}
	f, err := NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		fmt.Println(err)
		return
	}
	values, err := f.Tensor("values")
	columns, _ := f.Strings("columns")
	fmt.Println(f.Names(), values, columns, err)
	// Output: [values columns] f32 [2,2] on host [roll pitch] <nil>
}

func TestAHeaderIsCheckedBeforeTheDataAreRead(t *testing.T) {
	var b bytes.Buffer
	w := NewWriter(&b, Options{})
	require.NoError(t, w.Add("x", tensor.Must(tensor.Of([]float64{1, 2, 3}, 3))))
	require.NoError(t, w.Close())
	f := read(t, b.Bytes())
	assert.Equal(t, int64(128+24), f.Size("x"))
	assert.Zero(t, f.Size("y"))
	got, err := f.Checked("x", func(h npy.Header) error {
		assert.Equal(t, "float64 [3]", h.String())
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, []int{3}, got.Shape())
	_, err = f.Checked("x", func(npy.Header) error { return &dataset.FormatError{Format: "test", Kind: dataset.ErrShape} })
	var bad *dataset.FormatError
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, [2]string{"test", "x.npy"}, [2]string{bad.Format, bad.Path})
}
