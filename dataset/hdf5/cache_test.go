package hdf5

import (
	"bytes"
	"io"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
)

// counting counts the bytes that are read.
type counting struct {
	io.ReaderAt
	n int
}

func (c *counting) ReadAt(b []byte, at int64) (int, error) {
	c.n += len(b)
	return c.ReaderAt.ReadAt(b, at)
}

// A chunk of many rows is read and decompressed once, although its rows are read one at a time.
func TestRowsOfAChunkReadItOnce(t *testing.T) {
	data := filetest.Read(t, "testdata/test_compressed_chunked_datasets_latest.hdf5")
	source := &counting{ReaderAt: bytes.NewReader(data)}
	f, err := NewReader(source, int64(len(data)))
	require.NoError(t, err)
	var d *Dataset
	require.NoError(t, f.Root().Walk(func(_ string, o Object, err error) error {
		if found, ok := o.(*Dataset); ok && d == nil {
			if c, ok := found.data.(*chunked); ok && c.dims[0] > 1 && len(c.filters) > 0 {
				d = found
			}
		}
		return err
	}))
	require.NotNil(t, d)
	all, err := d.Raw(0, d.Len())
	require.NoError(t, err)
	before := source.n
	_, err = d.Raw(0, d.Len())
	require.NoError(t, err)
	once := source.n - before
	require.NotZero(t, once, "what is read whole is not kept")
	before = source.n
	row := len(all) / d.Len()
	for i := range d.Len() {
		b, err := d.Raw(i, i+1)
		require.NoError(t, err)
		require.Equal(t, all[i*row:(i+1)*row], b)
		clear(b) // it is the caller's
	}
	assert.Equal(t, once, source.n-before, "bytes that were read")
	require.NoError(t, f.Close())
	assert.Zero(t, f.chunks.Len(), "closed files keep nothing")
}

// Rows of a chunk may be read by many at a time.
func TestRowsAreReadByManyAtATime(t *testing.T) {
	for _, name := range []string{"kinds_earliest.hdf5", "kinds_latest.hdf5"} {
		f, err := Open("testdata/" + name)
		require.NoError(t, err)
		d, err := f.Root().Dataset("chunks/images")
		require.NoError(t, err)
		all, err := d.Raw(0, d.Len())
		require.NoError(t, err)
		row := len(all) / d.Len()
		var group sync.WaitGroup
		for k := range 4 {
			group.Go(func() {
				for i := range 3 * d.Len() {
					i = (i + k) % d.Len()
					b, err := d.Raw(i, i+1)
					assert.NoError(t, err)
					assert.Equal(t, all[i*row:(i+1)*row], b)
				}
			})
		}
		group.Wait()
		require.NoError(t, f.Close())
		_, err = d.Raw(0, 1)
		assert.ErrorIs(t, err, dataset.ErrClosed)
	}
}
