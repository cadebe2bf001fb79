package ranged

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"time"

	"github.com/robocache/robocache/storage"
)

const (
	Tries   = 5                // maximum requests for a range without progress
	Stalled = 30 * time.Second // an answer without a byte for this time counts as broken off
)

// Source is a remote object whose content does not change.
type Source struct {
	URL  string        // for errors
	Wait time.Duration // time before the first repetition of an interrupted request; each further one waits four times as long

	// Get requests n bytes from offset off on, fewer at the object's end. It returns a body that begins there, and the object's size, bytes.
	// It may be called from any goroutine. Its errors end the read.
	Get func(ctx context.Context, op string, off, n int64) (body io.ReadCloser, size int64, err error)
}

// Fill fills b from offset off on, or up to the object's end, and returns the number of bytes and the object's size. It repeats
// interrupted requests for the missing bytes, up to [Tries] times without progress. op names the operation in errors.
func (s *Source) Fill(ctx context.Context, op string, b []byte, off int64) (n int, size int64, err error) {
	for try := 1; ; try++ {
		got, total, err := s.once(ctx, op, b[n:], off+int64(n))
		if n += got; got > 0 {
			try = 1
		}
		if total >= 0 {
			size, b = total, b[:max(0, min(int64(len(b)), total-off))]
		}
		var broken *brokenError
		switch {
		case err == nil:
			return n, size, nil
		case ctx.Err() != nil:
			return n, size, ctx.Err()
		case !errors.As(err, &broken):
			return n, size, err
		case try == Tries:
			return n, size, &fs.PathError{Op: op, Path: s.URL, Err: &storage.RequestError{Got: fmt.Sprintf("%d bytes from byte %d on", n, off), Want: strconv.Itoa(len(b)), Err: broken}}
		}
		Sleep(ctx, s.Wait<<(2*(try-1)))
	}
}

// Sleep waits, but not longer than ctx.
func Sleep(ctx context.Context, wait time.Duration) {
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
}

// brokenError reports an answer that ended early. The request may be repeated.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return "broken off: " + e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// once requests one range and reads as many bytes as arrive. size is -1 if there is no answer.
func (s *Source) once(outer context.Context, op string, b []byte, off int64) (n int, size int64, err error) {
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	body, size, err := s.Get(ctx, op, off, int64(len(b)))
	if err != nil {
		return 0, -1, err
	}
	defer body.Close()
	watch := time.AfterFunc(Stalled, cancel)
	defer watch.Stop()
	b = b[:max(0, min(int64(len(b)), size-off))]
	for n < len(b) {
		got, err := body.Read(b[n:])
		n += got
		watch.Reset(Stalled)
		if err != nil && n < len(b) {
			switch {
			case err == io.EOF:
				err = io.ErrUnexpectedEOF
			case ctx.Err() != nil: // the watch ended it, unless the caller did, as Fill finds
				err = fmt.Errorf("no byte for %v", Stalled)
			}
			return n, size, &brokenError{err}
		}
	}
	return n, size, nil
}

// ParseRange returns the object's size from the Content-Range of an answer to a request from offset off on, for example "bytes
// 0-65535/1000000". Without that header, the answer is the whole object of length bytes, or of unknown length if that is negative. The
// error is a *storage.RequestError if the answer begins elsewhere or has no size.
func ParseRange(header string, length, off int64) (size int64, err error) {
	if header == "" && off == 0 && length >= 0 { // the service knows no ranges
		return length, nil
	}
	var from, to int64
	if _, err := fmt.Sscanf(header, "bytes %d-%d/%d", &from, &to, &size); err != nil || from != off || to < from || to >= size {
		return 0, &storage.RequestError{Got: fmt.Sprintf("range %q", header), Want: fmt.Sprintf("bytes %d- of a service that reads ranges", off)}
	}
	return size, nil
}
