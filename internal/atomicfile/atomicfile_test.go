package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func names(t *testing.T, dir string) []string {
	list, err := os.ReadDir(dir)
	require.NoError(t, err)
	out := []string{}
	for _, e := range list {
		out = append(out, e.Name())
	}
	return out
}

func TestTheNameHoldsTheOldContentUntilCommit(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.npz")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	f, err := create(path)
	require.NoError(t, err)
	_, err = f.Write([]byte("new"))
	require.NoError(t, err)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "old", string(got))
	require.NoError(t, f.Commit())
	got, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "new", string(got))
	assert.Equal(t, []string{"out.npz"}, names(t, dir))
	assert.NoError(t, f.Close(), "close after commit is fine")
	assert.ErrorIs(t, f.Commit(), fs.ErrClosed)
	_, err = f.Write([]byte("more"))
	assert.ErrorIs(t, err, fs.ErrClosed)
}

func TestCloseWithoutCommitLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	f, err := create(filepath.Join(dir, "out"))
	require.NoError(t, err)
	assert.Len(t, names(t, dir), 1)
	require.NoError(t, f.Close())
	require.NoError(t, f.Close())
	assert.Empty(t, names(t, dir))
}

func TestWriteFileKeepsTheOldFileWhenFillFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	require.NoError(t, WriteFile(path, func(w io.Writer) error {
		_, err := io.WriteString(w, "first")
		return err
	}))
	broken := errors.New("broken")
	err := WriteFile(path, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half of the sec")
		return broken
	})
	assert.ErrorIs(t, err, broken)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "first", string(got))
	assert.Equal(t, []string{"out"}, names(t, dir))
}

func TestAMissingFolderOrAFolderOfThatNameIsAnError(t *testing.T) {
	dir := t.TempDir()
	_, err := create(filepath.Join(dir, "none", "out"))
	assert.ErrorIs(t, err, fs.ErrNotExist)
	_, err = create(dir)
	var path *fs.PathError
	assert.ErrorAs(t, err, &path)
	assert.Error(t, WriteFile(dir, func(io.Writer) error { return nil }))
}

func TestACommitThatFailsLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	f, err := create(path)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(path, "now a folder"), 0o700))
	assert.Error(t, f.Commit())
	assert.Equal(t, []string{"out"}, names(t, dir))
}

func TestPermissionsAreThoseOfAnOrdinaryFile(t *testing.T) {
	dir := t.TempDir()
	plain, err := os.Create(filepath.Join(dir, "plain"))
	require.NoError(t, err)
	require.NoError(t, plain.Close())
	require.NoError(t, WriteFile(filepath.Join(dir, "ours"), func(io.Writer) error { return nil }))
	a, err := os.Stat(plain.Name())
	require.NoError(t, err)
	b, err := os.Stat(filepath.Join(dir, "ours"))
	require.NoError(t, err)
	assert.Equal(t, a.Mode(), b.Mode())
}
