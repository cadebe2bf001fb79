package hf

import (
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"

	"github.com/robocache/robocache/internal/ranged"
	"github.com/robocache/robocache/storage"
)

// object is the source of an open file.
type object struct {
	*place
	entry   entry
	address string

	mu     sync.Mutex
	direct string // the address after redirects, where further requests go; empty if there is none
}

// get requests one range. An address after redirects expires, so a request that fails there is sent to the Hub again.
func (o *object) get(ctx context.Context, op string, off, n int64) (io.ReadCloser, int64, error) {
	at := *o.place
	at.op = op
	o.mu.Lock()
	direct := o.direct
	o.mu.Unlock()
	span := fmt.Sprintf("bytes=%d-%d", off, off+n-1)
	address := o.address
	if direct != "" {
		address = direct
	}
	answer, err := at.get(ctx, address, span)
	if err != nil && direct != "" && ctx.Err() == nil {
		answer, err = at.get(ctx, o.address, span)
	}
	var failed *storage.RequestError
	if errors.As(err, &failed) && failed.Kind == fs.ErrNotExist {
		failed.Kind = nil // because the file is listed
	}
	if err != nil {
		return nil, 0, err
	}
	length := answer.ContentLength
	if length < 0 {
		length = o.entry.Size
	}
	size, err := ranged.ParseRange(answer.Header.Get("Content-Range"), length, off)
	if err == nil && size != o.entry.Size {
		err = &storage.RequestError{Got: fmt.Sprintf("%d bytes", size), Want: fmt.Sprintf("%d, as listed", o.entry.Size)}
	}
	if err != nil {
		answer.Body.Close()
		return nil, 0, at.err(err)
	}
	if final := answer.Request.URL.String(); final != o.address {
		o.mu.Lock()
		o.direct = final
		o.mu.Unlock()
	}
	return answer.Body, size, nil
}

// content is a file in memory.
type content struct{ *bytes.Reader }

func (content) Close() error { return nil }

// fetch reads a whole file into the cache and opens it there, or in memory if the cache cannot be written. It continues a download that
// another program has left.
func (p *place) fetch(ctx context.Context, from ranged.Source, e entry) (storage.File, error) {
	lock, _ := p.files.LoadOrStore(p.path, newMutex())
	if err := lock.(mutex).lock(ctx); err != nil {
		return nil, err
	}
	defer lock.(mutex).unlock()
	if f, _ := p.cached(ctx, p.pointer()); f != nil {
		return f, nil
	}
	b := make([]byte, e.Size)
	for start := p.left(e, b); ; start = 0 {
		if start < len(b) {
			_, _, err := from.Fill(ctx, "open", b[start:], int64(start))
			if err != nil && start > 0 && ctx.Err() == nil {
				continue // from the beginning, because the host may know no ranges
			}
			if err != nil {
				return nil, err
			}
		}
		is := hashOf(b, len(e.OID))
		if is == e.OID {
			break
		}
		if start == 0 {
			return nil, p.err(&storage.RequestError{Got: "content with hash " + is, Want: e.OID + ", as listed"})
		}
	}
	if p.keep(e, b) {
		if f, _ := p.cached(ctx, p.blob(e)); f != nil {
			return f, nil
		}
	}
	return content{bytes.NewReader(b)}, nil
}

// hashOf returns a content's hash in hexadecimal digits: SHA-256 if that has so many digits, else git's hash of a blob.
func hashOf(b []byte, digits int) string {
	if digits == 2*sha256.Size {
		sum := sha256.Sum256(b)
		return hex.EncodeToString(sum[:])
	}
	h := sha1.New()
	fmt.Fprintf(h, "blob %d\x00", len(b))
	h.Write(b)
	return hex.EncodeToString(h.Sum(nil))
}
