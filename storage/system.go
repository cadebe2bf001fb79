package storage

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/robocache/robocache/internal/errs"
	"github.com/robocache/robocache/internal/fault"
)

// ErrSystem is an error in a store or in the connection to it, in contrast to damaged data. The errors from a [Store] wrap it.
var ErrSystem = errors.New("error of the system")

// IsSystem reports whether the system or the network caused an error, so that a later try may succeed. Examples: no free
// descriptor, a failing disk, a missing permission, a timeout, an object store that does not answer. Missing files and damaged data
// are not system errors.
func IsSystem(err error) bool {
	for _, kind := range []error{ErrSystem, fs.ErrPermission, os.ErrDeadlineExceeded, context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return fault.Failed(err)
}

// Watch keeps the first system error that this package meets at a file, or below a folder. So no reader can hide it by skipping
// data, or by reporting a failing disk as a damaged file.
type Watch struct {
	name string
	err  error // guarded by watches
}

var watches struct {
	sync.Mutex
	list []*Watch
}

// NewWatch starts a watch at a file, or at a folder and everything below it. The caller calls Stop.
func NewWatch(name string) *Watch {
	w := &Watch{name: name}
	watches.Lock()
	defer watches.Unlock()
	watches.list = append(watches.list, w)
	return w
}

// Stop ends the watch and returns the error, or nil.
func (w *Watch) Stop() error {
	watches.Lock()
	defer watches.Unlock()
	watches.list = slices.DeleteFunc(watches.list, func(o *Watch) bool { return o == w })
	return w.err
}

// observed returns a call's error. If it is a system error, the watches on the name record it, unless it is only the end of the context.
func observed(name string, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || !IsSystem(err) {
		return err
	}
	name = absolute(name)
	watches.Lock()
	defer watches.Unlock()
	for _, w := range watches.list {
		if w.err == nil && within(name, absolute(w.name)) {
			w.err = err
		}
	}
	return err
}

// within reports whether a name is top or lies below it.
func within(name, top string) bool {
	rest, is := strings.CutPrefix(name, strings.TrimRightFunc(top, func(r rune) bool { return r == '/' || r == filepath.Separator }))
	return is && (rest == "" || os.IsPathSeparator(rest[0]))
}

func absolute(name string) string {
	if at, err := Abs(name); err == nil {
		return at
	}
	return name
}

// call makes a call at a name and reports its error to the watches.
func call[T any](op, name string, do func() (T, error)) (T, error) {
	x, err := fault.Call(op, name, do)
	return x, observed(name, err)
}

// LocalFile is a File on this machine.
type LocalFile struct {
	File *os.File
	size int64
}

// openLocal opens a regular file. It returns a *NotFileError for a pipe, because opening one waits for the other end, and for a device,
// because opening one may have any effect.
func openLocal(path string) (File, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: &NotFileError{st.Mode()}}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if st, err = file.Stat(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &LocalFile{file, st.Size()}, nil
}

// NotFileError reports a name that is not a regular file. It is dataset.ErrUnsupported.
type NotFileError struct{ Mode fs.FileMode }

func (e *NotFileError) Error() string {
	if e.Mode.IsDir() {
		return "is a folder, want a regular file"
	}
	return "is a pipe or device, which can be read once only: want a file"
}

// Unwrap returns dataset.ErrUnsupported.
func (e *NotFileError) Unwrap() error { return errs.Unsupported }

// Size returns the file size at the time of opening, bytes.
func (f *LocalFile) Size() int64 { return f.size }

// Close closes the file.
func (f *LocalFile) Close() error { return f.File.Close() }

// ReadAt is [os.File.ReadAt].
func (f *LocalFile) ReadAt(b []byte, off int64) (int, error) {
	return call("read", f.File.Name(), func() (int, error) { return f.File.ReadAt(b, off) })
}

// remote is a File of a store.
type remote struct {
	File
	name string
}

func (r *remote) ReadAt(b []byte, off int64) (int, error) {
	return call("read", r.name, func() (int, error) { return r.File.ReadAt(b, off) })
}

func (r *remote) ReadAtContext(ctx context.Context, b []byte, off int64) (int, error) {
	f, is := r.File.(ContextReaderAt)
	if !is {
		return r.ReadAt(b, off)
	}
	return call("read", r.name, func() (int, error) { return f.ReadAtContext(ctx, b, off) })
}
