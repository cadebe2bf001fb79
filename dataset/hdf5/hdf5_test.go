package hdf5

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
)

var kinds = []string{"kinds_earliest.hdf5", "kinds_latest.hdf5"}

// eachKind runs a test on a file in the oldest format and one in the newest.
func eachKind(t *testing.T, test func(t *testing.T, f *File)) {
	for _, name := range kinds {
		t.Run(name, func(t *testing.T) {
			f, err := Open("testdata/" + name)
			require.NoError(t, err)
			defer func() { assert.NoError(t, f.Close()) }()
			test(t, f)
		})
	}
}

func TestPathsLeadFromHereOrFromTheRoot(t *testing.T) {
	eachKind(t, func(t *testing.T, f *File) {
		g, err := f.Root().Group("names")
		require.NoError(t, err)
		assert.Equal(t, "/names", g.Path())
		assert.Equal(t, []string{"absolute", "dangling", "hard", "itself", "loop", "other_file", "soft", "target"}, g.Names())
		assert.True(t, g.Has("soft"))
		assert.False(t, g.Has("names"))
		for _, path := range []string{"target", "./target", "hard", "soft", "absolute", "/names/target", "itself/itself//itself/soft", "/names/itself/target/"} {
			d, err := g.Dataset(path)
			if assert.NoError(t, err, path) {
				assert.Equal(t, []int{3}, d.Shape(), path)
			}
		}
		for path, want := range map[string]string{
			"nothing":       "/names/nothing: no such name",
			"dangling":      "/nowhere: no such name",
			"target/deeper": "/names/target/deeper: no such name: got a dataset, want a group",
			"itself":        "/names/itself: no such name: got a group, want a dataset",
			"/point":        "/point: no such name: got a type, want a dataset",
		} {
			_, err := g.Dataset(path)
			assert.ErrorIs(t, err, dataset.ErrNotFound, path)
			assert.ErrorContains(t, err, want)
		}
		_, err = g.Group("target")
		assert.ErrorContains(t, err, "/names/target: no such name: got a dataset, want a group")
		_, err = g.Open("loop")
		assert.ErrorIs(t, err, dataset.ErrCorrupt)
		assert.ErrorContains(t, err, "/names/loop: corrupt: got soft links one after the other, want at most 16")
		_, err = g.Open("other_file")
		assert.ErrorIs(t, err, dataset.ErrUnsupported)
		assert.ErrorContains(t, err, `/names/other_file: not supported: got an external link to "other.hdf5:/x"`)
		for _, l := range g.Links() {
			assert.Equal(t, map[string]string{"soft": "target", "absolute": "/names/target", "dangling": "/nowhere", "loop": "loop", "other_file": "other.hdf5:/x"}[l.Name], l.Target)
			assert.Equal(t, map[string]LinkKind{"soft": Soft, "absolute": Soft, "dangling": Soft, "loop": Soft, "other_file": External}[l.Name], l.Kind)
		}
	})
}

func TestWalkEndsAndTellsWhatCannotBeOpened(t *testing.T) {
	eachKind(t, func(t *testing.T, f *File) {
		failed, seen := map[string]bool{}, map[string]int{}
		require.NoError(t, f.Root().Walk(func(path string, o Object, err error) error {
			if err != nil {
				failed[path] = true
			}
			seen[path]++
			if path == "/many" {
				return fs.SkipDir
			}
			return nil
		}))
		assert.Equal(t, map[string]bool{"/names/dangling": true, "/names/loop": true, "/names/other_file": true}, failed)
		assert.Equal(t, 0, seen["/many/demo_1"])
		assert.Equal(t, 1, seen["/names/absolute"]+seen["/names/target"]+seen["/names/soft"]+seen["/names/hard"], "one object of four names")
	})
}

func TestAttributesAreFoundByName(t *testing.T) {
	eachKind(t, func(t *testing.T, f *File) {
		g, err := f.Root().Group("attributes")
		require.NoError(t, err)
		a, err := g.Attr("text")
		require.NoError(t, err)
		s, err := a.ReadStrings()
		require.NoError(t, err)
		assert.Equal(t, []string{`{"env_name": "Lift"}`}, s)
		_, err = a.Read()
		assert.ErrorIs(t, err, dataset.ErrUnsupported)
		a, err = g.Attr("list")
		require.NoError(t, err)
		x, err := a.Read()
		require.NoError(t, err)
		got, err := tensor.Data[float64](x)
		require.NoError(t, err)
		assert.Equal(t, []float64{0, 1, 2}, got)
		_, err = g.Attr("nothing")
		assert.ErrorIs(t, err, dataset.ErrNotFound)
		assert.ErrorContains(t, err, `/attributes: attribute: no such name: got "nothing"`)
	})
}

func TestRowsSayTheirShapeAndRefuseOthers(t *testing.T) {
	eachKind(t, func(t *testing.T, f *File) {
		d, err := f.Root().Dataset("chunks/images")
		require.NoError(t, err)
		assert.Equal(t, []int{5, 6, 7, 3}, d.Shape())
		x, err := d.Rows(1, 3)
		require.NoError(t, err)
		assert.Equal(t, "u8", x.DType().String())
		assert.Equal(t, []int{2, 6, 7, 3}, x.Shape())
		got, err := tensor.Data[uint8](x)
		require.NoError(t, err)
		for i, b := range got {
			require.Equal(t, byte((i+6*7*3)%251), b, i)
		}
		x, err = d.Rows(5, 5)
		require.NoError(t, err)
		assert.Equal(t, []int{0, 6, 7, 3}, x.Shape())
		for _, r := range [][2]int{{-1, 1}, {3, 2}, {0, 6}} {
			_, err = d.Rows(r[0], r[1])
			assert.ErrorIs(t, err, dataset.ErrShape, r)
			_, err = d.Raw(r[0], r[1])
			assert.ErrorIs(t, err, dataset.ErrShape, r)
		}
		d, err = f.Root().Dataset("numbers/elements")
		require.NoError(t, err)
		x, err = d.Rows(1, 2)
		require.NoError(t, err)
		assert.Equal(t, []int{1, 2, 3}, x.Shape())
		d, err = f.Root().Dataset("numbers/scalar")
		require.NoError(t, err)
		x, err = d.Read()
		require.NoError(t, err)
		assert.Empty(t, x.Shape())
		assert.Equal(t, 1, d.Len())
	})
}

// A chunk that rows do not need is not read: the others may be broken.
func TestRowsReadTheirOwnChunks(t *testing.T) {
	data := filetest.Read(t, "testdata/kinds_latest.hdf5")
	f, err := NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	d, err := f.Root().Dataset("chunks/images")
	require.NoError(t, err)
	list, err := d.data.(*chunked).chunks(&d.Values, 2, 4)
	require.NoError(t, err)
	require.Len(t, list, 2)
	data[list[1].addr+list[1].size-1] ^= 1
	_, err = d.Rows(0, 2)
	assert.NoError(t, err)
	_, err = d.Rows(4, 5)
	assert.NoError(t, err)
	part, err := d.Rows(1, 3)
	assert.Nil(t, part)
	assert.ErrorIs(t, err, dataset.ErrCorrupt)
	assert.ErrorContains(t, err, "/chunks/images: chunk at [2,3,0,0]: corrupt: got zlib: invalid checksum, want 126 bytes of deflate")
}

func TestFieldsOfRecordsAreReadAlone(t *testing.T) {
	eachKind(t, func(t *testing.T, f *File) {
		d, err := f.Root().Dataset("records")
		require.NoError(t, err)
		id, err := d.Field("id")
		require.NoError(t, err)
		x, err := id.Rows(1, 4)
		require.NoError(t, err)
		got, err := tensor.Data[int32](x)
		require.NoError(t, err)
		assert.Equal(t, []int32{300, 600, 900}, got)
		pose, err := d.Field("pose")
		require.NoError(t, err)
		q, err := pose.Field("q")
		require.NoError(t, err)
		x, err = q.Rows(3, 5)
		require.NoError(t, err)
		assert.Equal(t, []int{2, 4}, x.Shape())
		quaternions, err := tensor.Data[float32](x)
		require.NoError(t, err)
		assert.Equal(t, []float32{12, 13, 14, 15, 16, 17, 18, 19}, quaternions)
		for field, want := range map[string][]string{"name": {"a", "bb", "ccc", "dddd", "eeeee"}, "note": {"", "n1", "zwölf", "n3", "n4"}} {
			v, err := d.Field(field)
			require.NoError(t, err)
			s, err := v.ReadStrings()
			require.NoError(t, err)
			assert.Equal(t, want, s)
		}
		_, err = d.Field("nothing")
		assert.ErrorIs(t, err, dataset.ErrNotFound)
	})
}

func TestSequencesAreReadAsBytes(t *testing.T) {
	eachKind(t, func(t *testing.T, f *File) {
		d, err := f.Root().Dataset("texts/sequences")
		require.NoError(t, err)
		got, err := d.Bytes(1, 3)
		require.NoError(t, err)
		assert.Equal(t, [][]byte{{1, 0}, {2, 0, 3, 0, 4, 0}}, got)
		_, err = d.ReadStrings()
		assert.ErrorIs(t, err, dataset.ErrUnsupported)
	})
}

func TestEnumerationsSayTheirNames(t *testing.T) {
	eachKind(t, func(t *testing.T, f *File) {
		d, err := f.Root().Dataset("numbers/enum")
		require.NoError(t, err)
		assert.Equal(t, []Member{{"LEFT", 1}, {"RIGHT", 2}}, d.Type().Enum)
		assert.Equal(t, "int16", d.Type().String())
	})
}

func TestReadsMayRunTogether(t *testing.T) {
	eachKind(t, func(t *testing.T, f *File) {
		d, err := f.Root().Dataset("chunks/grows_filtered")
		require.NoError(t, err)
		s, err := f.Root().Dataset("texts/chunked")
		require.NoError(t, err)
		var wg sync.WaitGroup
		for i := range 8 {
			wg.Go(func() {
				x, err := d.Rows(i, i+40)
				if assert.NoError(t, err) {
					got, _ := tensor.Data[int32](x)
					assert.Equal(t, int32(3*i), got[0])
				}
				names, err := s.ReadStrings()
				assert.NoError(t, err)
				assert.Len(t, names, 10)
				_, err = f.Root().Group("many")
				assert.NoError(t, err)
			})
		}
		wg.Wait()
	})
}

func TestAClosedFileIsNotRead(t *testing.T) {
	f, err := Open("testdata/kinds_latest.hdf5")
	require.NoError(t, err)
	d, err := f.Root().Dataset("chunks/single")
	require.NoError(t, err)
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	_, err = d.Read()
	assert.ErrorIs(t, err, dataset.ErrClosed)
	_, err = f.Root().Group("chunks")
	assert.ErrorIs(t, err, dataset.ErrClosed)
}

func TestOtherFilesAreRefused(t *testing.T) {
	_, err := Open(filepath.Join(t.TempDir(), "none.hdf5"))
	assert.ErrorIs(t, err, os.ErrNotExist)
	_, err = Open("doc.go")
	assert.ErrorIs(t, err, dataset.ErrCorrupt)
	assert.ErrorContains(t, err, "hdf5: doc.go: byte 0: signature: corrupt")
}

// A file that was not closed is read, and says so.
func TestAFileThatIsOpenForWritingHasAWarning(t *testing.T) {
	data := filetest.Read(t, "testdata/kinds_latest.hdf5")
	data[11] = 1
	sum(data, 0, 44)
	f, err := NewReader(bytes.NewReader(data), int64(len(data)))
	require.NoError(t, err)
	assert.Equal(t, []string{"the file is marked as open for writing: its writer did not close it, or has not yet"}, f.Warnings())
	_, err = f.Root().Dataset("chunks/single")
	assert.NoError(t, err)
}

// sum writes the checksum of bytes behind them.
func sum(data []byte, from, to int) {
	binary.LittleEndian.PutUint32(data[to:], lookup3(data[from:to]))
}

// Chunks that reach over the array's end may be stored without the filters that the others have.
func TestChunksAtTheEndMayHaveNoFilters(t *testing.T) {
	f, err := Open("testdata/kinds_latest.hdf5")
	require.NoError(t, err)
	defer f.Close()
	for _, path := range []string{"chunks/edges", "chunks/edges_grow"} {
		d, err := f.Root().Dataset(path)
		require.NoError(t, err)
		require.True(t, d.data.(*chunked).plainEdges, "the file is as it should be")
		x, err := d.Read()
		require.NoError(t, err)
		got, err := tensor.Data[int32](x)
		require.NoError(t, err)
		for i, v := range got {
			require.Equal(t, int32(i), v, path)
		}
	}
}
