package mcap

import (
	"bufio"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/robocache/robocache/dataset"
)

// reader reads a file's records one after the other, from its beginning to its end, and checks its CRCs. It takes as much memory as the largest record,
// or chunk, has.
type reader struct {
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

// newReader returns a reader of a file, which begins with its magic.
func newReader(r io.Reader) *reader { return &reader{r: bufio.NewReaderSize(r, 64<<10)} }

// Next returns the next record. A chunk comes as a *Chunk, still compressed, and then the records in it. What a record holds may be changed by the next
// call. The end is io.EOF; whatever breaks the format is a *dataset.FormatError, after which there is nothing more. Its offset counts from the beginning
// of the chunk's records for what is in one.
func (r *reader) Next() (parser, error) {
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

func (r *reader) next() (parser, error) {
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
func (r *reader) take(record parser, at int64, before uint32) error {
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

func (r *reader) nextInChunk() (parser, error) {
	op, body, err := cutRecord(r.records, r.inside)
	if err != nil {
		return nil, err
	}
	at := r.inside
	r.records, r.inside = r.records[headSize+len(body):], at+headSize+int64(len(body))
	return r.parse(op, body, at)
}

// parse reads a record, of messages always the same.
func (r *reader) parse(op Opcode, body []byte, at int64) (parser, error) {
	if op == OpMessage {
		return &r.message, parseInto(&r.message, body, at)
	}
	return parseRecord(op, body, at)
}

// read reads a record's body, into as much memory as there are bytes for.
func (r *reader) read(op Opcode, n uint64) error {
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
func (r *reader) full(b []byte, what string) error {
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

func (r *reader) magic(where string) error {
	var b [len(Magic)]byte
	if err := r.full(b[:], "magic "+where); err != nil {
		return err
	}
	if string(b[:]) != Magic {
		return broken(dataset.ErrCorrupt, r.at-int64(len(b)), "magic "+where, fmt.Sprintf("%q", b), fmt.Sprintf("%q", Magic))
	}
	return nil
}

// parseRecord reads the body of a record that begins at a byte of the file, or of a chunk's records. The record may alias the body.
func parseRecord(op Opcode, body []byte, at int64) (parser, error) {
	r := newRecord(op)
	if err := parseInto(r, body, at); err != nil {
		return nil, err
	}
	return r, nil
}

// newRecord returns an empty record of an opcode.
func newRecord(op Opcode) parser {
	switch op {
	case OpHeader:
		return &Header{}
	case OpFooter:
		return &Footer{}
	case OpSchema:
		return &Schema{}
	case OpChannel:
		return &Channel{}
	case OpMessage:
		return &Message{}
	case OpChunk:
		return &Chunk{}
	case OpMessageIndex:
		return &MessageIndex{}
	case OpChunkIndex:
		return &ChunkIndex{}
	case OpAttachment:
		return &Attachment{}
	case OpAttachmentIndex:
		return &AttachmentIndex{}
	case OpStatistics:
		return &Statistics{}
	case OpMetadata:
		return &Metadata{}
	case OpMetadataIndex:
		return &MetadataIndex{}
	case OpSummaryOffset:
		return &SummaryOffset{}
	case OpDataEnd:
		return &DataEnd{}
	}
	return &unknown{Code: op}
}

// unknown is a record of an opcode that has no name here, such as a private one.
type unknown struct {
	Code Opcode
	Data []byte
}

func (u *unknown) Opcode() Opcode { return u.Code }

func (u *unknown) append(b []byte) []byte { return append(b, u.Data...) }

func (x *MessageIndex) parse(c *cursor) {
	x.ChannelID = c.u16("channel id")
	c.each("records", func(in *cursor) { x.Entries = append(x.Entries, IndexEntry{in.u64("log time"), in.u64("offset")}) })
}

// parse checks the CRC too, which is of what stands before it.
func (a *Attachment) parse(c *cursor) {
	all := c.b
	a.LogTime, a.CreateTime, a.Name, a.MediaType, a.Data = c.u64("log time"), c.u64("create time"), c.text("name"), c.text("media type"), c.bytes64("data")
	sum := len(all) - len(c.b)
	if a.CRC = c.u32("CRC"); a.CRC != 0 && c.bad == nil {
		if got := crc32.ChecksumIEEE(all[:sum]); got != a.CRC {
			c.fail(dataset.ErrCorrupt, "CRC of its bytes", fmt.Sprintf("%08x", got), fmt.Sprintf("%08x", a.CRC))
		}
	}
}

func (x *AttachmentIndex) parse(c *cursor) {
	x.Offset, x.Length, x.LogTime, x.CreateTime = c.u64("offset"), c.u64("length"), c.u64("log time"), c.u64("create time")
	x.DataSize, x.Name, x.MediaType = c.u64("data size"), c.text("name"), c.text("media type")
}

func (x *MetadataIndex) parse(c *cursor) {
	x.Offset, x.Length, x.Name = c.u64("offset"), c.u64("length"), c.text("name")
}

func (o *SummaryOffset) parse(c *cursor) {
	if p := c.take(1, "group opcode"); p != nil {
		o.GroupOpcode = Opcode(p[0])
	}
	o.GroupStart, o.GroupLength = c.u64("group start"), c.u64("group length")
}

func (d *DataEnd) parse(c *cursor) {
	d.DataSectionCRC = c.u32("data section CRC")
	c.end()
}

func (u *unknown) parse(c *cursor) { u.Data = c.b }
