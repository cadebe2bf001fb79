package atomicfile

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/robocache/robocache/internal/fault"
)

// Scratch is a temporary file for data that belongs in an output later and does not fit in memory. It lies next to the output, on the
// disk that needs the space anyway, and disappears when it is closed. If the system allows it, the open file has no name. One goroutine
// may use it at a time.
type Scratch struct {
	f       *os.File
	path    string // the output's path, for errors
	size    int64
	release func()
}

// Part locates the bytes from one call of Append.
type Part struct {
	at, size int64
	sum      uint32 // CRC-32C
}

// NewScratch creates a scratch file for the output at path. Its errors, and those from Append, are an *fs.PathError with this path.
func NewScratch(path string) (*Scratch, error) {
	target, err := Follow(path)
	if err != nil {
		return nil, named(path, err)
	}
	sweepBeside(target)
	f, release, err := createBeside(target, 0o600)
	if err != nil {
		return nil, named(path, err)
	}
	s := &Scratch{f: f, path: path, release: release}
	if os.Remove(f.Name()) == nil {
		s.release()
		s.release = nil
	}
	return s, nil
}

// Append appends fill's output.
func (s *Scratch) Append(fill func(io.Writer) error) (Part, error) {
	p := &Part{at: s.size}
	err := fill(writer(func(b []byte) (int, error) {
		n, err := fault.Call("write", s.path, func() (int, error) { return s.f.Write(b) })
		p.sum, p.size = crc32.Update(p.sum, sums, b[:n]), p.size+int64(n)
		if err != nil {
			err = named(s.path, err)
		}
		return n, err
	}))
	s.size += p.size
	return *p, err
}

// ReadAt reads appended bytes. Any goroutine may call it if none appends.
func (s *Scratch) ReadAt(b []byte, at int64) (int, error) {
	n, err := s.f.ReadAt(b, at)
	if err != nil && err != io.EOF {
		err = named(s.path, err)
	}
	return n, err
}

// Size returns how many bytes Append has written.
func (s *Scratch) Size() int64 { return s.size }

// CopyTo writes a part to w. If the bytes changed since Append, the error is ErrReadBack.
func (s *Scratch) CopyTo(w io.Writer, p Part) error {
	buf := make([]byte, min(p.size, 1<<18))
	sum := uint32(0)
	for at := p.at; at < p.at+p.size; {
		n, err := s.f.ReadAt(buf[:min(int64(len(buf)), p.at+p.size-at)], at)
		if err != nil && err != io.EOF {
			return named(s.path, err)
		}
		if n == 0 {
			break // the file was truncated
		}
		sum, at = crc32.Update(sum, sums, buf[:n]), at+int64(n)
		if _, err := w.Write(buf[:n]); err != nil {
			return err
		}
	}
	if sum != p.sum {
		return named(s.path, fmt.Errorf("%w: got CRC-32C %08x, want %08x", ErrReadBack, sum, p.sum))
	}
	return nil
}

// Close removes the file. Close twice is fine.
func (s *Scratch) Close() error {
	if s.f == nil {
		return nil
	}
	err := s.f.Close()
	if s.release != nil {
		err = errors.Join(err, os.Remove(s.f.Name()))
		s.release()
	}
	s.f = nil
	return err
}

// writer adapts a function to io.Writer.
type writer func([]byte) (int, error)

func (w writer) Write(b []byte) (int, error) { return w(b) }
