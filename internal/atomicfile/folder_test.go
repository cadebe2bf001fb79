package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

func put(t *testing.T, f *Folder, text string) {
	require.NoError(t, os.MkdirAll(filepath.Join(f.Path(), "deep"), 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(f.Path(), "deep", "file"), []byte(text), 0o666))
}

func TestAFolderHasItsNameWhenItIsWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "set")
	f, err := NewFolder(path+"/", false)
	require.NoError(t, err)
	put(t, f, "first")
	assert.NoDirExists(t, path)
	require.NoError(t, f.Commit())
	require.NoError(t, f.Close())
	assert.Equal(t, "first", content(t, filepath.Join(path, "deep", "file")))
	assert.Equal(t, []string{"set"}, names(t, dir))
}

func TestAFolderThatIsGivenUpLeavesNothing(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	dir := t.TempDir()
	f, err := NewFolder(filepath.Join(dir, "set"), false)
	require.NoError(t, err)
	put(t, f, "half")
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	assert.Empty(t, names(t, dir))
}

func TestAFolderThatIsThereIsReplacedOnlyIfAsked(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "set")
	require.NoError(t, os.Mkdir(path, 0o777))
	_, err := NewFolder(path, false)
	require.ErrorIs(t, err, fs.ErrExist)
	assert.Equal(t, []string{"set"}, names(t, dir))

	late, err := NewFolder(filepath.Join(dir, "late"), false)
	require.NoError(t, err)
	put(t, late, "late")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "late"), 0o777))
	assert.ErrorIs(t, late.Commit(), fs.ErrExist, "the name was taken meanwhile")
	require.NoError(t, late.Close())

	for _, text := range []string{"first", "second"} {
		f, err := NewFolder(path, true)
		require.NoError(t, err)
		put(t, f, text)
		require.NoError(t, f.Commit())
		assert.Equal(t, text, content(t, filepath.Join(path, "deep", "file")))
	}
	assert.Equal(t, []string{"late", "set"}, names(t, dir))

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, []byte("kept"), 0o666))
	_, err = NewFolder(file, true)
	assert.ErrorContains(t, err, "is no folder")
	_, err = NewFolder(filepath.Join(dir, "none", "set"), true)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	var p *fs.PathError
	require.ErrorAs(t, err, &p)
	assert.Equal(t, filepath.Join(dir, "none", "set"), p.Path)
}

func TestAFolderKeepsThePermissionsOfTheOldOne(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // permissions are others there
	}
	path := filepath.Join(t.TempDir(), "set")
	for _, mode := range []fs.FileMode{0o700, 0o750} {
		require.NoError(t, os.MkdirAll(path, 0o777))
		require.NoError(t, os.Chmod(path, mode))
		f, err := NewFolder(path, true)
		require.NoError(t, err)
		st, err := os.Stat(f.Path())
		require.NoError(t, err)
		assert.Zero(t, st.Mode()&0o077, "while it is written it is nobody else's")
		put(t, f, "new")
		require.NoError(t, f.Commit())
		st, err = os.Stat(path)
		require.NoError(t, err)
		assert.Equal(t, mode, st.Mode().Perm())
		require.NoError(t, os.Chmod(path, 0o700))
	}
}

func TestALinkToAFolderStaysOne(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "far"), 0o777))
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink("far", link))
	f, err := NewFolder(link, true)
	require.NoError(t, err)
	put(t, f, "through")
	require.NoError(t, f.Commit())
	st, err := os.Lstat(link)
	require.NoError(t, err)
	assert.NotZero(t, st.Mode()&fs.ModeSymlink)
	assert.Equal(t, "through", content(t, filepath.Join(dir, "far", "deep", "file")))
}

// TestAbandonRemovesAFolder runs itself as the program that ends in the midst of one.
func TestAbandonRemovesAFolder(t *testing.T) {
	dir := os.Getenv("ATOMICFILE_ABANDON_FOLDER_IN")
	if dir == "" {
		dir = t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^TestAbandonRemovesAFolder$")
		cmd.Env = append(os.Environ(), "ATOMICFILE_ABANDON_FOLDER_IN="+dir)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		assert.Equal(t, []string{"seen"}, names(t, dir))
		return
	}
	f, err := NewFolder(filepath.Join(dir, "set"), false)
	require.NoError(t, err)
	put(t, f, "half")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "seen"), nil, 0o600))
	Abandon()
	os.Exit(0)
}

func TestAFolderThatCannotBeNamedKeepsTheOld(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "set")
	require.NoError(t, os.Mkdir(path, 0o777))
	f, err := NewFolder(path, true)
	require.NoError(t, err)
	require.NoError(t, os.Remove(f.Path()))
	err = f.Commit()
	assert.True(t, errors.Is(err, fs.ErrNotExist), "%v", err)
	assert.DirExists(t, path)
	require.Error(t, f.rename(), "as if it went just before it was to be named")
	assert.Equal(t, []string{"set"}, names(t, dir))
}
