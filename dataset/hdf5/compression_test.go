package hdf5

import (
	"math/rand/v2"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// rows is how many rows the datasets of scripts/gen_hdf5_layouts.py have.
const rows = 300

func opened(t *testing.T, name string) *Group {
	f, err := Open("testdata/" + name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return f.Root()
}

func floatsOf(t *testing.T, v *Values) []float64 {
	t.Helper()
	read, err := v.Read()
	require.NoError(t, err)
	list, err := tensor.Floats(read)
	require.NoError(t, err)
	return list
}

func TestFiltersOfOtherWritersAreUndone(t *testing.T) {
	want := make([]float64, 3*rows)
	for i := range want {
		want[i] = float64(i%101-50) / 8
	}
	for file, names := range map[string][]string{
		"pytables.hdf5": {"x_bzip2", "x_blosc", "x_blosc_lz4", "x_blosc_zlib", "x_blosc_zstd"}, "filters.hdf5": {"x_zstd"},
	} {
		root := opened(t, file)
		for _, name := range names {
			d, err := root.Dataset(name)
			require.NoError(t, err)
			require.NotEmpty(t, d.Filters(), name)
			assert.Equal(t, want, floatsOf(t, &d.Values), name)
		}
	}
}

// A file of jHDF's tests counts from 0 in each dataset, in blocks of several sizes.
func TestBlocksOfLZ4AreUndone(t *testing.T) {
	f, err := Open("../../../shared/data/hdf5_jhdf/lz4_datasets.hdf5")
	if err != nil {
		t.Skip("the shared recordings are not here: ", err)
	}
	defer f.Close()
	for _, name := range f.Root().Names() {
		d, err := f.Root().Dataset(name)
		require.NoError(t, err)
		for i, v := range floatsOf(t, &d.Values) {
			require.Equal(t, float64(i), v, name)
		}
	}
}

func TestFiltersThatAreNotReadAreNotCalledCorrupt(t *testing.T) {
	for file, names := range map[string][]string{"pytables.hdf5": {"x_lzo", "x_blosc_snappy", "x_bits"}, "filters.hdf5": {"twice"}} {
		root := opened(t, file)
		for _, name := range names {
			d, err := root.Dataset(name)
			require.NoError(t, err)
			_, err = d.Read()
			assert.ErrorIs(t, err, dataset.ErrUnsupported, name)
		}
	}
}

func TestTypesOfPyTablesAndDatesAreNumbers(t *testing.T) {
	root := opened(t, "pytables.hdf5")
	even, err := root.Dataset("even")
	require.NoError(t, err)
	log, err := root.Dataset("log/robot")
	require.NoError(t, err)
	stamps, err := opened(t, "filters.hdf5").Dataset("stamp")
	require.NoError(t, err)
	column := func(name string) []float64 {
		v, err := log.Field(name)
		require.NoError(t, err)
		return floatsOf(t, v)
	}
	truth, held, time, seconds, stamp := floatsOf(t, &even.Values), column("held"), column("time"), column("seconds"), floatsOf(t, &stamps.Values)
	bit := func(b bool) float64 { return map[bool]float64{true: 1}[b] }
	for i := range rows {
		require.Equal(t, bit(i%2 == 0), truth[i])
		require.Equal(t, bit(i%3 == 0), held[i])
		require.Equal(t, 1.7e18+float64(i)*5e7, time[i], "nanoseconds")
		require.Equal(t, 1.7e9+float64(i), seconds[i])
		require.Equal(t, float64(i)*1e7, stamp[i])
	}
}

// Whatever the bytes are, a chunk is its values or an error.
func TestCompressionsSurviveAnyBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 3))
	seeds := [][]byte{{1, 0, 1, 8, 64, 0, 0, 0, 64, 0, 0, 0, 40, 0, 0, 0, 20, 0, 0, 0, 16, 0, 0, 0, 31, 1, 2, 3}, []byte("BZh9"), {0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 16, 0, 0, 0, 16}}
	for n := range 20000 {
		src := make([]byte, r.IntN(80))
		for i := range src {
			src[i] = byte(r.IntN(256))
		}
		copy(src, seeds[n%3])
		for range r.IntN(3) {
			if len(src) > 0 {
				src[r.IntN(len(src))] = byte(r.IntN(256))
			}
		}
		for _, c := range compressions {
			dst := make([]byte, 64, 80)
			_, _ = c.expand(dst, src)
			for _, b := range dst[64:80] {
				require.Zero(t, b, "behind the end")
			}
		}
	}
}

// A file may begin with a block of the user's of any power of two from 512 on.
func TestSignatureBehindAUserBlock(t *testing.T) {
	data, err := os.ReadFile("testdata/filters.hdf5")
	require.NoError(t, err)
	for _, block := range []int{512, 4096, 65536} {
		path := t.TempDir() + "/a.hdf5"
		require.NoError(t, os.WriteFile(path, append(make([]byte, block), data...), 0o600))
		f, err := Open(path)
		require.NoError(t, err)
		assert.True(t, f.Root().Has("x_zstd"), block)
		require.NoError(t, f.Close())
	}
}
