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
