package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/robocache/robocache/storage"
)

const (
	headSize = 64 << 10         // bytes in the first range; its answer contains the object's size
	tries    = 5                // maximum requests for a range without progress
	stalled  = 30 * time.Second // an answer without a byte for this time counts as broken off
)

// Open opens an object by reading its beginning.
func (s *store) Open(ctx context.Context, url string) (storage.File, error) {
	at, err := locate("open", url)
	if err != nil {
		return nil, err
	}
	if at.folder {
		return nil, &fs.PathError{Op: "open", Path: url, Err: &Error{Kind: fs.ErrInvalid, Got: "a folder", Want: "an object"}}
	}
	f := &file{store: s, at: at}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	if err := f.begin(ctx); err != nil {
		f.cancel()
		return nil, err
	}
	return f, nil
}

// begin reads the first range, and with it the object's size and version.
func (f *file) begin(ctx context.Context) error {
	head := make([]byte, headSize)
	n, err := f.more(ctx, "open", head, 0)
	if at, _ := status(err); at == http.StatusRequestedRangeNotSatisfiable { // of an object of no bytes
		var out *s3.HeadObjectOutput
		err = f.store.call(ctx, "open", f.at, func(c *s3.Client) (err error) {
			out, err = c.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &f.at.bucket, Key: &f.at.key})
			return err
		})
		if err == nil {
			f.version = &version{aws.ToInt64(out.ContentLength), aws.ToString(out.ETag)}
		}
		return err
	}
	if err != nil {
		return err
	}
	f.keep(&extent{from: 0, to: int64(n), window: least, data: head[:n:n], done: closed})
	return nil
}

// closed is a closed channel.
var closed = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// more fills b from offset off on, or up to the object's end, and returns the number of bytes. It repeats interrupted requests for the
// missing bytes, up to tries times without progress.
func (f *file) more(ctx context.Context, op string, b []byte, off int64) (n int, err error) {
	for try := 1; ; try++ {
		got, err := f.once(ctx, op, b[n:], off+int64(n))
		if n += got; got > 0 {
			try = 1
		}
		if f.version != nil {
			b = b[:min(int64(len(b)), f.version.size-off)]
		}
		var broken *brokenError
		switch {
		case err == nil:
			return n, nil
		case ctx.Err() != nil:
			return n, ctx.Err()
		case f.ctx.Err() != nil:
			return n, f.closedError(op)
		case !errors.As(err, &broken):
			return n, err
		case try == tries:
			return n, &fs.PathError{Op: op, Path: f.at.url, Err: &Error{Got: fmt.Sprintf("%d bytes from byte %d on", n, off), Want: strconv.Itoa(len(b)), Err: broken}}
		}
		select {
		case <-time.After(f.store.wait << (2 * (try - 1))):
		case <-ctx.Done():
		case <-f.ctx.Done():
		}
	}
}

func (f *file) closedError(op string) error {
	return &fs.PathError{Op: op, Path: f.at.url, Err: fs.ErrClosed}
}

// brokenError reports an answer that ended early, or did not come. The request may be repeated.
type brokenError struct{ err error }

func (e *brokenError) Error() string { return "broken off: " + e.err.Error() }
func (e *brokenError) Unwrap() error { return e.err }

// once requests one range and reads as many bytes as arrive. The first answer defines the object's size and version; all others
// must agree.
func (f *file) once(outer context.Context, op string, b []byte, off int64) (n int, err error) {
	ctx, cancel := context.WithCancel(outer)
	defer cancel()
	defer context.AfterFunc(f.ctx, cancel)()
	watch := time.AfterFunc(stalled, cancel)
	defer watch.Stop()
	defer func() {
		if err != nil && ctx.Err() != nil { // the watch's doing, unless the others ended too, which is seen above
			err = &brokenError{fmt.Errorf("no byte for %v", stalled)}
		}
	}()
	span := fmt.Sprintf("bytes=%d-%d", off, off+int64(len(b))-1)
	in := &s3.GetObjectInput{Bucket: &f.at.bucket, Key: &f.at.key, Range: &span}
	if f.version != nil && f.version.etag != "" {
		in.IfMatch = &f.version.etag
	}
	var out *s3.GetObjectOutput
	err = f.store.call(ctx, op, f.at, func(c *s3.Client) (err error) {
		out, err = c.GetObject(ctx, in)
		return err
	})
	changed := func(is string) error {
		return &fs.PathError{Op: op, Path: f.at.url, Err: &ChangedError{f.version.etag, is}}
	}
	if err != nil {
		if at, _ := status(err); at == http.StatusPreconditionFailed && f.version != nil {
			err = changed("")
		}
		return 0, err
	}
	defer out.Body.Close()
	size, err := sizeOf(out, off)
	if err != nil {
		return 0, &fs.PathError{Op: op, Path: f.at.url, Err: err}
	}
	is := version{size, aws.ToString(out.ETag)}
	switch {
	case f.version == nil:
		f.version = &is
	case is != *f.version:
		return 0, changed(is.etag)
	}
	b = b[:min(int64(len(b)), size-off)]
	for n < len(b) {
		got, err := out.Body.Read(b[n:])
		n += got
		watch.Reset(stalled)
		if err != nil && n < len(b) {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return n, &brokenError{err}
		}
	}
	return n, nil
}

// sizeOf returns the object's size from an answer to a request from offset off on. If the answer has another range, it returns an error.
func sizeOf(out *s3.GetObjectOutput, off int64) (size int64, err error) {
	text := aws.ToString(out.ContentRange)                  // bytes 0-65535/1000000
	if text == "" && off == 0 && out.ContentLength != nil { // the service knows no ranges
		return *out.ContentLength, nil
	}
	var from, to int64
	if _, err := fmt.Sscanf(text, "bytes %d-%d/%d", &from, &to, &size); err != nil || from != off || to < from || to >= size {
		return 0, &Error{Got: fmt.Sprintf("range %q", text), Want: fmt.Sprintf("bytes %d- of a service that reads ranges", off)}
	}
	return size, nil
}
