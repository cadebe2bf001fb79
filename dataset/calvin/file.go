package calvin

import (
	"errors"
	"io"
	"os"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
)

// frameFile is an open frame.
type frameFile struct {
	*npz.File
	path string
	file *os.File
}

// openFrame opens a frame's file. Its errors, too, name it.
func openFrame(path string) (*frameFile, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	if err == nil && !st.Mode().IsRegular() {
		err = formatError(dataset.ErrCorrupt, path, "frame", "no regular file", "one")
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	z, err := npz.NewReader(&ends{f: f, size: st.Size()}, st.Size())
	if err != nil {
		f.Close()
		return nil, named(err, path)
	}
	return &frameFile{z, path, f}, nil
}

func (f *frameFile) close() { f.file.Close() }

// named puts a file's path before what an error has of a member.
func named(err error, path string) error {
	var bad *dataset.FormatError
	if errors.As(err, &bad) {
		if bad.Path != "" {
			path += ":" + bad.Path
		}
		bad.Path = path
	}
	return err
}

// window is how much of a file's beginning and end is read at once: the arrays of numbers, which CALVIN writes first, and the archive's directory.
const window = 4096

// ends reads a file. It keeps its two ends, of which zip reads many small pieces.
type ends struct {
	f          *os.File
	size       int64
	head, tail []byte
}

func (e *ends) ReadAt(p []byte, at int64) (int, error) {
	switch end := at + int64(len(p)); {
	case at < 0 || end > e.size:
	case end <= window:
		return from(&e.head, e.f, 0, min(window, e.size), p, at)
	case at >= e.size-window:
		return from(&e.tail, e.f, e.size-window, window, p, at)
	}
	return e.f.ReadAt(p, at)
}

// from copies a piece of a part of the file, which is read the first time.
func from(part *[]byte, f *os.File, begin, size int64, p []byte, at int64) (int, error) {
	if *part == nil {
		b := make([]byte, size)
		if n, err := f.ReadAt(b, begin); n < len(b) {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return 0, err
		}
		*part = b
	}
	return copy(p, (*part)[at-begin:]), nil
}
