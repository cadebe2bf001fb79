package storage

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

// double is a store in memory: files by URL.
type double map[string]string

type doubleFile struct {
	*bytes.Reader
	closed bool
}

func (f *doubleFile) Close() error { f.closed = true; return nil }

func (f *doubleFile) ReadAtContext(ctx context.Context, p []byte, off int64) (int, error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	return f.ReadAt(p, off)
}

func (d double) Open(_ context.Context, url string) (File, error) {
	if text, is := d[url]; is {
		return &doubleFile{Reader: bytes.NewReader([]byte(text))}, nil
	}
	return nil, &fs.PathError{Op: "open", Path: url, Err: fs.ErrNotExist}
}

func (d double) Stat(_ context.Context, url string) (Info, error) {
	if text, is := d[url]; is {
		return Info{Name: Base(url), Size: int64(len(text))}, nil
	}
	return Info{}, &fs.PathError{Op: "stat", Path: url, Err: fs.ErrNotExist}
}

func (d double) List(_ context.Context, url string, most int) (list []Info, err error) {
	for name, text := range d {
		if Dir(name) == strings.TrimRight(url, "/") && (most < 0 || len(list) < most) {
			list = append(list, Info{Name: Base(name), Size: int64(len(text))})
		}
	}
	return list, nil
}

var files = double{"double://a/x 1#": "text", "double://a/b/y": "longer text"}

func init() { Register("double", files) }

func TestAURLIsOfTheStoreThatRegisteredItsScheme(t *testing.T) {
	ctx := context.Background()
	assert.Panics(t, func() { Register("double", files) })
	assert.Equal(t, []string{"double"}, Schemes())
	for name, is := range map[string]bool{"double://a/b": true, "none://a/b": false, "a/b": false} {
		_, ok, err := storeOf(name)
		assert.Equal(t, is, ok && err == nil, name)
	}
	b, err := ReadFile(ctx, "double://a/x 1#")
	require.NoError(t, err)
	assert.Equal(t, "text", string(b))
	st, err := Stat(ctx, "double://a/b/y")
	require.NoError(t, err)
	assert.Equal(t, Info{Name: "y", Size: 11}, st)
	list, err := ReadDir(ctx, "double://a")
	require.NoError(t, err)
	assert.Equal(t, []Info{{Name: "x 1#", Size: 4}}, list)
	for _, err := range []error{
		func() error { _, err := Open(ctx, "none://a"); return err }(),
		func() error { _, err := Stat(ctx, "none://a"); return err }(),
		func() error { _, err := ReadDir(ctx, "none://a"); return err }(),
		func() error { _, err := ReadNames(ctx, "none://a", 1); return err }(),
		func() error { _, err := ReadFile(ctx, "none://a"); return err }(),
	} {
		assert.ErrorIs(t, err, errors.ErrUnsupported)
		assert.ErrorContains(t, err, "got scheme none://, want a path, or file://, double://")
	}
}

func TestLocalFilesAreReadWithAndWithoutAScheme(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	path := filepath.Join(dir, "a b#.txt")
	filetest.Write(t, path, "content")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub"), 0o700))
	for _, name := range []string{path, "file://" + path} {
		b, err := ReadFile(ctx, name)
		require.NoError(t, err)
		assert.Equal(t, "content", string(b))
		f, err := Open(ctx, name)
		require.NoError(t, err)
		assert.EqualValues(t, 7, f.Size())
		b, err = io.ReadAll(Reader(Bound(ctx, f)))
		require.NoError(t, err)
		assert.Equal(t, "content", string(b))
		require.NoError(t, f.Close())
		st, err := Stat(ctx, name)
		require.NoError(t, err)
		assert.True(t, st.IsRegular())
	}
	list, err := ReadDir(ctx, "file://"+dir)
	require.NoError(t, err)
	require.Len(t, list, 2)
	assert.Equal(t, "a b#.txt", list[0].Name)
	assert.EqualValues(t, 7, list[0].Size)
	assert.True(t, list[1].IsDir())
	_, err = Open(ctx, filepath.Join(dir, "none"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = Open(ctx, dir)
	assert.ErrorContains(t, err, "is a folder")
}

func TestNamesOfAFolderStopWhereTheyAreAskedTo(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	for _, name := range []string{"c", "a", "b"} {
		filetest.Write(t, filepath.Join(dir, name), "")
	}
	all, err := ReadNames(ctx, dir, -1)
	require.NoError(t, err)
	assert.Equal(t, []Info{{Name: "a"}, {Name: "b"}, {Name: "c"}}, all)
	for most := range 5 {
		some, err := ReadNames(ctx, dir, most)
		require.NoError(t, err)
		assert.Len(t, some, min(most, 3))
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = ReadNames(ended, dir, -1)
	assert.ErrorIs(t, err, context.Canceled)
}

func TestLinksAreFollowedByReadDirAndNotByReadNames(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // where links need a right
	}
	ctx, dir := context.Background(), t.TempDir()
	filetest.Write(t, filepath.Join(dir, "file"), "abc")
	require.NoError(t, os.Symlink("file", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink("gone", filepath.Join(dir, "to nothing")))
	list, err := ReadDir(ctx, dir)
	require.NoError(t, err)
	assert.True(t, list[1].IsRegular())
	assert.EqualValues(t, 3, list[1].Size)
	assert.Equal(t, fs.ModeSymlink, list[2].Mode.Type())
	list, err = ReadNames(ctx, dir, -1)
	require.NoError(t, err)
	assert.Equal(t, fs.ModeSymlink, list[1].Mode.Type())
	var there Listing
	for name, want := range map[string]bool{"file": true, "link": true, "to nothing": false, "none": false, "no folder/a": false} {
		assert.Equal(t, want, there.Has(ctx, filepath.Join(dir, name)), name)
	}
	assert.True(t, there.Has(ctx, "double://a/b/y"))
}

func TestABoundFileEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	f, err := Open(ctx, "double://a/b/y")
	require.NoError(t, err)
	r := Reader(Bound(ctx, f))
	first := make([]byte, 6)
	_, err = io.ReadFull(r, first)
	require.NoError(t, err)
	assert.Equal(t, "longer", string(first))
	cancel()
	_, err = io.ReadAll(r)
	assert.ErrorIs(t, err, context.Canceled)
	_, err = f.ReadAt(first, 0)
	assert.NoError(t, err, "the file itself does not")
}

func TestNamesOfURLsAreJoinedAsTheyAre(t *testing.T) {
	for _, c := range []struct{ name, elem, want string }{
		{"s3://b", "x", "s3://b/x"}, {"s3://b/", "x", "s3://b/x"}, {"s3://b/a", "x/y", "s3://b/a/x/y"}, {"s3://b/a//c", "x", "s3://b/a//c/x"},
		{"s3://b/a", "../x", "s3://b/x"}, {"s3://b/a", ".", "s3://b/a"}, {"s3://b", "..", "s3://b"}, {"s3://b/a b#?%20", "c d", "s3://b/a b#?%20/c d"},
	} {
		assert.Equal(t, c.want, Join(c.name, c.elem))
	}
	assert.Equal(t, filepath.Join("a", "b", "c"), Join("a", "b", "c"))
	assert.Equal(t, filepath.Join("a", "b"), Join("file://a", "b"))
	for name, want := range map[string][2]string{"s3://b/a/x": {"s3://b/a", "x"}, "s3://b/a/x/": {"s3://b/a", "x"}, "s3://b": {"s3://b", "b"}, "s3://b/x": {"s3://b", "x"}} {
		assert.Equal(t, want, [2]string{Dir(name), Base(name)})
	}
	at, err := Abs("s3://b/a")
	require.NoError(t, err)
	assert.Equal(t, "s3://b/a", at)
	at, err = Abs("a")
	require.NoError(t, err)
	assert.True(t, filepath.IsAbs(at))
}
