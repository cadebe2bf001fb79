package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
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

func content(t *testing.T, path string) string {
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(got)
}

func text(s string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := io.WriteString(w, s)
		return err
	}
}

func TestTheNameHoldsTheOldContentUntilAllIsWritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out.npz")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	require.NoError(t, WriteFile(path, func(w io.Writer) error {
		_, err := io.WriteString(w, "new")
		require.NoError(t, err)
		assert.Equal(t, "old", content(t, path))
		return nil
	}))
	assert.Equal(t, "new", content(t, path))
	assert.Equal(t, []string{"out.npz"}, names(t, dir))
}

func TestAFillThatFailsKeepsTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	require.NoError(t, WriteFile(path, text("first")))
	broken := errors.New("broken")
	err := WriteFile(path, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half of the sec")
		return broken
	})
	assert.ErrorIs(t, err, broken)
	assert.Equal(t, "first", content(t, path))
	assert.Equal(t, []string{"out"}, names(t, dir))
}

func TestFilesThatBelongTogetherAreAllThereOrNone(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	broken := errors.New("broken")
	err := WriteFiles(nil, Output{a, text("a")}, Output{b, func(io.Writer) error { return broken }})
	assert.ErrorIs(t, err, broken)
	assert.Empty(t, names(t, dir))
	err = WriteFiles(func() error { return broken }, Output{a, text("a")}, Output{b, text("b")})
	assert.ErrorIs(t, err, broken)
	assert.Empty(t, names(t, dir), "what comes last fails: as if nothing had been")
	require.NoError(t, WriteFiles(func() error { return nil }, Output{a, text("a")}, Output{b, text("b")}))
	assert.Equal(t, []string{"a", "b"}, names(t, dir))
}

// spoil changes the file that is being written for a name, as a disk or another program could.
func spoil(t *testing.T, path string, change func(*os.File) error) {
	list, err := filepath.Glob(filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".*.tmp"))
	require.NoError(t, err)
	require.Len(t, list, 1)
	f, err := os.OpenFile(list[0], os.O_RDWR, 0)
	require.NoError(t, err)
	require.NoError(t, errors.Join(change(f), f.Close()))
}

func TestWhatIsNotWhatWasWrittenGetsNoName(t *testing.T) {
	long := strings.Repeat("content ", 1<<16) // more than is read at a time
	for name, change := range map[string]func(*os.File) error{
		"the first byte": func(f *os.File) error { _, err := f.WriteAt([]byte("C"), 0); return err },
		"the last byte":  func(f *os.File) error { _, err := f.WriteAt([]byte("."), int64(len(long))-1); return err },
		"cut":            func(f *os.File) error { return f.Truncate(int64(len(long)) - 1) },
		"empty":          func(f *os.File) error { return f.Truncate(0) },
		"longer":         func(f *os.File) error { return f.Truncate(int64(len(long)) + 1) },
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "out")
		require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
		err := WriteFiles(nil, Output{filepath.Join(dir, "first"), text("whole")}, Output{path, func(w io.Writer) error {
			_, err := io.WriteString(w, long)
			spoil(t, path, change)
			return err
		}})
		require.ErrorIs(t, err, ErrReadBack, name)
		var p *fs.PathError
		require.ErrorAs(t, err, &p, name)
		assert.Equal(t, path, p.Path, "%s: not the file beside it", name)
		assert.Equal(t, []string{"out"}, names(t, dir), "%s: neither it nor what goes with it", name)
		assert.Equal(t, "old", content(t, path), name)
	}
}

func TestALinkIsWrittenThrough(t *testing.T) {
	dir := t.TempDir()
	far := filepath.Join(dir, "far")
	require.NoError(t, os.Mkdir(far, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(far, "target"), []byte("old"), 0o600))
	for link, to := range map[string]string{"there": "far/target", "dangling": filepath.Join(far, "new"), "twice": "there"} {
		path := filepath.Join(dir, link)
		require.NoError(t, os.Symlink(to, path))
	}
	for link, target := range map[string]string{"there": "target", "dangling": "new", "twice": "target"} {
		require.NoError(t, WriteFile(filepath.Join(dir, link), text("by "+link)))
		st, err := os.Lstat(filepath.Join(dir, link))
		require.NoError(t, err)
		assert.NotZero(t, st.Mode()&fs.ModeSymlink, "%s is still a link", link)
		assert.Equal(t, "by "+link, content(t, filepath.Join(far, target)))
	}
	assert.Equal(t, []string{"new", "target"}, names(t, far))

	circle := filepath.Join(dir, "circle")
	require.NoError(t, os.Symlink("circle", circle))
	assert.ErrorContains(t, WriteFile(circle, text("")), "too many links")
}

func TestAnUnwritableNameIsFoundBefore(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{filepath.Join(dir, "none", "out"), dir, os.DevNull} {
		before := names(t, dir)
		err := Check(path)
		var p *fs.PathError
		require.ErrorAs(t, err, &p, path)
		assert.Equal(t, path, p.Path, "not the file beside it")
		assert.EqualError(t, WriteFile(path, text("")), err.Error())
		assert.Equal(t, before, names(t, dir))
	}
	require.NoError(t, Check(filepath.Join(dir, "good")))
	assert.Empty(t, names(t, dir))
}

func TestANameThatCannotBeGivenLeavesNothing(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	dir := t.TempDir()
	path := filepath.Join(dir, "out")
	err := WriteFile(path, func(io.Writer) error { return os.MkdirAll(filepath.Join(path, "now a folder"), 0o700) })
	var p *fs.PathError
	require.ErrorAs(t, err, &p)
	assert.Equal(t, path, p.Path)
	assert.Equal(t, []string{"out"}, names(t, dir))
}

func TestPermissionsAreThoseOfTheFileThatWasThere(t *testing.T) {
	path := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(path, nil, 0o600))
	require.NoError(t, WriteFile(path, text("new")))
	st, err := os.Stat(path)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o600), st.Mode().Perm())
}

func TestPermissionsAreThoseOfAnOrdinaryFile(t *testing.T) {
	dir := t.TempDir()
	plain, err := os.Create(filepath.Join(dir, "plain"))
	require.NoError(t, err)
	require.NoError(t, plain.Close())
	require.NoError(t, WriteFile(filepath.Join(dir, "ours"), text("")))
	a, err := os.Stat(plain.Name())
	require.NoError(t, err)
	b, err := os.Stat(filepath.Join(dir, "ours"))
	require.NoError(t, err)
	assert.Equal(t, a.Mode(), b.Mode())
}

// TestAbandonLeavesNothing runs itself as the program that ends in the midst of two files.
func TestAbandonLeavesNothing(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	dir := os.Getenv("ATOMICFILE_ABANDON_IN")
	if dir == "" {
		dir = t.TempDir()
		cmd := exec.Command(os.Args[0], "-test.run=^TestAbandonLeavesNothing$")
		cmd.Env = append(os.Environ(), "ATOMICFILE_ABANDON_IN="+dir)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		assert.Equal(t, []string{"kept", "seen"}, names(t, dir))
		assert.Equal(t, []string{"file"}, names(t, filepath.Join(dir, "kept")))
		return
	}
	scratch := filepath.Join(dir, "scratch")
	Temporary(scratch)
	require.NoError(t, os.MkdirAll(filepath.Join(scratch, "deep"), 0o700))
	require.NoError(t, MkdirAll(filepath.Join(dir, "empty", "deep")))
	require.NoError(t, MkdirAll(filepath.Join(dir, "kept", "deep")))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "kept", "file"), nil, 0o600))
	_ = WriteFiles(nil, Output{filepath.Join(dir, "a"), text("a")}, Output{filepath.Join(dir, "b"), func(io.Writer) error {
		require.Len(t, names(t, dir), 5)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "seen"), nil, 0o600))
		Abandon()
		os.Exit(0)
		return nil
	}})
}
