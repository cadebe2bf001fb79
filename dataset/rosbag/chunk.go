package rosbag

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pierrec/lz4/v4"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/internal/bz2"
	limits "github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/storage"
)

// maxChunk limits a chunk, in bytes, both compressed and unpacked.
const maxChunk = 1 << 30

// buffers are the memory for reading and unpacking a chunk.
type buffers struct {
	packed, plain []byte
	input         bytes.Reader
	lz4           *lz4.Reader
	bz2           *bz2.Decoder
}

// walk calls use for each complete record of a part, with its offset in the unpacked part.
func (b *bag) walk(ctx context.Context, i int, damage *dataset.Notes, use func(at int64, r *record, data []byte) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	buf := b.buffers.Get().(*buffers)
	defer b.buffers.Put(buf)
	p := &b.parts[i]
	plain, err := b.load(ctx, i, buf, damage)
	if err != nil {
		if bad, ok := dataset.AsBroken(err); ok || errors.Is(err, dataset.ErrUnsupported) && errors.As(err, &bad) {
			b.damaged(damage, dataset.CodeChunkBroken, p.end-p.at, bad)
			return nil
		}
		return err
	}
	var r record
	for at := 0; at < len(plain); {
		data, length, wrong, cut := r.whole(plain[at:])
		if wrong == "" {
			if err := use(int64(at), &r, data); err != nil {
				return err
			}
			at += length
			continue
		}
		to := next(plain, at+1, isKnown)
		kind := dataset.ErrCorrupt
		if to < 0 {
			if to = len(plain); cut {
				kind = dataset.ErrTruncated
			}
		}
		b.damaged(damage, dataset.CodeNoRecords, int64(to-at), &dataset.FormatError{Offset: p.at, Kind: kind, Msg: fmt.Sprintf("record at byte %d of a chunk", at), Got: wrong})
		at = to
	}
	return nil
}

// load reads and unpacks a part. The result is valid until buf is used again. If the chunk is lost, the error is a
// *dataset.FormatError; if it ends early, that is damage.
func (b *bag) load(ctx context.Context, i int, buf *buffers, damage *dataset.Notes) (plain []byte, err error) {
	var failed error // to be unpacked
	p := &b.parts[i]
	if p.bare {
		b.raw[i].Store(p.at)
		return b.read(ctx, &buf.packed, p.at, p.end)
	}
	r, data, end, err := b.chunkHead(ctx, p)
	if err != nil {
		return nil, err
	}
	bad := &dataset.FormatError{Format: "rosbag", Path: b.path, Offset: p.at, Kind: dataset.ErrTruncated, Msg: "chunk"}
	if p.open {
		bad.Got, bad.Want = fmt.Sprintf("%d bytes to where it is cut", p.end-data), "its end"
		lost := missing(data, end, p.end)
		defer func() {
			switch {
			case len(plain) == 0:
				lost += p.end - data
			case failed != nil:
				lost = max(lost, 1) // of a block that is cut
			}
			b.damaged(damage, dataset.CodeChunkCut, lost, bad)
		}()
	}
	stop := end
	switch {
	case p.open:
		stop = p.end
	case end > p.end:
		bad.Got, bad.Want = fmt.Sprintf("%d bytes", end-data), fmt.Sprintf("at most the %d before the next", p.end-data)
		b.damaged(damage, dataset.CodeChunkSize, 0, bad)
		stop = p.end
	}
	if stop-data > maxChunk {
		return nil, &dataset.FormatError{Offset: p.at, Kind: dataset.ErrTooLarge, Msg: "chunk", Got: fmt.Sprintf("%d bytes", stop-data), Want: fmt.Sprintf("at most %d", maxChunk)}
	}
	packed, err := b.read(ctx, &buf.packed, data, stop)
	if err != nil {
		return nil, err
	}
	if r.compression == "none" {
		b.raw[i].Store(data)
		return packed, nil
	}
	failed = buf.unpack(packed, r.compression, r.size, b.file.Size())
	var refused *limits.Error
	switch err := failed; {
	case errors.As(err, &refused):
		return nil, err
	case err == errUnknown:
		return nil, &dataset.FormatError{Offset: p.at, Kind: dataset.ErrUnsupported, Msg: "chunk's compression", Got: fmt.Sprintf("%.20q", r.compression), Want: "none, bz2 or lz4"}
	case err == errLarge:
		return nil, &dataset.FormatError{Offset: p.at, Kind: dataset.ErrTooLarge, Msg: "chunk", Got: "more when unpacked", Want: fmt.Sprintf("the %d bytes that it declares, and at most %d", r.size, maxChunk)}
	case err != nil && !p.open:
		return nil, &dataset.FormatError{Offset: p.at, Kind: dataset.ErrCorrupt, Msg: r.compression + " chunk", Err: err}
	case !p.open && len(buf.plain) != int(r.size):
		b.damaged(damage, dataset.CodeChunkSize, 0, &dataset.FormatError{
			Offset: p.at, Kind: dataset.ErrCorrupt, Msg: r.compression + " chunk", Got: fmt.Sprintf("%d bytes", len(buf.plain)), Want: fmt.Sprint(r.size)})
	}
	return buf.plain, nil
}

// missing returns the number of missing bytes in a chunk, because the file ends or the next chunk begins too early. If the chunk
// would be too large, its declared length is wrong.
func missing(data, end, there int64) int64 {
	if end-data > maxChunk {
		return 0
	}
	return max(end-there, 0)
}

// chunk is the content of a chunk's header.
type chunk struct {
	compression string
	size        uint32
}

// chunkHead reads a chunk's header, and returns the offsets in the file where its data begins and ends.
func (b *bag) chunkHead(ctx context.Context, p *part) (c chunk, data, end int64, err error) {
	w := window{file: storage.Bound(ctx, b.file), size: b.file.Size(), least: 256}
	r, end, wrong, err := w.head(p.at)
	switch {
	case err != nil:
		return c, 0, 0, err
	case wrong == "" && r.op != opChunk:
		wrong = fmt.Sprintf("a record with op %d", r.op)
	}
	if wrong != "" {
		return c, 0, 0, &dataset.FormatError{Offset: p.at, Kind: dataset.ErrCorrupt, Msg: "chunk", Got: wrong, Want: "its header"}
	}
	return chunk{string(r.compression), r.size}, w.data, end, nil
}

// read returns bytes from to to-1 of the file, in the memory of buf, which grows if needed.
func (b *bag) read(ctx context.Context, buf *[]byte, from, to int64) ([]byte, error) {
	n := int(to - from)
	if cap(*buf) < n {
		*buf = make([]byte, n+n/8) // some more, for chunks that are a little larger
	}
	*buf = (*buf)[:n]
	if got, err := storage.Bound(ctx, b.file).ReadAt(*buf, from); got < n {
		return nil, readError(err)
	}
	return *buf, nil
}

var (
	errUnknown = errors.New("unknown compression")
	errLarge   = errors.New("too large")
)

// unpack unpacks a chunk into b.plain: completely, or up to an error.
func (b *buffers) unpack(packed []byte, compression string, size uint32, file int64) (err error) {
	most, ratio := maxChunk, 255 // the most that lz4 can do
	if size > 0 {                // else it was being written
		most = min(most, int(size))
	}
	if compression == "bz2" {
		ratio = 1 << 18 // a block of 37 bytes can be 900 kB, and more with runs
	}
	if room := int(limits.Most(file)); most > room {
		most = room
		defer func() {
			if err == errLarge {
				err = limits.Check("chunk", int64(max(size, maxChunk)), file)
			}
		}()
	}
	first := min(int(size), ratio*len(packed), most) + 1 // the end is seen before it grows
	if cap(b.plain) < first {
		if err := limits.Check("chunk", int64(first), file); err != nil {
			return err
		}
		b.plain = make([]byte, 0, first)
	}
	b.plain = b.plain[:0]
	switch compression {
	case "bz2":
		if b.bz2 == nil {
			b.bz2 = new(bz2.Decoder)
		}
		if b.plain, err = b.bz2.Append(b.plain, packed, most); errors.Is(err, bz2.ErrTooLarge) {
			err = errLarge
		}
		return err
	case "lz4":
		return b.unpackLZ4(packed, most)
	}
	return errUnknown
}

// unpackLZ4 appends the content of an lz4 frame to b.plain, at most most bytes.
func (b *buffers) unpackLZ4(packed []byte, most int) (err error) {
	b.input.Reset(packed)
	if b.lz4 == nil {
		b.lz4 = lz4.NewReader(&b.input)
	} else {
		b.lz4.Reset(&b.input)
	}
	defer func() {
		b.input.Reset(nil)
		if err != nil {
			b.lz4 = nil
		}
	}()
	for {
		if len(b.plain) == cap(b.plain) {
			b.plain = append(b.plain, 0)[:len(b.plain)]
		}
		n, err := b.lz4.Read(b.plain[len(b.plain):cap(b.plain)])
		b.plain = b.plain[:len(b.plain)+n]
		switch {
		case len(b.plain) > most:
			return errLarge
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}
