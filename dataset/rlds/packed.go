package rlds

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/storage"
)

// packing is the compression of a whole file.
type packing int

const (
	notPacked packing = iota
	gzipPacked
	zlibPacked
)

// compression recognises the compression by a file's first bytes. A valid record length takes precedence, because it may look like
// the head of a zlib stream.
func compression(begin []byte) packing {
	if len(begin) >= headSize {
		if _, sound := head(begin); sound {
			return notPacked
		}
	}
	switch {
	case len(begin) >= 3 && begin[0] == 0x1f && begin[1] == 0x8b && begin[2] == 8:
		return gzipPacked
	case len(begin) >= 2 && begin[0] == 0x78 && begin[1]&0x20 == 0 && binary.BigEndian.Uint16(begin)%31 == 0:
		return zlibPacked
	}
	return notPacked
}

// packed reads a compressed file. It stays at the end of the last record, so reading the records in order decompresses the file once.
type packed struct {
	path string
	how  packing

	mu     sync.Mutex
	file   storage.File
	source *bufio.Reader // reads the file
	r      io.Reader     // reads the decompressed content
	at     int64         // offset of its next byte
}

func (p *packed) open() error {
	p.shut()
	file, err := storage.Open(context.Background(), p.path)
	if err != nil {
		return err
	}
	p.file, p.source, p.at = file, bufio.NewReaderSize(storage.Reader(file), 1<<16), 0
	if p.how == gzipPacked {
		p.r, err = gzip.NewReader(p.source)
	} else {
		p.r, err = zlib.NewReader(p.source)
	}
	if err != nil {
		p.shut()
	}
	return err
}

// shut closes the file. A later read opens it again.
func (p *packed) shut() {
	if p.file != nil {
		p.file.Close()
	}
	p.file, p.source, p.r = nil, nil, nil
}

func (p *packed) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shut()
}

// take reads n bytes into w.
func (p *packed) take(ctx context.Context, w io.Writer, n int64) error {
	const step = 1 << 22
	for n > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		got, err := io.CopyN(w, p.r, min(n, step))
		p.at += got
		n -= got
		if err != nil {
			return err
		}
	}
	return nil
}

// broken reports whether an error is about the compressed bytes instead of reading the file.
func broken(err error) bool {
	var pathError *os.PathError
	return !errors.As(err, &pathError) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// index finds the records by reading the whole file. Offsets are in the decompressed content.
func (p *packed) index(ctx context.Context) (list []record, damage dataset.Notes, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.shut()
	// lose ends the list, because nothing after a broken part can be read.
	lose := func(code dataset.Code, kind error, msg, got, want string, below error) ([]record, dataset.Notes, error) {
		e := formatError(kind, "", p.at, msg, got, want)
		e.Err = below
		damage.AddDamage(code, 0, e)
		return list, damage, nil
	}
	stop := func(err error) ([]record, dataset.Notes, error) {
		switch {
		case !broken(err):
			return nil, nil, err
		case errors.Is(err, io.EOF):
			return lose(dataset.CodeRecordCut, dataset.ErrTruncated, "record", "the end of the file's content", "the record's rest", nil)
		case errors.Is(err, io.ErrUnexpectedEOF):
			return lose(dataset.CodeCompressionBroken, dataset.ErrTruncated, "compressed bytes", "", "", err)
		}
		return lose(dataset.CodeCompressionBroken, dataset.ErrCorrupt, "compressed bytes", "", "", err)
	}
	if err := p.open(); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // inside the compressed stream's header
		}
		return stop(err)
	}
	for {
		var b bytes.Buffer
		from := p.at
		if err := p.take(ctx, &b, headSize); err != nil {
			if errors.Is(err, io.EOF) && p.at == from {
				break
			}
			return stop(err)
		}
		n, sound := head(b.Bytes())
		if !sound {
			return lose(dataset.CodeNoRecords, dataset.ErrCorrupt, "record length", fmt.Sprintf("%d with another checksum", n), fmt.Sprintf("checksum %#08x", checksum(b.Bytes()[:8])), nil)
		}
		if n > 1<<62 {
			return lose(dataset.CodeRecordCut, dataset.ErrTooLarge, "record", fmt.Sprintf("%d bytes", n), "fewer", nil)
		}
		rec := record{p.at, int64(n)}
		if err := p.take(ctx, io.Discard, int64(n)+tailSize); err != nil {
			return stop(err)
		}
		list = append(list, rec)
	}
	if _, err := p.source.ReadByte(); err == nil {
		return lose(dataset.CodeCompressionBroken, dataset.ErrCorrupt, "compressed bytes", "more after their end", "the end of the file", nil)
	}
	return list, damage, nil
}

// read returns n bytes from offset at.
func (p *packed) read(ctx context.Context, at, n int64) (data []byte, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer func() {
		if err != nil {
			p.shut() // its position is unknown after an error
		}
	}()
	var b bytes.Buffer
	if p.file == nil || p.at > at {
		err = p.open()
	}
	if err == nil {
		if err = memory.Check("record", n, p.file.Size()); err != nil {
			return nil, err
		}
		b.Grow(int(n)) // index has seen that many bytes
	}
	if err == nil {
		err = p.take(ctx, io.Discard, at-p.at)
	}
	if err == nil {
		err = p.take(ctx, &b, n)
	}
	if err != nil && broken(err) {
		e := formatError(dataset.ErrCorrupt, p.path, p.at, "compressed bytes", "others than when it was opened", "the same")
		e.Err = err
		err = e
	}
	return b.Bytes(), err
}
