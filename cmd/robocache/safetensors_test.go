package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/internal/arrayfile"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func openTensors(t *testing.T, path string) *safetensors.File {
	t.Helper()
	f, err := safetensors.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f
}

func TestOutputsAreTheSameInBothFormats(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	streams := beside(t, map[string]*tensor.Tensor{"b.values": column(10., 20, 30), "b.times": vec[int64](0, 5e8, 1e9)})
	batch := writeNPZ(t, map[string]*tensor.Tensor{"values": tensor.Must(tensor.Of([]float32{1, 2, 3, 4}, 2, 2, 1)), "times": vec[int64](0, 1e9)})
	for _, line := range [][]string{
		{"resample", flight, "--hz=50"}, {"fuse", flight, "--hz=50", "--stream=sensor_combined", "--stream=vehicle_attitude"},
		{"resample", streams, "--hz=4"}, {"fuse", streams, "--hz=4", "--dtype=bf16"}, {"resample", batch, "--hz=4"},
	} {
		dir := t.TempDir()
		a, b := filepath.Join(dir, "o.npz"), filepath.Join(dir, "o.SafeTensors")
		one, _ := good(t, append(line, "--backend=cpu", "--json", "-o", a)...)
		two, _ := good(t, append(line, "--backend=cpu", "--json", "-o", b)...)
		want, got := unmarshal(t, one), unmarshal(t, two)
		assert.Equal(t, b, got["output"])
		delete(want, "output")
		delete(got, "output")
		assert.Equal(t, want, got, "%v: the report", line)
		from, to := open(t, a), openTensors(t, b)
		tensors := 0
		for _, name := range from.Names() {
			h, err := from.Header(name)
			require.NoError(t, err)
			if h.IsString() {
				list, err := from.Strings(name)
				require.NoError(t, err)
				back, err := to.Strings(name)
				require.NoError(t, err, name)
				assert.Equal(t, list, back, name)
				continue
			}
			tensors++
			v, err := to.Tensor(name)
			require.NoError(t, err, name)
			u, err := from.Tensor(name)
			if v.DType() == tensor.BF16 {
				u, err = from.BF16(name)
			}
			require.NoError(t, err)
			assert.Equal(t, contentOf(t, u), contentOf(t, v), name)
			assert.Equal(t, u.Shape(), v.Shape(), name)
		}
		assert.Len(t, to.Names(), tensors, "%v: and nothing else", line)
	}
}

// contentOf is a tensor's bytes.
func contentOf(t *testing.T, v *tensor.Tensor) []byte {
	path := filepath.Join(t.TempDir(), "content")
	f, err := os.Create(path)
	require.NoError(t, err)
	require.NoError(t, npy.WriteData(f, v))
	require.NoError(t, f.Close())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

func TestWhatIsWrittenIsAnInput(t *testing.T) {
	dir := t.TempDir()
	out, again := filepath.Join(dir, "o.safetensors"), filepath.Join(dir, "again.npz")
	good(t, "resample", beside(t, map[string]*tensor.Tensor{"b.values": column(10., 20), "b.times": vec[int64](0, 1e9)}), "-o", out, "--hz=2", "--backend=cpu")
	stdout, _ := good(t, "fuse", out, "-o", again, "--hz=4", "--stream=a", "--stream=b", "--backend=cpu", "--json")
	assert.Len(t, unmarshal(t, stdout)["streams"], 2)
	assert.Equal(t, []float64{0, 10, .5, 12.5, 1, 15, 1.5, 17.5, 2, 20}, array[float64](t, open(t, again), "values"))
	stdout, _ = good(t, "inspect", out)
	assert.Contains(t, stdout, "safetensors: 2 streams")
	code, _, stderr := execute("fuse", out, "-o", again, "--backend=cpu")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "no clock given: a file of format safetensors has no targets, want --hz")
}

func TestOtherFormatsAreNotWritten(t *testing.T) {
	in, dir := beside(t, nil), t.TempDir()
	for _, command := range []string{"resample", "fuse"} {
		code, _, stderr := execute(command, in, "-o", filepath.Join(dir, "o.pt"), "--hz=2", "--backend=cpu")
		assert.Equal(t, exitUsage, code)
		assert.Contains(t, stderr, "want a name that ends in .npz or .safetensors")
	}
	code, _, stderr := execute("voxelize", in, "-o", filepath.Join(dir, "o.safetensors"), "--size=1")
	assert.Equal(t, exitUsage, code)
	assert.Contains(t, stderr, "want a name that ends in .npz or .ply\n")
}

// If the disk or another program changed a written file, neither it nor its companions get their names.
func TestAnOutputThatIsNotWhatWasWrittenIsNone(t *testing.T) {
	// spoil changes a byte of the file that is being written for a name.
	spoil := func(path string) error {
		list, err := filepath.Glob(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp"))
		require.NoError(t, err)
		require.Len(t, list, 1)
		f, err := os.OpenFile(list[0], os.O_RDWR, 0)
		require.NoError(t, err)
		_, err = f.WriteAt([]byte{1}, 1000)
		return errors.Join(err, f.Close())
	}
	for _, c := range []struct{ spoiled, name string }{{"o.npz", "o.npz"}, {"o.png", "o.npz"}, {"o.png", "o.safetensors"}} {
		dir := t.TempDir()
		out, plot := filepath.Join(dir, c.name), filepath.Join(dir, "o.png")
		err := save("in.ulg", out, plot, inArrays(out, func(w arrayfile.Writer) error {
			err := w.Add("values", tensor.Must(tensor.New(tensor.F32, 1<<20)))
			if c.spoiled == c.name {
				err = errors.Join(err, spoil(out))
			}
			return err
		}), func(w io.Writer) error {
			_, err := w.Write(make([]byte, 1<<16))
			if c.spoiled == "o.png" {
				err = errors.Join(err, spoil(plot))
			}
			return err
		}, func() error {
			assert.Fail(t, "it is reported all the same")
			return nil
		})
		var bad *outputError
		require.ErrorAs(t, err, &bad)
		assert.ErrorIs(t, err, atomicfile.ErrReadBack)
		assert.Equal(t, filepath.Join(dir, c.spoiled), bad.Path)
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Empty(t, left, c)
	}
}
