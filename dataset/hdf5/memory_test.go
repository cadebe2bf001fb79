package hdf5

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/thorough"
)

// Memory of large reads is not cleared before: rows of which all was written fill it, however they are read, and read the same directly.
func TestRowsThatAreWholeFillTheMemory(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	read, direct, seen := 0, 0, 0
	eachFolder(t, func(t *testing.T, dir string, want []expected) {
		seen++
		for _, e := range want {
			if refused[e.File] != "" || len(e.Objects) > 50 {
				continue
			}
			f, err := Open(filepath.Join(dir, e.File))
			require.NoError(t, err)
			defer f.Close()
			require.NoError(t, f.Root().Walk(func(path string, o Object, _ error) error {
				d, ok := o.(*Dataset)
				if !ok || d.err != nil {
					return nil
				}
				n := d.Len()
				for _, cut := range [][2]int{{0, n}, {n / 3, n - n/4}, {1, 2}} {
					lo, hi := cut[0], cut[1]
					count, err := d.check(lo, hi, d.stored)
					if err != nil || count == 0 {
						continue
					}
					if whole, err := d.data.whole(&d.Values, lo, hi); err != nil || !whole {
						continue
					}
					out := [2][]byte{bytes.Repeat([]byte{0x00}, count*d.stored), bytes.Repeat([]byte{0xff}, count*d.stored)}
					for _, out := range out {
						err = d.each(lo, hi, func(at int, b []byte) error { copy(out[at*d.stored:], b); return nil })
					}
					if err != nil {
						continue // a filter that is not known
					}
					read++
					require.True(t, bytes.Equal(out[0], out[1]), "%s %s: rows %d to %d", e.File, path, lo, hi)
					clear(out[1])
					done, err := d.direct(lo, hi, out[1])
					require.NoError(t, err)
					if done {
						require.True(t, bytes.Equal(out[0], out[1]), "%s %s: rows %d to %d directly", e.File, path, lo, hi)
						if _, ok := d.data.(*chunked); ok {
							direct++
						}
					}
				}
				return nil
			}))
		}
	})
	assert.Greater(t, read, 50)
	if seen == len(folders) { // the project's own files have none of these
		assert.Greater(t, direct, 1, "chunks that were read without a copy")
	}
}

type readings struct {
	io.ReaderAt
	sizes []int
}

func (r *readings) ReadAt(b []byte, at int64) (int, error) {
	r.sizes = append(r.sizes, len(b))
	return r.ReaderAt.ReadAt(b, at)
}

// Chunks of whole rows that follow each other in the file are read at once, those that do not each by itself.
func TestChunksThatFollowEachOtherAreOneRead(t *testing.T) {
	const row = 8
	data := make([]byte, 100*row)
	for i := range data {
		data[i] = byte(i / row)
	}
	read := &readings{ReaderAt: bytes.NewReader(data)}
	f := &File{source: &source{r: read, size: int64(len(data))}}
	d := &chunked{dims: []int{2, row}, grid: []int{5, 1}, bytes: 2 * row}
	v := &Values{f: f, name: "x", space: space{shape: []int{9, row}}, typ: &Type{Size: 1}, stored: 1, data: d}
	at := func(number, row int) chunk { return chunk{number: number, addr: uint64(8 * row), size: 16} }
	d.list = []chunk{at(0, 20), at(1, 22), at(2, 24), at(3, 60), at(4, 98)}
	out := make([]byte, 8*row)
	done, err := d.direct(v, 1, 9, out)
	require.NoError(t, err)
	require.True(t, done)
	assert.Equal(t, []int{5 * row, 2 * row, row}, read.sizes)
	for i, want := range []byte{21, 22, 23, 24, 25, 60, 61, 98} {
		assert.Equal(t, bytes.Repeat([]byte{want}, row), out[i*row:(i+1)*row], "row %d", i+1)
	}
	for name, broken := range map[string]chunk{
		"of another size": {number: 3, addr: 60 * row, size: 15}, "outside": {number: 3, addr: 1 << 62, size: 16},
		"at the end": {number: 3, addr: 99 * row, size: 16}, "nowhere": {number: 3, addr: none, size: 16},
	} {
		d.list[3] = broken
		done, err = d.direct(v, 0, 9, make([]byte, 9*row))
		assert.NoError(t, err, name)
		assert.False(t, done, name)
		assert.Error(t, v.each(0, 9, func(int, []byte) error { return nil }), name)
	}
}

// A file that is cut after it was opened.
func TestAReadThatFailsGivesNoValues(t *testing.T) {
	name := filepath.Join(t.TempDir(), "cut.hdf5")
	data := filetest.Read(t, "testdata/kinds_latest.hdf5")
	filetest.Write(t, name, data)
	f, err := Open(name)
	require.NoError(t, err)
	defer f.Close()
	var list []*Dataset
	require.NoError(t, f.Root().Walk(func(_ string, o Object, _ error) error {
		if d, ok := o.(*Dataset); ok && d.err == nil {
			if whole, err := d.data.whole(&d.Values, 0, d.Len()); err == nil && whole && d.Len() > 0 {
				list = append(list, d)
			}
		}
		return nil
	}))
	require.NoError(t, os.Truncate(name, 64))
	failed := 0
	for _, d := range list {
		if _, ok := d.data.(inline); ok {
			continue
		}
		b, err := d.Raw(0, d.Len())
		if err != nil {
			assert.Nil(t, b)
			failed++
		}
	}
	assert.Greater(t, failed, 5)
}
