package loader_test

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/tensor"
)

// repeated is a dataset of one episode over and over, so that a large one takes no memory.
type repeated struct {
	made
	n int
}

func (r repeated) Len() int           { return r.n }
func (r repeated) Info() dataset.Info { return dataset.Info{} }
func (r repeated) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	return r.made.Episode(ctx, i%len(r.made))
}

// many is a dataset of a table with doubles and an imu that is four times as fast, of so many bytes when it is packed.
func many(t *testing.T, bytes float64) repeated {
	t.Helper()
	const n = 2000
	e := &dataset.Episode{Name: "e"}
	packed := 0
	for _, s := range []struct {
		name        string
		rows, width int
		dtype       tensor.DType
	}{{"state", n, 14, tensor.F64}, {"action", n, 7, tensor.F32}, {"imu", 4 * n, 6, tensor.F32}} {
		times := make([]int64, s.rows)
		for i := range times {
			times[i] = int64(i) * int64(40e9) / int64(s.rows)
		}
		values := tensor.Must(tensor.New(s.dtype, s.rows, s.width))
		if s.dtype == tensor.F64 {
			list, err := tensor.Data[float64](values)
			require.NoError(t, err)
			for i := range list {
				list[i] = float64(i) * .1
			}
		}
		made, err := dataset.NewStream(s.name, times, values, nil)
		require.NoError(t, err)
		e.Streams = append(e.Streams, made)
		packed += s.rows * (4*s.width + 8)
	}
	return repeated{made{e}, int(bytes/float64(packed)) + 1}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var list []string
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func content(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}

// Pack writes the same file as Build and Save, whether the numbers stay in memory or not.
func TestPackWritesTheFileThatSaveWrites(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	ctx := context.Background()
	dir := t.TempDir()
	some := recordings(t)
	some[4] = nil
	some[2].Streams = some[2].Streams[:2]
	for what, c := range map[string]struct {
		d   dataset.Dataset
		opt store.BuildOptions
	}{
		"some": {some, store.BuildOptions{}}, "of some": {some, store.BuildOptions{Streams: []string{"imu", "state"}, Workers: 1}},
		"halves": {some, store.BuildOptions{DType: tensor.F16, Sources: []store.Source{{Path: "x", Bytes: 3}}}}, "more than is held": {many(t, 50e6), store.BuildOptions{}},
		"doubles, more than is held": {many(t, 40e6), store.BuildOptions{DType: tensor.F64}},
	} {
		packed, err := store.Build(ctx, c.d, c.opt)
		require.NoError(t, err, what)
		require.NoError(t, packed.Save(filepath.Join(dir, "saved")))
		require.NoError(t, store.Pack(ctx, c.d, filepath.Join(dir, "packed"), c.opt), what)
		assert.True(t, string(content(t, filepath.Join(dir, "saved"))) == string(content(t, filepath.Join(dir, "packed"))), what)
		assert.Equal(t, []string{"packed", "saved"}, names(t, dir))
	}
}

func TestPackThatFailsLeavesWhatWasThere(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "s.safetensors")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	broken := many(t, 50e6)
	whole := broken.made[0]
	broken.made = make(made, broken.n)
	for i := range broken.n - 1 {
		broken.made[i] = whole
	}
	assert.ErrorContains(t, store.Pack(context.Background(), broken, path, store.BuildOptions{Strict: true}), "broken")
	for _, late := range []bool{false, true} {
		d := many(t, 50e6)
		ctx, cancel := context.WithCancel(context.Background())
		err := store.Pack(ctx, d, path, store.BuildOptions{Progress: func(done, of int) {
			if done == of || !late && done == of*3/4 {
				cancel()
			}
		}})
		assert.ErrorIs(t, err, context.Canceled, late)
		cancel()
	}
	none := recordings(t)
	for _, e := range none {
		e.Steps = true
	}
	err := store.Pack(context.Background(), none, path, store.BuildOptions{})
	var nothing *store.NothingError
	require.ErrorAs(t, err, &nothing)
	assert.ErrorIs(t, err, dataset.ErrMissing)
	assert.ErrorContains(t, err, "loader: no streams to pack: state and 2 more (step-times: 25)")
	assert.True(t, nothing.Steps())
	err = store.Pack(context.Background(), make(made, 3), path, store.BuildOptions{})
	assert.ErrorContains(t, err, "none of 3 episodes can be read: episode 0 and 2 more: ")
	assert.Equal(t, "old", string(content(t, path)))
	assert.Equal(t, []string{"s.safetensors"}, names(t, dir))
	var p *fs.PathError
	require.ErrorAs(t, store.Pack(context.Background(), none, filepath.Join(dir, "none", "s"), store.BuildOptions{}), &p)
	assert.Equal(t, filepath.Join(dir, "none", "s"), p.Path)
}

// Numbers with the packed dtype keep their bits, and rounded ones are counted.
func TestPackedNumbersAreTheRecordedOnes(t *testing.T) {
	ctx := context.Background()
	numbers := []float32{1.5, float32(math.Inf(1)), math.Float32frombits(0x7fa00001), math.Float32frombits(0xffc12345), math.Float32frombits(1), 16777217, -65520, 1e-10}
	n := len(numbers)
	one := func(values *tensor.Tensor) made {
		s, err := dataset.NewStream("s", make([]int64, values.Dim(0)), values, nil)
		require.NoError(t, err)
		return made{{Name: "e", Streams: []dataset.Stream{s}}}
	}
	singles := tensor.Must(tensor.Of(numbers, n, 1))
	wide, err := tensor.Floats(singles)
	require.NoError(t, err)
	halves := make([]tensor.Float16, n)
	for i := range halves {
		halves[i] = tensor.F16FromF32(numbers[i])
	}
	strided := tensor.Must(tensor.Must(tensor.Of(append(make([]float32, 1), numbers...), n+1)).AsStrided([]int{n / 2, 1}, []int{2, 1}, 1))
	for what, c := range map[string]struct {
		values              *tensor.Tensor
		dtype               tensor.DType
		rounded, overflowed int
		want                func(i int) float64
	}{
		"f32":            {singles, tensor.F32, 0, 0, nil},
		"f32 as f64":     {singles, tensor.F64, 0, 0, func(i int) float64 { return wide[i] }},
		"f64":            {tensor.Must(tensor.Of([]float64{1, .1, 1e300, math.NaN()}, 4, 1)), tensor.F32, 2, 1, func(i int) float64 { return []float64{1, float64(float32(.1)), math.Inf(1), math.NaN()}[i] }},
		"f32 as f16":     {singles, tensor.F16, 4, 2, func(i int) float64 { return float64(halves[i].F32()) }},
		"f16 as f32":     {tensor.Must(tensor.Of(halves, n, 1)), tensor.F32, 0, 0, func(i int) float64 { return float64(halves[i].F32()) }},
		"f32 as bf16":    {singles, tensor.BF16, 3, 0, func(i int) float64 { return float64(tensor.BF16FromF32(numbers[i]).F32()) }},
		"f32, strided":   {strided, tensor.F32, 0, 0, func(i int) float64 { return wide[2*i] }},
		"two at a sweep": {tensor.Must(tensor.New(tensor.F64, 200_000, 2)), tensor.BF16, 0, 0, func(int) float64 { return 0 }},
	} {
		packed, err := store.Build(ctx, one(c.values), store.BuildOptions{DType: c.dtype})
		require.NoError(t, err, what)
		s := packed.Stream("s")
		assert.Equal(t, [2]int{c.rounded, c.overflowed}, [2]int{s.Rounded, s.Overflowed}, what)
		assert.Equal(t, c.dtype, s.Values.DType(), what)
		if c.want == nil {
			got, err := tensor.Data[float32](s.Values)
			require.NoError(t, err)
			for i := range got {
				assert.Equal(t, math.Float32bits(numbers[i]), math.Float32bits(got[i]), what)
			}
			continue
		}
		got, err := tensor.Floats(s.Values)
		require.NoError(t, err, what)
		require.Len(t, got, c.values.Len())
		for i := range got {
			if want := c.want(i); got[i] != want && !(want != want && got[i] != got[i]) {
				t.Fatalf("%s: number %d is %v, want %v", what, i, got[i], want)
			}
		}
	}
	_, err = store.Build(ctx, one(singles), store.BuildOptions{DType: tensor.I32})
	assert.ErrorIs(t, err, dataset.ErrOption)
	assert.True(t, errors.Is(store.Pack(ctx, one(singles), filepath.Join(t.TempDir(), "s"), store.BuildOptions{DType: tensor.I32}), dataset.ErrOption))
}
