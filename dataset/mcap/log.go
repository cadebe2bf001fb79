package mcap

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/storage"
)

// fileLog reads the messages of a file. It implements mcaplog.Log.
type fileLog struct {
	Header      Header
	Metadata    []*Metadata
	Attachments []*AttachmentIndex // their descriptions
	Statistics  *Statistics        // nil if the file has none

	file    storage.File
	path    string
	whole   bool // the file has a footer
	parts   []part
	counts  []atomic.Uint64 // number of messages in each part, after it was read
	indexed map[uint16]int  // messages by channel id, counted in the message indexes that were read
	tooLong dataset.Notes
	cache   cache
	names   names
}

// newLog opens a file's log: see mcaplog.Open.
func newLog(ctx context.Context, file storage.File, path string, damage *dataset.Notes) (*fileLog, error) {
	l := &fileLog{file: file, path: path, indexed: map[uint16]int{}}
	l.names.log, l.cache.log, l.cache.most = l, l, 16<<20
	if err := l.open(ctx, damage); err != nil {
		return nil, l.named(err)
	}
	damage.SetPath(path)
	return l, nil
}

func (l *fileLog) open(ctx context.Context, damage *dataset.Notes) error {
	w := &walker{log: l, file: storage.Bound(ctx, l.file), damage: damage}
	magic, err := w.bytes(0, len(Magic))
	if err != nil {
		return err
	}
	if err := checkMagic(magic); err != nil {
		return err
	}
	limit, footer, err := w.end()
	if err != nil {
		return err
	}
	l.whole = footer != nil
	var index []span
	if l.whole && footer.SummaryStart > 0 {
		var ok bool
		if index, ok, err = w.readSummary(limit, footer); err != nil {
			return err
		}
		if ok {
			limit = int64(footer.SummaryStart)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	at, err := w.header()
	if err != nil {
		return err
	}
	if err := w.walk(ctx, at, limit, index); err != nil {
		return err
	}
	l.names.defs, l.counts = make([]*defs, len(l.parts)), make([]atomic.Uint64, len(l.parts))
	return nil
}

// checkMagic distinguishes files of another version from other formats.
func checkMagic(b []byte) error {
	switch {
	case string(b) == Magic:
		return nil
	case len(b) < len(Magic) && string(b) == Magic[:len(b)]:
		return broken(dataset.ErrTruncated, 0, "magic", fmt.Sprintf("%q", b), fmt.Sprintf("%q", Magic))
	case len(b) == len(Magic) && string(b[:5]) == Magic[:5] && string(b[6:]) == Magic[6:]:
		return broken(dataset.ErrUnsupported, 5, "version", strconv.QuoteRune(rune(b[5])), `"0"`)
	}
	return broken(dataset.ErrCorrupt, 0, "magic", fmt.Sprintf("%q", b), fmt.Sprintf("%q", Magic))
}

// header reads the Header record, and returns the offset of the next record. If the first record is no Header, it returns that record's
// own offset.
func (w *walker) header() (int64, error) {
	at := int64(len(Magic))
	head, err := w.bytes(at, headSize)
	if err != nil || len(head) < headSize {
		return at, err
	}
	op, n := recordHead(head)
	if op != OpHeader || n > maxSaid || at+headSize+int64(n) > w.file.Size() {
		return at, nil // walk reads it as an ordinary record
	}
	b, err := w.bytes(at, headSize+int(n))
	if err != nil {
		return 0, err
	}
	if err := parseInto(&w.log.Header, b[headSize:], at); err != nil {
		bad, _ := dataset.AsBroken(err)
		w.damage.AddDamage(dataset.CodeHeaderBroken, int64(len(b)), bad)
	}
	return at + int64(len(b)), nil
}

// readSummary reads the summary's schemas, channels, statistics and chunk indexes. It returns the byte ranges of the file that the
// indexes cover, and whether the summary is valid. An invalid one is counted as damage, and leaves nothing.
func (w *walker) readSummary(footerAt int64, f *Footer) ([]span, bool, error) {
	l := w.log
	var chunks []*ChunkIndex
	said := &defs{}
	ok, err := w.summary(footerAt, f, func(op Opcode, body []byte, at int64) error {
		switch op {
		case OpSchema, OpChannel:
			_, err := l.names.read(said, op, body, at)
			return err
		case OpChunkIndex:
			x := &ChunkIndex{}
			err := parseInto(x, body, at)
			x.MessageIndexOffsets = nil
			chunks = append(chunks, x)
			return err
		case OpStatistics:
			l.Statistics = &Statistics{}
			return parseInto(l.Statistics, body, at)
		}
		return nil
	})
	if err != nil || !ok {
		l.Statistics, l.names = nil, names{log: l}
		return nil, false, err
	}
	l.names.summary = said
	spans, err := w.indexed(chunks, int64(f.SummaryStart))
	return spans, true, err
}

// named adds the path to an error. A closed file becomes dataset.ErrClosed.
func (l *fileLog) named(err error) error {
	err = dataset.InFile(err, l.path)
	if errors.Is(err, fs.ErrClosed) {
		err = fmt.Errorf("mcap: %s: %w", l.path, dataset.ErrClosed)
	}
	return err
}

// Note returns the value of a key in the first metadata record with a name; "" if there is none.
func (l *fileLog) Note(name, key string) string {
	for _, m := range l.Metadata {
		if m.Name == name {
			return m.Metadata[key]
		}
	}
	return ""
}

// Channels returns the channels of the messages that were read so far.
func (l *fileLog) Channels() []topics.Channel {
	l.names.mu.Lock()
	defer l.names.mu.Unlock()
	return slices.Clip(l.names.channels)
}

// Count returns the number of messages on a channel from the statistics, or without them from the message indexes that were read.
func (l *fileLog) Count(channel int) int {
	l.names.mu.Lock()
	defer l.names.mu.Unlock()
	id := l.names.ids[channel]
	if l.Statistics != nil {
		return int(l.Statistics.ChannelMessageCounts[id])
	}
	return l.indexed[id]
}

// count returns the number of messages in the parts that were read.
func (l *fileLog) count() (n uint64) {
	for i := range l.counts {
		n += l.counts[i].Load()
	}
	return n
}

// Parts returns the number of parts.
func (l *fileLog) Parts() int { return len(l.parts) }

// records returns the records of a part: schemas, channels and messages. file is the memory for the bytes as stored, room for the
// uncompressed ones. The result is valid until either is used again. A damaged part is a *dataset.FormatError.
func (l *fileLog) records(ctx context.Context, p part, file, room *[]byte) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if p.size > maxChunk {
		return nil, broken(dataset.ErrTooLarge, p.at, "record", fmt.Sprintf("%d bytes", p.size), fmt.Sprintf("at most %d", maxChunk))
	}
	b := grown(file, int(p.size))
	if err := readAt(storage.Bound(ctx, l.file), b, p.at); err != nil {
		return nil, err
	}
	if !p.chunk {
		return b, nil
	}
	var k Chunk
	if p.cut {
		return k.whatIsLeft(b[headSize:], room, p.at)
	}
	if op, n := recordHead(b); op != OpChunk || n != uint64(p.size-headSize) {
		return nil, broken(dataset.ErrCorrupt, p.at, "record", fmt.Sprintf("%v of %d bytes", op, n), fmt.Sprintf("Chunk of %d", p.size-headSize))
	}
	if err := parseInto(&k, b[headSize:], p.at); err != nil {
		return nil, err
	}
	return k.uncompress(room, p.at, false)
}

// whatIsLeft returns the available records of a chunk that the end of the file cuts.
func (k *Chunk) whatIsLeft(body []byte, room *[]byte, at int64) ([]byte, error) {
	c := cursor{b: body, at: at + headSize, op: OpChunk}
	k.StartTime, k.EndTime, k.UncompressedSize = c.u64("message start time"), c.u64("message end time"), c.u64("uncompressed size")
	k.UncompressedCRC, k.Compression = c.u32("uncompressed CRC"), c.text("compression")
	c.u64("records")
	if err := c.error(); err != nil {
		return nil, err
	}
	k.Records = c.b
	return k.uncompress(room, at, true)
}

// reading is one pass over a part.
type reading struct {
	log    *fileLog
	part   int
	damage *dataset.Notes
	defs   *defs
	local  []int32 // by channel id: the channel's number plus 1; 0 if it was not searched yet
	count  int     // messages that were used
}

// Each calls use for each message in a part, in file order. Damaged records are counted in damage, and are no error.
func (l *fileLog) Each(ctx context.Context, number int, damage *dataset.Notes, use func(m topics.Message) error) error {
	return l.named(l.each(ctx, number, damage, use))
}

func (l *fileLog) each(ctx context.Context, number int, damage *dataset.Notes, use func(m topics.Message) error) error {
	p := l.parts[number]
	file, room := buffers.Get().(*[]byte), buffers.Get().(*[]byte)
	defer buffers.Put(file)
	defer buffers.Put(room)
	r := &reading{log: l, part: number, damage: damage, defs: &defs{}}
	b, err := l.records(ctx, p, file, room)
	if err == nil {
		err = r.messages(ctx, b, use)
	} else if bad, is := dataset.AsBroken(err); is {
		code := dataset.CodeChunkBroken
		if !p.chunk {
			code = dataset.CodeNoRecords
		}
		r.add(code, p.size, bad)
		err = nil
	}
	l.counts[number].Store(uint64(r.count))
	if err == nil {
		l.names.keep(number, r.defs)
	}
	return err
}

// add counts damaged bytes, with the error that explains them.
func (r *reading) add(code dataset.Code, bytes int64, bad *dataset.FormatError) {
	bad.Path = r.log.path
	r.damage.AddDamage(code, bytes, bad)
}

// base returns the origin of record offsets in the part: the byte in the file where they begin, or 0 in a chunk.
func (r *reading) base() int64 {
	if p := r.log.parts[r.part]; !p.chunk {
		return p.at
	}
	return 0
}

// messages calls use for the messages among a part's records, and takes the definitions of channels and schemas.
func (r *reading) messages(ctx context.Context, b []byte, use func(m topics.Message) error) error {
	p, base := r.log.parts[r.part], r.base()
	m := topics.Message{At: topics.At{Part: r.part}}
	for at := int64(0); len(b) > 0; {
		op, body, err := cutRecord(b, base+at)
		if err != nil {
			bad, _ := dataset.AsBroken(err)
			if !p.cut {
				r.add(dataset.CodeNoRecords, int64(len(b)), bad)
			}
			break
		}
		switch op {
		case OpMessage:
			if len(body) < messageHead {
				r.add(dataset.CodeMessageShort, int64(headSize+len(body)), broken(dataset.ErrTruncated, base+at, "Message", fmt.Sprintf("%d bytes", len(body)), "22 or more"))
				break
			}
			id, log, publish := le.Uint16(body), le.Uint64(body[6:]), le.Uint64(body[14:])
			if log > math.MaxInt64 || publish > math.MaxInt64 {
				r.add(dataset.CodeTimeOverflow, int64(headSize+len(body)),
					broken(dataset.ErrTooLarge, base+at, "Message: time", fmt.Sprint(max(log, publish)), fmt.Sprintf("at most %d", int64(math.MaxInt64))))
				break
			}
			if m.Channel, err = r.channel(ctx, id); err != nil {
				return err
			}
			if m.Channel < 0 {
				r.add(dataset.CodeMessageWithoutTopic, int64(headSize+len(body)), broken(dataset.ErrCorrupt, base+at, "Message: channel id", fmt.Sprint(id), "one of a Channel"))
				break
			}
			m.Sequence, m.Log, m.Publish, m.At.Offset, m.Data = le.Uint32(body[2:]), int64(log), int64(publish), at, body[messageHead:]
			if err := use(m); err != nil {
				return err
			}
			r.count++
		case OpSchema, OpChannel:
			if err := r.define(ctx, op, body, base+at); err != nil {
				return err
			}
		default:
			if p.chunk && op <= OpDataEnd {
				r.add(dataset.CodeRecordMisplaced, int64(headSize+len(body)),
					broken(dataset.ErrCorrupt, base+at, "record in a Chunk", op.String(), "Schema, Channel or Message"))
			}
		}
		b, at = b[headSize+len(body):], at+headSize+int64(len(body))
	}
	if p.cut {
		r.add(dataset.CodeChunkCut, 0, broken(dataset.ErrTruncated, p.at, "Chunk", fmt.Sprintf("%d bytes, with %d whole messages", p.size, r.count), "all of it"))
	}
	return nil
}

// messageHead is the size of a message's fields before its data.
const messageHead = 2 + 4 + 8 + 8

// Message returns the data of one message again.
func (l *fileLog) Message(ctx context.Context, at topics.At) ([]byte, error) {
	b, err := l.message(ctx, at)
	return b, l.named(err)
}

func (l *fileLog) message(ctx context.Context, at topics.At) ([]byte, error) {
	if at.Part < 0 || at.Part >= len(l.parts) {
		return nil, &dataset.RangeError{What: "part", Got: at.Part, Len: len(l.parts)}
	}
	p := l.parts[at.Part]
	wrong := broken(dataset.ErrCorrupt, p.at, "message", "none", "that which was there before")
	if !p.chunk {
		if at.Offset < 0 || at.Offset > p.size-headSize-messageHead {
			return nil, wrong
		}
		file, head := storage.Bound(ctx, l.file), make([]byte, headSize)
		if err := readAt(file, head, p.at+at.Offset); err != nil {
			return nil, err
		}
		op, n := recordHead(head)
		if op != OpMessage || n > uint64(p.size-at.Offset-headSize) || n < messageHead {
			return nil, wrong
		}
		b, err := memory.Make[byte]("message", int(n-messageHead))
		if err != nil {
			return nil, err
		}
		return b, readAt(file, b, p.at+at.Offset+headSize+messageHead)
	}
	var data []byte
	err := l.cache.with(ctx, at.Part, func(b []byte) error {
		if at.Offset < 0 || at.Offset > int64(len(b)) {
			return wrong
		}
		op, body, err := cutRecord(b[at.Offset:], at.Offset)
		if err != nil || op != OpMessage || len(body) < messageHead {
			return wrong
		}
		data = slices.Clone(body[messageHead:])
		return nil
	})
	return data, err
}
