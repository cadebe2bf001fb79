package s3

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/robocache/robocache/internal/ranged"
	"github.com/robocache/robocache/storage"
)

const headSize = 64 << 10 // bytes in the first range; its answer contains the object's size

// Open opens an object by reading its beginning.
func (s *store) Open(ctx context.Context, url string) (storage.File, error) {
	at, err := locate("open", url)
	if err != nil {
		return nil, err
	}
	if at.folder {
		return nil, &fs.PathError{Op: "open", Path: url, Err: &storage.RequestError{Kind: fs.ErrInvalid, Got: "a folder", Want: "an object"}}
	}
	o := &object{store: s, at: at}
	from := ranged.Source{URL: url, Wait: s.wait, Get: o.get}
	head := make([]byte, headSize)
	n, size, err := from.Fill(ctx, "open", head, 0)
	if at, _ := status(err); at == http.StatusRequestedRangeNotSatisfiable { // of an object of no bytes
		var out *s3.HeadObjectOutput
		err = s.call(ctx, "open", o.at, func(c *s3.Client) (err error) {
			out, err = c.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &o.at.bucket, Key: &o.at.key})
			return err
		})
		if err == nil {
			size = aws.ToInt64(out.ContentLength)
			o.version = &version{size, aws.ToString(out.ETag)}
		}
	}
	if err != nil {
		return nil, err
	}
	return ranged.New(from, size, head[:n]), nil
}

// version identifies an object's content when it was opened.
type version struct {
	size int64
	etag string
}

// object is the source of an open file.
type object struct {
	store   *store
	at      location
	version *version // nil until the first answer, which Open reads
}

// get requests one range. The first answer defines the object's size and version; all others must agree.
func (o *object) get(ctx context.Context, op string, off, n int64) (io.ReadCloser, int64, error) {
	was := o.version
	span := fmt.Sprintf("bytes=%d-%d", off, off+n-1)
	in := &s3.GetObjectInput{Bucket: &o.at.bucket, Key: &o.at.key, Range: &span}
	if was != nil && was.etag != "" {
		in.IfMatch = &was.etag
	}
	var out *s3.GetObjectOutput
	err := o.store.call(ctx, op, o.at, func(c *s3.Client) (err error) {
		out, err = c.GetObject(ctx, in)
		return err
	})
	changed := func(is string) error {
		return &fs.PathError{Op: op, Path: o.at.url, Err: &ChangedError{was.etag, is}}
	}
	if err != nil {
		if at, _ := status(err); at == http.StatusPreconditionFailed && was != nil {
			err = changed("")
		}
		return nil, 0, err
	}
	length := int64(-1)
	if out.ContentLength != nil {
		length = *out.ContentLength
	}
	size, err := ranged.ParseRange(aws.ToString(out.ContentRange), length, off)
	is := version{size, aws.ToString(out.ETag)}
	switch {
	case err != nil:
		err = &fs.PathError{Op: op, Path: o.at.url, Err: err}
	case was == nil:
		o.version = &is
	case is != *was:
		err = changed(is.etag)
	}
	if err != nil {
		out.Body.Close()
		return nil, 0, err
	}
	return out.Body, size, nil
}
