package hdf5

import (
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

func TestFiltersThatAreNotReadAreNamedWithTheCure(t *testing.T) {
	for file, filters := range map[string]map[string]string{
		"pytables.hdf5": {"x_bzip2": "bzip2 (307)", "x_blosc": "blosc (32001)", "x_blosc_zstd": "blosc (32001)", "x_lzo": "lzo (305)"},
		"filters.hdf5":  {"x_zstd": "zstd (32015)"},
	} {
		root := opened(t, file)
		for name, filter := range filters {
			d, err := root.Dataset(name)
			require.NoError(t, err)
			_, err = d.Read()
			assert.ErrorIs(t, err, dataset.ErrUnsupported, name)
			assert.ErrorContains(t, err, "filter "+filter)
			assert.ErrorContains(t, err, "h5repack -f GZIP=1")
		}
	}
	d, err := opened(t, "filters.hdf5").Dataset("twice")
	require.NoError(t, err)
	_, err = d.Read()
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
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
