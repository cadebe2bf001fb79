package fault

import (
	"io/fs"
	"sync/atomic"
)

var inject atomic.Pointer[func(op, path string) error]

// Inject passes each call in the process to do, which returns the call's error or nil, until restore. Any goroutine may call do.
func Inject(do func(op, path string) error) (restore func()) {
	before := inject.Swap(&do)
	return func() { inject.Store(before) }
}

// Check returns the error of a call before it is made: nil, except in tests. op is open, stat, list, read, create, write, sync or rename.
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
