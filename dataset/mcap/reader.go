package mcap

import (
	"bufio"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/robocache/robocache/dataset"
)

// Reader reads a file's records one after the other, from its beginning to its end, and checks its CRCs. It takes as much memory as the largest record,
// or chunk, has.
type Reader struct {
	r     *bufio.Reader
	at    int64 // of the next byte
	sum   uint32
	begun bool
	ended bool
	err   error // that ended it

	body, room []byte
	records    []byte // of a chunk, that are still to come
	inside     int64  // of the next of them, from the chunk's records' beginning
	message    Message
}

// NewReader returns a reader of a file, which begins with its magic.
func NewReader(r io.Reader) *Reader { return &Reader{r: bufio.NewReaderSize(r, 64<<10)} }

// Next returns the next record. A chunk comes as a *Chunk, still compressed, and then the records in it. What a record holds may be changed by the next
// call. The end is io.EOF; whatever breaks the format is a *dataset.FormatError, after which there is nothing more. Its offset counts from the beginning
// of the chunk's records for what is in one.
func (r *Reader) Next() (Record, error) {
	if r.err != nil {
		return nil, r.err
	}
	record, err := r.next()
	if err != nil {
		r.err = err
		return nil, err
	}
	return record, nil
}

func (r *Reader) next() (Record, error) {
	if !r.begun {
		if err := r.magic("at the beginning"); err != nil {
			return nil, err
		}
		r.begun = true
	}
	if len(r.records) > 0 {
		return r.nextInChunk()
	}
	if r.ended {
		if err := r.magic("at the end"); err != nil {
			return nil, err
		}
		if _, err := r.r.ReadByte(); err != io.EOF {
			if err == nil {
				err = broken(dataset.ErrCorrupt, r.at, "end", "more bytes", "none behind the magic")
			}
			return nil, err
		}
		return nil, io.EOF
	}
	at, before := r.at, r.sum
	var head [headSize]byte
	if err := r.full(head[:], "record"); err != nil {
		return nil, err
	}
	op, n := recordHead(head[:])
	if err := r.read(op, n); err != nil {
		return nil, err
	}
	record, err := r.parse(op, r.body, at)
	if err != nil {
		return nil, err
	}
	return record, r.take(record, at, before)
}

// take does what a record of the file asks for. before is the CRC of the section up to the record.
func (r *Reader) take(record Record, at int64, before uint32) error {
	switch x := record.(type) {
	case *Chunk:
		records, err := x.uncompress(&r.room, at, false)
		if err != nil {
			return err
		}
		r.records, r.inside = records, 0
	case *DataEnd:
		if x.DataSectionCRC != 0 && x.DataSectionCRC != before {
			return wrongCRC(at, "data section", before, x.DataSectionCRC)
		}
		r.sum = 0
	case *Footer:
		r.ended = true
		sum := x.sum(before)
		if x.SummaryCRC != 0 && x.SummaryCRC != sum {
			return wrongCRC(at, "summary section", sum, x.SummaryCRC)
		}
	}
	return nil
}

func (r *Reader) nextInChunk() (Record, error) {
	op, body, err := cutRecord(r.records, r.inside)
	if err != nil {
		return nil, err
	}
	at := r.inside
	r.records, r.inside = r.records[headSize+len(body):], at+headSize+int64(len(body))
	return r.parse(op, body, at)
}

// parse reads a record, of messages always the same.
func (r *Reader) parse(op Opcode, body []byte, at int64) (Record, error) {
	if op == OpMessage {
		return &r.message, parseInto(&r.message, body, at)
	}
	return parseRecord(op, body, at)
}

// cutRecord takes the first of records, which begins at a byte.
func cutRecord(records []byte, at int64) (Opcode, []byte, error) {
	if len(records) < headSize {
		return 0, nil, broken(dataset.ErrTruncated, at, "record in a Chunk", fmt.Sprintf("%d bytes", len(records)), "9 or more")
	}
	op, n := recordHead(records)
	if n > uint64(len(records)-headSize) {
		return 0, nil, broken(dataset.ErrTruncated, at, op.String()+" in a Chunk", fmt.Sprintf("%d bytes", len(records)-headSize), fmt.Sprint(n))
	}
	return op, records[headSize:][:n:n], nil
}

// read reads a record's body, into as much memory as there are bytes for.
func (r *Reader) read(op Opcode, n uint64) error {
	const step = 1 << 20
	if n > maxChunk+step {
		return broken(dataset.ErrTooLarge, r.at-8, op.String()+": length", fmt.Sprint(n), fmt.Sprintf("at most %d", maxChunk+step))
	}
	r.body = r.body[:0]
	for uint64(len(r.body)) < n {
		have := len(r.body)
		more := int(min(n-uint64(have), uint64(max(step, have))))
		if cap(r.body) < have+more {
			r.body = append(make([]byte, 0, have+more), r.body...)
		}
		r.body = r.body[:have+more]
		if err := r.full(r.body[have:], op.String()); err != nil {
			return err
		}
	}
	return nil
}

// full reads as many bytes as b has, of what is called so.
func (r *Reader) full(b []byte, what string) error {
	n, err := io.ReadFull(r.r, b)
	at := r.at
	r.at += int64(n)
	r.sum = crc32.Update(r.sum, crc32.IEEETable, b[:n])
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) {
		bad := broken(dataset.ErrTruncated, at, what, fmt.Sprintf("%d bytes", n), fmt.Sprint(len(b)))
		bad.Err = io.ErrUnexpectedEOF
		return bad
	}
	return err
}

func (r *Reader) magic(where string) error {
	var b [len(Magic)]byte
	if err := r.full(b[:], "magic "+where); err != nil {
		return err
	}
	if string(b[:]) != Magic {
		return broken(dataset.ErrCorrupt, r.at-int64(len(b)), "magic "+where, fmt.Sprintf("%q", b), fmt.Sprintf("%q", Magic))
	}
	return nil
}

func broken(kind error, at int64, msg, got, want string) *dataset.FormatError {
	return &dataset.FormatError{Format: "mcap", Offset: at, Kind: kind, Msg: msg, Got: got, Want: want}
}

func wrongCRC(at int64, what string, got, want uint32) error {
	return broken(dataset.ErrCorrupt, at, "CRC of the "+what, fmt.Sprintf("%08x", got), fmt.Sprintf("%08x", want))
}
