package mcap

import (
	"bufio"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/atomicfile"
)

// Compression is the compression of chunks.
type Compression uint8

// Compressions.
const (
	Zstd Compression = iota
	LZ4
	NoCompression
)

// Omit is a set of optional parts that a file leaves out. Files are valid without them, but most readers become slower.
type Omit uint16

// Parts that can be omitted.
const (
	OmitChunks       Omit = 1 << iota // messages are written outside chunks, uncompressed
	OmitMessageIndex                  // the message index after each chunk
	OmitChunkIndex                    // this and the following parts are in the summary
	OmitStatistics
	OmitSchemas
	OmitChannels
	OmitAttachmentIndex
	OmitMetadataIndex
	OmitSummaryOffsets
	OmitCRC // CRCs of chunks, the data section and the summary
	// OmitSummary omits the whole summary.
	OmitSummary = OmitChunkIndex | OmitStatistics | OmitSchemas | OmitChannels | OmitAttachmentIndex | OmitMetadataIndex | OmitSummaryOffsets
)

// WriterOptions are the settings of a Writer. The zero value writes all indexes, and chunks of 4 MiB compressed with zstd.
type WriterOptions struct {
	Profile     string // for example "ros2"
	Library     string // name of the program that writes the file
	Compression Compression
	ChunkSize   int // uncompressed bytes after which a chunk ends; 0 means 4 MiB
	Omit        Omit
}

// defaultChunk is the default for ChunkSize.
const defaultChunk = 4 << 20

// Writer writes a file. Schemas and channels come first, then messages, attachments and metadata in any order. Each chunk repeats
// the schemas and channels of its messages, so it can be read alone. A Writer is for one goroutine at a time. After a failed write
// every call returns its error.
type Writer struct {
	out      *bufio.Writer
	opt      WriterOptions
	at       uint64 // offset of the next byte
	sum      uint32 // CRC of the current section so far
	err      error
	closed   bool
	schemas  []*Schema
	channels []*outChannel
	chunk    openChunk
	compress compressor
	room     []byte

	stats       Statistics
	chunks      []*ChunkIndex
	attachments []*AttachmentIndex
	metadata    []*MetadataIndex
	inData      map[uint16]bool // schemas that the data section has
}

type outChannel struct {
	Channel
	count   uint64
	index   []IndexEntry // in the chunk
	inChunk bool         // the open chunk defines the channel
	inData  bool
}

// openChunk is the chunk that messages are added to.
type openChunk struct {
	records    []byte
	start, end uint64
	messages   int
	schemas    map[uint16]bool // ids of the schemas that the chunk defines
}

// Error reports content that cannot be written. The Writer leaves it out and can continue.
type Error struct {
	What      string // for example "channel /imu", "attachment calibration.yaml"
	Kind      error  // dataset.ErrOption, dataset.ErrTooLarge or dataset.ErrClosed
	Got, Want string
}

func (e *Error) Error() string {
	return fmt.Sprintf("mcap: %s: got %s, want %s", e.What, e.Got, e.Want)
}

// Unwrap returns the kind.
func (e *Error) Unwrap() error { return e.Kind }

// NewWriter begins a file. Close completes it, and does not close out.
func NewWriter(out io.Writer, opt WriterOptions) (*Writer, error) {
	if opt.ChunkSize == 0 {
		opt.ChunkSize = defaultChunk
	}
	if opt.ChunkSize < 1 || opt.ChunkSize > maxChunk/2 {
		return nil, &Error{"option ChunkSize", dataset.ErrOption, fmt.Sprint(opt.ChunkSize), fmt.Sprintf("1 to %d, or 0", maxChunk/2)}
	}
	compress, err := opt.Compression.compressor()
	if err != nil {
		return nil, err
	}
	w := &Writer{out: bufio.NewWriterSize(out, 64<<10), opt: opt, compress: compress, inData: map[uint16]bool{}}
	w.chunk.schemas = map[uint16]bool{}
	w.stats.ChannelMessageCounts = map[uint16]uint64{}
	w.bytes([]byte(Magic))
	w.record(&Header{opt.Profile, opt.Library})
	return w, w.err
}

// WriteFile writes a file atomically: it appears complete or not at all. fill writes the content, and does not close the Writer.
func WriteFile(path string, opt WriterOptions, fill func(w *Writer) error) error {
	return atomicfile.WriteFile(path, func(out io.Writer) error {
		w, err := NewWriter(out, opt)
		if err != nil {
			return err
		}
		if err := fill(w); err != nil {
			return err
		}
		return w.Close()
	})
}

// ready returns an error if the Writer is closed, or if a write failed.
func (w *Writer) ready(what string) error {
	if w.closed {
		return &Error{what, dataset.ErrClosed, "a closed Writer", "a call before Close"}
	}
	return w.err
}

// bytes appends b to the file, and adds it to the section's CRC. An error is kept in the Writer.
func (w *Writer) bytes(b []byte) {
	if w.err != nil {
		return
	}
	if w.opt.Omit&OmitCRC == 0 {
		w.sum = crc32.Update(w.sum, crc32.IEEETable, b)
	}
	w.at += uint64(len(b))
	_, w.err = w.out.Write(b)
}

// record writes a record to the file, and returns where it begins and its length.
func (w *Writer) record(r Record) (at, length uint64) {
	at = w.at
	w.room = appendRecord(w.room[:0], r)
	w.bytes(w.room)
	return at, w.at - at
}

// AddSchema adds a schema, and returns its id, from 1. The Writer keeps data.
func (w *Writer) AddSchema(name, encoding string, data []byte) (uint16, error) {
	if err := w.ready("schema " + name); err != nil {
		return 0, err
	}
	if len(w.schemas) == math.MaxUint16 {
		return 0, &Error{"schema " + name, dataset.ErrTooLarge, "one more", "at most 65535"}
	}
	if n := len(name) + len(encoding) + len(data); n > maxChunk/2 {
		return 0, &Error{"schema " + name, dataset.ErrTooLarge, fmt.Sprintf("%d bytes", n), fmt.Sprintf("at most %d", maxChunk/2)}
	}
	s := &Schema{uint16(len(w.schemas) + 1), name, encoding, data}
	w.schemas = append(w.schemas, s)
	return s.ID, nil
}

// AddChannel adds a channel, and returns its id, from 1. schema is an id from AddSchema, or 0 for none. The Writer keeps metadata,
// which may be nil.
func (w *Writer) AddChannel(topic, encoding string, schema uint16, metadata map[string]string) (uint16, error) {
	what := "channel " + topic
	if err := w.ready(what); err != nil {
		return 0, err
	}
	switch {
	case len(w.channels) == math.MaxUint16:
		return 0, &Error{what, dataset.ErrTooLarge, "one more", "at most 65535"}
	case int(schema) > len(w.schemas):
		return 0, &Error{what, dataset.ErrOption, fmt.Sprintf("schema %d", schema), "one of AddSchema, or 0"}
	}
	c := &outChannel{Channel: Channel{uint16(len(w.channels) + 1), schema, topic, encoding, metadata}}
	w.channels = append(w.channels, c)
	return c.ID, nil
}

// Message writes a message. Its ChannelID is an id from AddChannel.
func (w *Writer) Message(m *Message) error {
	if err := w.ready("message"); err != nil {
		return err
	}
	switch {
	case m.ChannelID == 0 || int(m.ChannelID) > len(w.channels):
		return &Error{"message", dataset.ErrOption, fmt.Sprintf("channel %d", m.ChannelID), "one of AddChannel"}
	case len(m.Data) > maxChunk/2:
		return &Error{"message of " + w.channels[m.ChannelID-1].Topic, dataset.ErrTooLarge, fmt.Sprintf("%d bytes", len(m.Data)), fmt.Sprintf("at most %d", maxChunk/2)}
	}
	c := w.channels[m.ChannelID-1]
	if w.stats.MessageCount == 0 {
		w.stats.MessageStartTime = m.LogTime
	}
	w.stats.MessageStartTime, w.stats.MessageEndTime = min(w.stats.MessageStartTime, m.LogTime), max(w.stats.MessageEndTime, m.LogTime)
	w.stats.MessageCount++
	c.count++
	if w.opt.Omit&OmitChunks != 0 {
		w.define(c)
		w.record(m)
		return w.err
	}
	k := &w.chunk
	if !c.inChunk {
		c.inChunk, c.inData = true, true
		if id := c.SchemaID; id != 0 && !k.schemas[id] {
			k.schemas[id], w.inData[id] = true, true
			k.records = appendRecord(k.records, w.schemas[id-1])
		}
		k.records = appendRecord(k.records, &c.Channel)
	}
	if k.messages == 0 {
		k.start = m.LogTime
	}
	k.start, k.end = min(k.start, m.LogTime), max(k.end, m.LogTime)
	k.messages++
	if w.opt.Omit&OmitMessageIndex == 0 {
		c.index = append(c.index, IndexEntry{m.LogTime, uint64(len(k.records))})
	}
	k.records = appendRecord(k.records, m)
	if len(k.records) >= w.opt.ChunkSize {
		w.endChunk()
	}
	return w.err
}

// define writes a channel and its schema to the data section, unless they are there.
func (w *Writer) define(c *outChannel) {
	if c.inData {
		return
	}
	if id := c.SchemaID; id != 0 && !w.inData[id] {
		w.inData[id] = true
		w.record(w.schemas[id-1])
	}
	c.inData = true
	w.record(&c.Channel)
}

// endChunk writes the open chunk, if it has messages, and its message indexes.
func (w *Writer) endChunk() {
	k := &w.chunk
	if len(k.records) == 0 || w.err != nil {
		return
	}
	chunk := &Chunk{StartTime: k.start, EndTime: k.end, UncompressedSize: uint64(len(k.records)), Compression: w.opt.Compression.name()}
	if w.opt.Omit&OmitCRC == 0 {
		chunk.UncompressedCRC = crc32.ChecksumIEEE(k.records)
	}
	if chunk.Records, w.err = w.compress(k.records); w.err != nil {
		return
	}
	x := &ChunkIndex{StartTime: k.start, EndTime: k.end, MessageIndexOffsets: map[uint16]uint64{}, Compression: chunk.Compression,
		CompressedSize: uint64(len(chunk.Records)), UncompressedSize: chunk.UncompressedSize}
	x.ChunkStart, x.ChunkLength = w.record(chunk)
	for _, c := range w.channels {
		if len(c.index) > 0 {
			at, n := w.record(&MessageIndex{c.ID, c.index})
			x.MessageIndexOffsets[c.ID] = at
			x.MessageIndexLength += n
		}
		c.index, c.inChunk = c.index[:0], false
	}
	w.chunks = append(w.chunks, x)
	w.stats.ChunkCount++
	clear(k.schemas)
	*k = openChunk{records: k.records[:0], schemas: k.schemas}
}

// Attachment writes an attachment, and computes its CRC.
func (w *Writer) Attachment(a *Attachment) error {
	what := "attachment " + a.Name
	if err := w.ready(what); err != nil {
		return err
	}
	if n := len(a.Data) + len(a.Name) + len(a.MediaType); n > maxChunk {
		return &Error{what, dataset.ErrTooLarge, fmt.Sprintf("%d bytes", n), fmt.Sprintf("at most %d", maxChunk)}
	}
	x := &AttachmentIndex{LogTime: a.LogTime, CreateTime: a.CreateTime, DataSize: uint64(len(a.Data)), Name: a.Name, MediaType: a.MediaType}
	x.Offset, x.Length = w.record(a)
	w.attachments = append(w.attachments, x)
	w.stats.AttachmentCount++
	return w.err
}

// Metadata writes a named map from text to text.
func (w *Writer) Metadata(m *Metadata) error {
	if err := w.ready("metadata " + m.Name); err != nil {
		return err
	}
	x := &MetadataIndex{Name: m.Name}
	x.Offset, x.Length = w.record(m)
	w.metadata = append(w.metadata, x)
	w.stats.MetadataCount++
	return w.err
}

// Close completes the file. After a failed write it returns that error, and the file is incomplete.
func (w *Writer) Close() error {
	if w.closed {
		return w.err
	}
	w.closed = true
	w.endChunk()
	for _, c := range w.channels {
		w.define(c)
	}
	for _, s := range w.schemas {
		if !w.inData[s.ID] {
			w.record(s)
		}
	}
	w.record(&DataEnd{w.sum})
	w.sum = 0
	f := &Footer{SummaryStart: w.at}
	groups := w.summary()
	if f.SummaryOffsetStart = w.at; w.at == f.SummaryStart {
		f.SummaryStart = 0
	}
	if w.opt.Omit&OmitSummaryOffsets == 0 {
		for _, g := range groups {
			w.record(g)
		}
	}
	if w.at == f.SummaryOffsetStart {
		f.SummaryOffsetStart = 0
	}
	if w.opt.Omit&OmitCRC == 0 {
		f.SummaryCRC = f.sum(w.sum)
	}
	w.record(f)
	w.bytes([]byte(Magic))
	w.err = errors.Join(w.err, w.out.Flush())
	return w.err
}

// summary writes the summary's records, one group for each opcode, and returns the groups' positions.
func (w *Writer) summary() (groups []*SummaryOffset) {
	group := func(op Opcode, omit Omit, each func()) {
		g := &SummaryOffset{GroupOpcode: op, GroupStart: w.at}
		if w.opt.Omit&omit == 0 {
			each()
		}
		if g.GroupLength = w.at - g.GroupStart; g.GroupLength > 0 {
			groups = append(groups, g)
		}
	}
	group(OpSchema, OmitSchemas, func() {
		for _, s := range w.schemas {
			w.record(s)
		}
	})
	group(OpChannel, OmitChannels, func() {
		for _, c := range w.channels {
			w.record(&c.Channel)
		}
	})
	group(OpStatistics, OmitStatistics, func() {
		w.stats.SchemaCount, w.stats.ChannelCount = uint16(len(w.schemas)), uint32(len(w.channels))
		for _, c := range w.channels {
			if c.count > 0 {
				w.stats.ChannelMessageCounts[c.ID] = c.count
			}
		}
		w.record(&w.stats)
	})
	group(OpMetadataIndex, OmitMetadataIndex, func() {
		for _, x := range w.metadata {
			w.record(x)
		}
	})
	group(OpAttachmentIndex, OmitAttachmentIndex, func() {
		for _, x := range w.attachments {
			w.record(x)
		}
	})
	group(OpChunkIndex, OmitChunkIndex, func() {
		for _, x := range w.chunks {
			w.record(x)
		}
	})
	return groups
}
