package ulog

import (
	"errors"
	"io"

	"github.com/robocache/robocache/dataset"
)

// A window holds windowSize bytes of a file, from windowBack before the requested one, because a parser that looks ahead also goes
// back. It goes back by at most 25 messages of 64 KiB: 12 messages, 12 more that are tried inside each of these, and one.
const (
	windowSize = 8 << 20
	windowBack = 2 << 20
)

// window is a file with a part in memory. Bytes that it returned do not change.
type window struct {
	file  io.ReaderAt // nil if data is all
	size  int         // of the file
	start int         // of data in the file
	data  []byte
	err   error // why the file could not be read; the bytes are zero from there on
}

// inMemory is a file that is in memory already.
func inMemory(data []byte) *window { return &window{size: len(data), data: data} }

// from returns up to most bytes from off on, fewer at the end of the file only. Off is inside the file or at its end.
func (w *window) from(off, most int) []byte {
	n := min(most, w.size-off)
	if off < w.start || off-w.start > len(w.data)-n {
		w.load(off, n)
	}
	return w.data[off-w.start:][:n:n]
}

func (w *window) load(off, n int) {
	w.start = max(0, off-windowBack)
	w.data = make([]byte, min(max(windowSize, off-w.start+n), w.size-w.start))
	if w.err != nil {
		return
	}
	got, err := w.file.ReadAt(w.data, int64(w.start))
	switch {
	case got == len(w.data):
	case errors.Is(err, io.EOF): // it was longer when it was opened
		w.err = &dataset.FormatError{Format: "ulog", Offset: int64(w.start + got), Kind: dataset.ErrTruncated, Msg: "file", Got: "its end", Want: "as many bytes as when it was opened", Err: io.ErrUnexpectedEOF}
	default:
		w.err = err
	}
}

// another returns a window on the same file with its own position.
func (w *window) another() *window {
	own := *w
	return &own
}
