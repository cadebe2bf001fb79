package mapped

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"runtime/debug"
	"sync"

	"github.com/robocache/robocache/internal/raw"
)

// ErrShrunk means that a file has become shorter after it was mapped.
var ErrShrunk = errors.New("the file was cut short while it was mapped")

// File is a file that is mapped into memory for reading.
type File struct {
	file *os.File
	data []byte

	mu     sync.Mutex
	idle   sync.Cond // waits for readers to be 0
	guards int
	closed bool
}

// Open maps the first size bytes of an open file. The result owns the file, but after an error the caller still does. If the system
// cannot map files, or the address space is too small, the error is errors.ErrUnsupported.
func Open(file *os.File, size int64) (*File, error) {
	f := &File{file: file}
	f.idle.L = &f.mu
	var err error
	switch {
	case size > math.MaxInt:
		err = fmt.Errorf("%d bytes: %w", size, errors.ErrUnsupported)
	case size > 0: // an empty file cannot be mapped
		f.data, err = mapFile(file, int(size))
	}
	if err != nil {
		return nil, &fs.PathError{Op: "map", Path: file.Name(), Err: err}
	}
	return f, nil
}

// Bytes returns the mapped memory. Read it inside Guard only, do not write it, and do not keep it after Close.
func (f *File) Bytes() []byte { return f.data }

// Whole returns nil if the file still has all mapped bytes, ErrShrunk if it is shorter, and fs.ErrClosed after Close.
func (f *File) Whole() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return fs.ErrClosed
	}
	st, err := f.file.Stat()
	if err != nil {
		return err
	}
	if st.Size() < int64(len(f.data)) {
		return fmt.Errorf("%w: got %d bytes, want %d", ErrShrunk, st.Size(), len(f.data))
	}
	return nil
}

// Guard calls do, which may read the memory in this goroutine, and returns its error. If do reads a part that the file no longer has, the
// error is ErrShrunk, and do has ended as by a panic, so that only its deferred calls run. Close waits for Guard, so do must not call
// Close. After Close the error is fs.ErrClosed, and do is not called. Guards may be nested.
func (f *File) Guard(do func() error) (err error) {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return fs.ErrClosed
	}
	f.guards++
	f.mu.Unlock()
	before := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(before)
		p := recover()
		fault, ok := p.(interface{ Addr() uintptr })
		ok = ok && raw.Holds(f.data, fault.Addr())
		f.mu.Lock()
		if f.guards--; f.guards == 0 {
			f.idle.Broadcast()
		}
		f.mu.Unlock()
		switch {
		case ok:
			err = ErrShrunk
		case p != nil:
			panic(p)
		}
	}()
	return do()
}

// Close waits until no Guard is running, unmaps the memory and closes the file. New Guards fail meanwhile. Close twice is fine.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.closed = true; f.guards > 0; {
		f.idle.Wait()
	}
	if f.file == nil {
		return nil
	}
	err := errors.Join(unmap(f.data), f.file.Close())
	f.data, f.file = nil, nil
	return err
}
