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

// ErrShrunk is a file that has become shorter than it was when it was mapped.
var ErrShrunk = errors.New("the file was cut short while it was mapped")

// File is a file as memory, which may only be read.
type File struct {
	file *os.File
	data []byte

	mu     sync.Mutex
	idle   sync.Cond // waits for readers to be 0
	guards int
	closed bool
}

// Open maps the first size bytes of an open file, which it owns from then on unless that fails. A system that has no such thing, and a file that its
// address space does not hold, are errors.ErrUnsupported.
func Open(file *os.File, size int64) (*File, error) {
	f := &File{file: file}
	f.idle.L = &f.mu
	var err error
	switch {
	case size > math.MaxInt:
		err = fmt.Errorf("%d bytes: %w", size, errors.ErrUnsupported)
	case size > 0: // nothing cannot be mapped
		f.data, err = mapFile(file, int(size))
	}
	if err != nil {
		return nil, &fs.PathError{Op: "map", Path: file.Name(), Err: err}
	}
	return f, nil
}

// Bytes returns the memory: to be read in Guard, never written, and not to be kept.
func (f *File) Bytes() []byte { return f.data }

// Whole returns ErrShrunk if the file is shorter than what was mapped of it, and fs.ErrClosed after Close.
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

// Guard calls do, which may read the memory in this goroutine, and returns its error, or ErrShrunk if it came to where the file is no more. Then do
// was left as by a panic: what it had begun is to be undone by its deferred calls. Close waits for it, so do must not call that. After Close it returns
// fs.ErrClosed, and does nothing. Guards may be nested.
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

// Close unmaps the memory and closes the file, when no Guard is running any more; none begins meanwhile. Close twice is fine.
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
