package fault

import (
	"errors"
	"io/fs"
	"slices"
	"sync/atomic"
	"syscall"
)

var inject atomic.Pointer[func(op, path string) error]

// Inject passes each call in the process to do, which returns the call's error or nil, until restore. Any goroutine may call do.
func Inject(do func(op, path string) error) (restore func()) {
	before := inject.Swap(&do)
	return func() { inject.Store(before) }
}

// Check returns the error of a call before it is made: nil, except in tests. op is open, stat, list, read, create, write, sync, rename, lock or start.
func Check(op, path string) error {
	if do := inject.Load(); do != nil {
		return (*do)(op, path)
	}
	return nil
}

// Call makes a call, unless a test has an error for it.
func Call[T any](op, path string, do func() (T, error)) (T, error) {
	if err := Check(op, path); err != nil {
		var none T
		return none, &fs.PathError{Op: op, Path: path, Err: err}
	}
	return do()
}

// ofNames are system errors that a wrong name causes.
var ofNames = []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.EISDIR, syscall.ENAMETOOLONG, syscall.ELOOP, syscall.EINVAL}

// Failed reports whether the system failed in a call: no free descriptor, a failing disk, a missing permission. A wrong name is no such error, so that
// the file may be taken for absent.
func Failed(err error) bool {
	var code syscall.Errno
	return errors.As(err, &code) && !slices.ContainsFunc(ofNames, func(name error) bool { return errors.Is(code, name) })
}
