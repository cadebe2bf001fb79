package h5test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset/hdf5"
)

func TestMendedFilesAreRead(t *testing.T) {
	data, err := os.ReadFile("../../../dataset/hdf5/plain/testdata/one.hdf5")
	require.NoError(t, err)
	read := func() (names []string, wrong int) {
		f, err := hdf5.NewReader(bytes.NewReader(data), int64(len(data)))
		require.NoError(t, err)
		require.NoError(t, f.Root().Walk(func(path string, o hdf5.Object, err error) error {
			if err == nil {
				_, err = o.Attrs()
			}
			if err != nil {
				wrong++
			}
			names = append(names, path)
			return nil
		}))
		return names, wrong
	}
	whole, lost := read() // wrong counts a link without a target
	changed := 0
	for at := range data[:len(data)-12] {
		if string(data[at:at+4]) == "OHDR" && data[at+5]&(1<<5) != 0 { // an object header with times
			data[at+12] ^= 1
			changed++
		}
	}
	require.Greater(t, changed, 2)
	_, err = hdf5.NewReader(bytes.NewReader(data), int64(len(data)))
	require.Error(t, err)
	mend(data)
	names, wrong := read()
	assert.Equal(t, whole, names)
	assert.Equal(t, lost, wrong)
}
