package storage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/internal/test/filetest"
)

func TestErrorsOfTheSystemAreNoneOfTheData(t *testing.T) {
	for _, err := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EIO, syscall.EACCES, syscall.EPERM, syscall.ENOSPC, syscall.ENOMEM, syscall.ETIMEDOUT,
		syscall.ECONNRESET, syscall.ECONNREFUSED, ErrSystem, context.DeadlineExceeded, context.Canceled} {
		assert.True(t, IsSystem(fmt.Errorf("reading: %w", &fs.PathError{Op: "open", Path: "a", Err: err})), err)
	}
	for _, err := range []error{nil, syscall.ENOENT, syscall.ENOTDIR, syscall.EISDIR, syscall.ELOOP, syscall.ENAMETOOLONG, fs.ErrNotExist, io.ErrUnexpectedEOF, errors.New("broken")} {
		assert.False(t, IsSystem(err), err)
	}
}

func TestAWatchKeepsTheFirstErrorBelowItsName(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	for _, name := range []string{"a", "b"} {
		filetest.Write(t, filepath.Join(dir, name), "text")
	}
	defer fault.Inject(func(op, path string) error {
		if op == "read" {
			return syscall.EIO
		}
		return nil
	})()
	whole, one, file := NewWatch(dir), NewWatch(filepath.Join(dir, "b")), NewWatch("file://"+dir)
	_, err := Open(ctx, filepath.Join(dir, "none"))
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = ReadFile(ctx, filepath.Join(dir, "a"))
	require.ErrorIs(t, err, syscall.EIO)
	assert.ErrorIs(t, whole.Stop(), syscall.EIO)
	assert.ErrorIs(t, file.Stop(), syscall.EIO)
	assert.NoError(t, one.Stop())
	assert.Empty(t, watches.list)
}

func TestAWatchEndsAtTheBoundsOfAName(t *testing.T) {
	for _, c := range []struct {
		name, top string
		is        bool
	}{
		{"/d/a", "/d/a", true}, {"/d/a/b", "/d/a", true}, {"/d/ab", "/d/a", false}, {"/d/ab/c", "/d/a", false}, {"/d", "/d/a", false}, {"/d/a", "/", true},
		{"s3://b/a/x", "s3://b/a/", true}, {"s3://b/ab", "s3://b/a", false},
	} {
		assert.Equal(t, c.is, within(c.name, c.top), c)
	}
	dir := t.TempDir()
	filetest.Write(t, filepath.Join(dir, "ab"), "text")
	beside := NewWatch(filepath.Join(dir, "a"))
	restore := fault.Inject(func(string, string) error { return syscall.EIO })
	_, err := ReadFile(t.Context(), filepath.Join(dir, "ab"))
	restore()
	require.ErrorIs(t, err, syscall.EIO)
	assert.NoError(t, beside.Stop())
}
