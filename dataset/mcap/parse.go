package mcap

import (
	"fmt"
	"strconv"

	"github.com/robocache/robocache/dataset"
)

// parseInto reads the body of a record that begins at a byte of the file, or of a chunk's records. The record may alias the body.
func parseInto(r parser, body []byte, at int64) error {
	c := cursor{b: body, at: at + headSize, op: r.Opcode()}
	r.parse(&c)
	return c.error()
}

// cursor reads the fields of a record. After the first invalid field, bad is set and all other fields are zero or empty.
type cursor struct {
	b   []byte
	at  int64 // of b
	op  Opcode
	bad *dataset.FormatError
}

func (c *cursor) error() error {
	if c.bad != nil {
		return c.bad
	}
	return nil
}

// fail records an error at the next byte.
func (c *cursor) fail(kind error, field, got, want string) {
	if c.bad == nil {
		c.bad = &dataset.FormatError{Format: "mcap", Offset: c.at, Kind: kind, Msg: c.op.String() + ": " + field, Got: got, Want: want}
	}
	c.b = nil
}

// take returns the next n bytes. If the record has fewer, it records an error and returns nil.
func (c *cursor) take(n uint64, field string) []byte {
	if n > uint64(len(c.b)) || c.bad != nil {
		c.fail(dataset.ErrTruncated, field, fmt.Sprintf("%d bytes", len(c.b)), strconv.FormatUint(n, 10))
		return nil
	}
	p := c.b[:n:n]
	c.b, c.at = c.b[n:], c.at+int64(n)
	return p
}

func (c *cursor) u16(field string) uint16 {
	if p := c.take(2, field); p != nil {
		return le.Uint16(p)
	}
	return 0
}

func (c *cursor) u32(field string) uint32 {
	if p := c.take(4, field); p != nil {
		return le.Uint32(p)
	}
	return 0
}

func (c *cursor) u64(field string) uint64 {
	if p := c.take(8, field); p != nil {
		return le.Uint64(p)
	}
	return 0
}

func (c *cursor) bytes(field string) []byte   { return c.take(uint64(c.u32(field)), field) }
func (c *cursor) text(field string) string    { return string(c.bytes(field)) }
func (c *cursor) bytes64(field string) []byte { return c.take(c.u64(field), field) }

// each reads a length in bytes, and calls use until that many bytes are read.
func (c *cursor) each(field string, use func(in *cursor)) {
	at := c.at + 4
	in := cursor{b: c.bytes(field), at: at, op: c.op, bad: c.bad}
	for len(in.b) > 0 && in.bad == nil {
		use(&in)
	}
	if c.bad = in.bad; c.bad != nil {
		c.b = nil
	}
}

func (c *cursor) texts(field string) map[string]string {
	m := map[string]string{}
	c.each(field, func(in *cursor) {
		key := in.text(field)
		if _, twice := m[key]; twice && in.bad == nil {
			in.fail(dataset.ErrCorrupt, field, fmt.Sprintf("key %.40q twice", key), "each once")
		}
		m[key] = in.text(field)
	})
	return m
}

func (c *cursor) counts(field string) map[uint16]uint64 {
	m := map[uint16]uint64{}
	c.each(field, func(in *cursor) {
		key := in.u16(field)
		if _, twice := m[key]; twice && in.bad == nil {
			in.fail(dataset.ErrCorrupt, field, fmt.Sprintf("key %d twice", key), "each once")
		}
		m[key] = in.u64(field)
	})
	return m
}

// end reports an error if bytes follow the record.
func (c *cursor) end() {
	if c.bad == nil && len(c.b) > 0 {
		c.fail(dataset.ErrCorrupt, "end", fmt.Sprintf("%d bytes more", len(c.b)), "none behind the last field")
	}
}

func (h *Header) parse(c *cursor) { h.Profile, h.Library = c.text("profile"), c.text("library") }

func (f *Footer) parse(c *cursor) {
	f.SummaryStart, f.SummaryOffsetStart, f.SummaryCRC = c.u64("summary start"), c.u64("summary offset start"), c.u32("summary CRC")
	c.end()
}

func (s *Schema) parse(c *cursor) {
	if s.ID = c.u16("id"); s.ID == 0 && c.bad == nil {
		c.fail(dataset.ErrCorrupt, "id", "0", "1 or more")
	}
	s.Name, s.Encoding, s.Data = c.text("name"), c.text("encoding"), c.bytes("data")
}

func (ch *Channel) parse(c *cursor) {
	ch.ID, ch.SchemaID = c.u16("id"), c.u16("schema id")
	ch.Topic, ch.MessageEncoding, ch.Metadata = c.text("topic"), c.text("message encoding"), c.texts("metadata")
}

func (m *Message) parse(c *cursor) {
	m.ChannelID, m.Sequence, m.LogTime, m.PublishTime = c.u16("channel id"), c.u32("sequence"), c.u64("log time"), c.u64("publish time")
	m.Data = c.b
}

func (k *Chunk) parse(c *cursor) {
	k.StartTime, k.EndTime, k.UncompressedSize = c.u64("message start time"), c.u64("message end time"), c.u64("uncompressed size")
	k.UncompressedCRC, k.Compression, k.Records = c.u32("uncompressed CRC"), c.text("compression"), c.bytes64("records")
	c.end()
}

func (x *ChunkIndex) parse(c *cursor) {
	x.StartTime, x.EndTime = c.u64("message start time"), c.u64("message end time")
	x.ChunkStart, x.ChunkLength = c.u64("chunk start offset"), c.u64("chunk length")
	x.MessageIndexOffsets, x.MessageIndexLength = c.counts("message index offsets"), c.u64("message index length")
	x.Compression, x.CompressedSize, x.UncompressedSize = c.text("compression"), c.u64("compressed size"), c.u64("uncompressed size")
}

func (s *Statistics) parse(c *cursor) {
	s.MessageCount, s.SchemaCount, s.ChannelCount = c.u64("message count"), c.u16("schema count"), c.u32("channel count")
	s.AttachmentCount, s.MetadataCount, s.ChunkCount = c.u32("attachment count"), c.u32("metadata count"), c.u32("chunk count")
	s.MessageStartTime, s.MessageEndTime = c.u64("message start time"), c.u64("message end time")
	s.ChannelMessageCounts = c.counts("channel message counts")
}

func (m *Metadata) parse(c *cursor) { m.Name, m.Metadata = c.text("name"), c.texts("metadata") }

// cutRecord returns the opcode and the body of the first of several records. at is its offset. If it is incomplete, the error is a
// *dataset.FormatError.
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

func broken(kind error, at int64, msg, got, want string) *dataset.FormatError {
	return &dataset.FormatError{Format: "mcap", Offset: at, Kind: kind, Msg: msg, Got: got, Want: want}
}

func wrongCRC(at int64, what string, got, want uint32) error {
	return broken(dataset.ErrCorrupt, at, "CRC of the "+what, fmt.Sprintf("%08x", got), fmt.Sprintf("%08x", want))
}
