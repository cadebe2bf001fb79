package hdf5

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// A chunk of zeros, compressed by gzip to a two-hundredth, is refused for the memory that it takes, whether all is read or a row. It is no damage.
func TestAChunkThatDoesNotFitTheMemoryIsRefused(t *testing.T) {
	thorough.SkipRace(t, thorough.Measures)
	const rows = 160 << 20 // more than the limit below
	data := filetest.Read(t, "testdata/kinds_earliest.hdf5")
	open := func() *Dataset {
		f, err := NewReader(bytes.NewReader(data), int64(len(data)))
		require.NoError(t, err)
		return open1(t, f, "chunks/narrow_u1") // [7,5,3] in chunks of [3,2,1]
	}
	d := open()
	space, layout, node := d.header.find(msgDataspace).at, d.header.find(msgLayout).at, d.Values.f.offset(d.data.(*chunked).addr)
	base := d.Values.f.offset(0)
	var packed bytes.Buffer
	z, err := zlib.NewWriterLevel(&packed, zlib.BestSpeed)
	require.NoError(t, err)
	for range rows >> 20 {
		_, err := z.Write(make([]byte, 1<<20))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	for i, n := range []int{rows, 1, 1} {
		binary.LittleEndian.PutUint64(data[space+8+8*int64(i):], uint64(n))
		binary.LittleEndian.PutUint64(data[space+32+8*int64(i):], uint64(n))
		binary.LittleEndian.PutUint32(data[layout+11+4*int64(i):], uint32(n))
	}
	binary.LittleEndian.PutUint16(data[node+6:], 1) // chunks
	binary.LittleEndian.PutUint32(data[node+24:], uint32(packed.Len()))
	binary.LittleEndian.PutUint64(data[node+64:], uint64(int64(len(data))-base))
	data = append(data, packed.Bytes()...)
	binary.LittleEndian.PutUint64(data[base+40:], uint64(int64(len(data))-base)) // the end
	d = open()
	require.Equal(t, []int{rows, 1, 1}, d.Shape())
	row, err := d.Rows(rows-1, rows)
	require.NoError(t, err)
	got, err := tensor.Data[uint8](row)
	require.NoError(t, err)
	assert.Equal(t, []uint8{0}, got)

	memory.Set(128 << 20)
	defer memory.Set(0)
	d, row = open(), nil
	for name, read := range map[string]func() error{
		"all":   func() error { _, err := d.Raw(0, rows); return err },
		"a row": func() error { _, err := d.Rows(0, 1); return err },
	} {
		err := read()
		assert.ErrorIs(t, err, tensor.ErrOutOfMemory, name)
		assert.ErrorContains(t, err, "/chunks/narrow_u1", name)
		_, broken := dataset.AsBroken(err)
		assert.False(t, broken, name)
	}
}
