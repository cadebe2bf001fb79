package hdf5

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
)

// Bob Jenkins gives these.
func TestLookup3IsThatOfItsAuthor(t *testing.T) {
	assert.Equal(t, uint32(0xdeadbeef), lookup3(nil))
	assert.Equal(t, uint32(0x17770551), lookup3([]byte("Four score and seven years ago")))
}

// changed opens a file in the oldest format, which has no checksums, after a change at bytes that where finds in it.
func changed(t *testing.T, change func(f *File, data []byte)) *File {
	data := filetest.Read(t, "testdata/kinds_earliest.hdf5")
	open := func() *File {
		f, err := NewReader(bytes.NewReader(data), int64(len(data)))
		require.NoError(t, err)
		return f
	}
	change(open(), data)
	return open()
}

func open1(t *testing.T, f *File, path string) *Dataset {
	d, err := f.Root().Dataset(path)
	require.NoError(t, err)
	return d
}

// A shape that the file could not fill is refused before memory is taken for it; rows of it are read.
func TestAShapeThatTheFileCannotFillTakesNoMemory(t *testing.T) {
	f := changed(t, func(f *File, data []byte) {
		at := open1(t, f, "chunks/unwritten").header.find(msgDataspace).at
		require.Equal(t, uint64(3), binary.LittleEndian.Uint64(data[at+8:]))
		binary.LittleEndian.PutUint64(data[at+8:], 1<<40)
		binary.LittleEndian.PutUint64(data[at+24:], 1<<40)
	})
	d := open1(t, f, "chunks/unwritten")
	assert.Equal(t, []int{1 << 40, 2}, d.Shape())
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := d.Read()
	assert.ErrorIs(t, err, dataset.ErrTooLarge)
	assert.ErrorContains(t, err, "/chunks/unwritten: too large: got 1099511627776 rows of 2 elements, 8 bytes each, want at most")
	_, err = d.Raw(0, d.Len())
	assert.ErrorIs(t, err, dataset.ErrTooLarge)
	runtime.ReadMemStats(&after)
	assert.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(1<<16), "bytes")
	x, err := d.Rows(1<<39, 1<<39+2)
	require.NoError(t, err)
	got, err := tensor.Data[int64](x)
	require.NoError(t, err)
	assert.Equal(t, []int64{-1, -1, -1, -1}, got)
}

// A node that two others lead to is read once.
func TestANodeOfTwoParentsIsAnError(t *testing.T) {
	f := changed(t, func(f *File, data []byte) {
		// grows has 70 chunks, which do not fit one node. A key of its tree takes 32 bytes, an address 8.
		root := f.offset(open1(t, f, "chunks/grows").data.(*chunked).addr)
		require.Equal(t, "TREE\x01\x01", string(data[root:root+6]))
		first := root + 24 + 32
		copy(data[first+40:first+48], data[first:first+8])
	})
	_, err := open1(t, f, "chunks/grows").Read()
	assert.ErrorIs(t, err, dataset.ErrCorrupt)
	assert.ErrorContains(t, err, "/chunks/grows: chunk index: corrupt: got an address that was read before, want each once")
	_, err = open1(t, f, "chunks/wider").Read()
	assert.NoError(t, err, "the rest of the file")
}

// Continuations of a header that lead back end.
func TestAHeaderThatContinuesInItselfIsAnError(t *testing.T) {
	var b []byte
	u16 := func(v uint16) { b = binary.LittleEndian.AppendUint16(b, v) }
	u32 := func(v uint32) { b = binary.LittleEndian.AppendUint32(b, v) }
	u64 := func(v ...uint64) {
		for _, v := range v {
			b = binary.LittleEndian.AppendUint64(b, v)
		}
	}
	b = append(b, magic+"\x00\x00\x00\x00\x00\x08\x08\x00"...)
	u16(4)
	u16(16)
	u32(0)
	u64(0, none, 160, none)
	u64(0, 96, 0, 0, 0) // the root's entry
	continued := func() {
		u16(msgContinuation)
		u16(16)
		u32(0)
		u64(136, 24)
	}
	require.Len(t, b, 96)
	u16(1)
	u16(9) // messages
	u32(1)
	u64(24)
	continued()
	require.Len(t, b, 136)
	continued()
	_, err := NewReader(bytes.NewReader(b), int64(len(b)))
	assert.ErrorIs(t, err, dataset.ErrCorrupt)
	assert.ErrorContains(t, err, "byte 136: object header continuation: corrupt: got an address that was read before, want each once")
}
