package rosbag

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/robocache/robocache/dataset"
	limits "github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/storage"
)

// bareBytes is the approximate size, in bytes, of a part with messages outside chunks.
const bareBytes = 4 << 20

// isChunk and isKnown report whether a search after a broken record may stop at a record with this opcode.
func isChunk(op byte) bool { return op == opChunk }
func isKnown(op byte) bool { return op >= opMessage && op <= opConnection }

// scan reads all records from the beginning of the bag, without the content of chunks.
func (b *bag) scan(ctx context.Context) error {
	w := window{file: b.file, size: b.file.Size()}
	for at := int64(len(magic)); at < w.size; {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, end, wrong, err := w.head(at)
		if err != nil {
			return err
		}
		if r.op == opChunk && wrong == "" {
			if at, err = b.scanChunk(&w, at, end, &r); err != nil {
				return err
			}
			continue
		}
		if end > w.size {
			wrong = fmt.Sprintf("data of %d bytes in %d", end-w.data, w.size-w.data)
		}
		if wrong != "" {
			next, err := w.find(at+1, isKnown)
			if err != nil {
				return err
			}
			kind := dataset.ErrCorrupt
			if next == w.size {
				kind = dataset.ErrTruncated
			}
			b.lost(dataset.CodeNoRecords, next-at, &dataset.FormatError{Offset: at, Kind: kind, Msg: "record", Got: wrong})
			at = next
			continue
		}
		switch last := len(b.parts) - 1; {
		case r.op == opConnection:
			topic := string(r.topic)
			data, err := w.bytes(w.data, end)
			if err != nil {
				return err
			}
			r.topic = []byte(topic)
			b.connect(&b.damage, at, &r, data)
		case r.op == opIndex:
			b.counts[r.conn] += int(r.count)
		case r.op != opMessage:
		case last >= 0 && b.parts[last].bare && b.parts[last].end == at && end-b.parts[last].at <= bareBytes:
			b.parts[last].end = end
		default:
			b.parts = append(b.parts, part{at: at, end: end, bare: true})
		}
		at = end
	}
	return nil
}

// scanChunk adds a chunk as a part, and returns the offset at which the scan continues. If an uncompressed chunk has no valid end, it adds
// none, and the scan continues with the records in the chunk.
func (b *bag) scanChunk(w *window, at, end int64, r *record) (int64, error) {
	// A chunk that was being written declares 0 bytes, but bytes follow.
	if end <= w.size && (end > w.data || end == w.size || w.isRecord(end)) {
		b.parts = append(b.parts, part{at: at, end: end})
		return end, nil
	}
	data := w.data
	if string(r.compression) == "none" { // its records follow, as if there were no chunk
		if end > w.size {
			b.lost(dataset.CodeChunkCut, missing(data, end, w.size), &dataset.FormatError{Offset: at, Kind: dataset.ErrTruncated, Msg: "chunk",
				Got: fmt.Sprintf("%d bytes to the file's end", w.size-data), Want: fmt.Sprint(end - data)})
		}
		return data, nil
	}
	next, err := w.find(data, isChunk)
	b.parts = append(b.parts, part{at: at, end: next, open: true})
	return next, err
}

// window reads a file through a buffer, which has 64 KiB by default.
type window struct {
	file storage.File
	size int64 // the file's
	buf  []byte
	from int64 // where buf begins
	data int64 // the offset of the data of the last record that head read
	// least is the minimum number of bytes to read at once; 0 means windowBytes.
	least int
}

// windowBytes is the number of bytes that are read at once. overlap is the number that is read again in a search for a record;
// headers are shorter than it.
const windowBytes, overlap = 64 << 10, 4 << 10

// at returns the bytes from pos on: at least n, unless the file ends before. They are valid until the next call.
func (w *window) at(pos int64, n int) ([]byte, error) {
	n = int(min(int64(n), w.size-pos))
	if pos >= w.from && pos+int64(n) <= w.from+int64(len(w.buf)) {
		return w.buf[pos-w.from:], nil
	}
	size := int(min(int64(max(n, cmp.Or(w.least, windowBytes))), w.size-pos))
	if cap(w.buf) < size {
		w.buf = limits.Must[byte]("record", size)
	}
	w.buf, w.from = w.buf[:size], pos
	if got, err := w.file.ReadAt(w.buf, pos); got < size {
		w.buf = w.buf[:0]
		return nil, readError(err)
	}
	return w.buf, nil
}

// head reads the header of a record, and returns the record's end. wrong describes an error. The texts are valid until the next
// call.
func (w *window) head(pos int64) (r record, end int64, wrong string, err error) {
	b, err := w.at(pos, 4)
	if err != nil || len(b) < 4 {
		return r, 0, fmt.Sprintf("%d bytes", len(b)), err
	}
	n := binary.LittleEndian.Uint32(b)
	if n > maxHeader {
		return r, 0, fmt.Sprintf("a header of %d bytes", n), nil
	}
	if b, err = w.at(pos, int(n)+8); err != nil || len(b) < int(n)+8 {
		return r, 0, fmt.Sprintf("a header of %d bytes in %d", n, len(b)-4), err
	}
	w.data = pos + int64(n) + 8
	return r, w.data + int64(binary.LittleEndian.Uint32(b[4+n:])), r.parse(b[4 : 4+n]), nil
}

// isRecord reports whether a record begins at offset pos.
func (w *window) isRecord(pos int64) bool {
	data := w.data
	_, _, wrong, err := w.head(pos)
	w.data = data
	return wrong == "" && err == nil
}

// bytes returns a copy of bytes from to to-1 of the file.
func (w *window) bytes(from, to int64) ([]byte, error) {
	b, err := limits.Make[byte]("record", int(to-from))
	if err != nil {
		return nil, err
	}
	if n, err := w.file.ReadAt(b, from); n < len(b) {
		return nil, readError(err)
	}
	return b, nil
}

// find returns the offset of the next record with an opcode that ok accepts, and the file's size if there is none.
func (w *window) find(from int64, ok func(op byte) bool) (int64, error) {
	for from < w.size {
		b, err := w.at(from, 2*overlap)
		if err != nil {
			return 0, err
		}
		if i := next(b, 0, ok); i >= 0 {
			return from + int64(i), nil
		}
		if from+int64(len(b)) >= w.size {
			break
		}
		from += int64(len(b) - overlap)
	}
	return w.size, nil
}
