package mcap

import (
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/storage"
)

const (
	footerSize  = headSize + 20
	dataEndSize = headSize + 4
	// runSize is the approximate number of bytes of messages outside chunks that are read as one part.
	runSize = 4 << 20
	// checked is the approximate number of chunks that are compared with the index. If more than half of them differ, the index is not used.
	checked = 4
)

// part is a piece of the file that is read at once: a chunk, or a run of records outside chunks.
type part struct {
	at, size int64 // byte range of the Chunk record, or of the whole run
	chunk    bool
	cut      bool // a chunk without its end
}

// span is a byte range of the file that the summary's indexes cover: a chunk, or message indexes.
type span struct {
	at, size int64
	chunk    bool
}

// walker finds the parts of a file.
type walker struct {
	log    *fileLog
	file   storage.File // the log's file; its reads end with the context of Open
	damage *dataset.Notes
	buf    []byte
	from   int64 // offset of buf in the file
	ahead  int   // bytes to read next time
	lostTo int64 // end of the last bytes that were counted as lost
	open   bool  // the last part is a run of messages that the next message may extend
}

// bytes returns n bytes from offset at on, or fewer at the end of the file. The result is valid until the next call.
func (w *walker) bytes(at int64, n int) ([]byte, error) {
	if left := w.file.Size() - at; left < int64(n) {
		n = int(max(left, 0))
	}
	if off := at - w.from; off >= 0 && off+int64(n) <= int64(len(w.buf)) {
		return w.buf[off:][:n], nil
	}
	if at == w.from+int64(len(w.buf)) || at-w.from > 0 && at-w.from < int64(len(w.buf)) {
		w.ahead = min(2*w.ahead, 256<<10) // the reading is sequential
	} else {
		w.ahead = 4 << 10
	}
	size := min(int64(max(n, w.ahead)), w.file.Size()-at)
	if int64(cap(w.buf)) < size {
		w.buf = memory.Must[byte]("record", int(size))
	}
	w.buf, w.from = w.buf[:size], at
	if err := readAt(w.file, w.buf, at); err != nil {
		w.buf = nil
		return nil, err
	}
	return w.buf[:n], nil
}

// readAt fills b from offset at. If the file ends before, because it became shorter, the error is a *dataset.FormatError.
func readAt(r io.ReaderAt, b []byte, at int64) error {
	n, err := r.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == io.EOF {
		bad := broken(dataset.ErrTruncated, at, "file", fmt.Sprintf("%d bytes", n), fmt.Sprintf("%d, as when it was opened", len(b)))
		bad.Err = io.ErrUnexpectedEOF
		return bad
	}
	return err
}

// walk appends the parts of the file from offset at to limit to log.parts, in file order. It takes the byte ranges in index from there,
// without reading them.
func (w *walker) walk(ctx context.Context, at, limit int64, index []span) error {
	for at < limit {
		if err := ctx.Err(); err != nil {
			return err
		}
		for len(index) > 0 && index[0].at < at {
			index = index[1:]
		}
		if len(index) > 0 && index[0].at == at {
			if w.open = false; index[0].chunk {
				w.add(part{at: at, size: index[0].size, chunk: true})
			}
			at += index[0].size
			continue
		}
		end := limit
		if len(index) > 0 {
			end = index[0].at
		}
		next, last, err := w.step(at, end)
		if err != nil || last {
			return err
		}
		at = next
	}
	if !w.log.whole || w.lostTo == at {
		return nil // already reported
	}
	w.damage.AddDamage(dataset.CodeNoDataEnd, 0, broken(dataset.ErrCorrupt, at, "data section", "no DataEnd", "one"))
	return nil
}

func (w *walker) add(p part) { w.log.parts = append(w.log.parts, p) }

// step reads the head of the record at offset at, which must end by end, and returns the offset of the next record; last is true if no
// record follows.
func (w *walker) step(at, end int64) (next int64, last bool, err error) {
	head, err := w.bytes(at, headSize)
	if err != nil {
		return 0, false, err
	}
	left := end - at
	if left < headSize {
		return end, false, w.lost(at, end, "record", fmt.Sprintf("%d bytes", left), "9 or more")
	}
	op, n := recordHead(head)
	size := int64(min(n, 1<<62)) + headSize
	switch {
	case op == 0:
		return end, false, w.lost(at, end, "record", "opcode 0", "1 or more")
	case op == OpDataEnd || op == OpFooter:
		return at, true, nil
	case size > left && op == OpChunk && !w.log.whole && end == w.file.Size():
		w.open = false
		w.add(part{at: at, size: left, chunk: true, cut: true})
		return end, false, nil
	case size > left:
		return end, false, w.lost(at, end, op.String()+": length", fmt.Sprint(n), fmt.Sprintf("at most the %d bytes that are left", left-headSize))
	}
	switch op {
	case OpChunk:
		w.open = false
		w.add(part{at: at, size: size, chunk: true})
	case OpSchema, OpChannel, OpMessage:
		w.run(at, size)
	case OpMessageIndex: // an id, and a list by its length in bytes
		if head, err = w.bytes(at, headSize+6); err != nil {
			return 0, false, err
		}
		if len(head) == headSize+6 {
			w.log.indexed[le.Uint16(head[headSize:])] += int(le.Uint32(head[headSize+2:]) / 16)
		}
	case OpAttachment:
		return at + size, false, w.attachment(at, size)
	case OpMetadata:
		return at + size, false, w.metadata(at, size)
	}
	return at + size, false, nil
}

// run adds a record outside chunks to the open run, or begins a new run if none is open or it would exceed runSize.
func (w *walker) run(at, size int64) {
	if list := w.log.parts; w.open {
		if p := &list[len(list)-1]; at+size-p.at <= runSize {
			p.size = at + size - p.at
			return
		}
	}
	w.add(part{at: at, size: size})
	w.open = true
}

// lost counts the bytes from at to end as damage, because they are no complete record. It returns nil.
func (w *walker) lost(at, end int64, msg, got, want string) error {
	code, kind := dataset.CodeNoRecords, dataset.ErrCorrupt
	if !w.log.whole && end == w.file.Size() {
		code, kind = dataset.CodeRecordCut, dataset.ErrTruncated
	}
	w.open, w.lostTo = false, end
	w.damage.AddDamage(code, end-at, broken(kind, at, msg, got, want))
	return nil
}

// maxSaid is the largest size in bytes of a Metadata record, or of an attachment's description, that is kept.
const maxSaid = 1 << 20

func (w *walker) metadata(at, size int64) error {
	if size > maxSaid {
		w.log.tooLong = append(w.log.tooLong, dataset.Note{Code: dataset.CodeTooLong, Subject: "metadata", Count: 1, Detail: dataset.Detail{Bytes: size}})
		return nil
	}
	b, err := w.bytes(at, int(size))
	if err != nil {
		return err
	}
	m := &Metadata{}
	if err := parseInto(m, b[headSize:], at); err != nil {
		bad, _ := dataset.AsBroken(err)
		w.damage.AddDamage(dataset.CodeRecordBroken, size, bad)
		return nil
	}
	w.log.Metadata = append(w.log.Metadata, m)
	return nil
}

// attachment reads the description of an attachment, not its content.
func (w *walker) attachment(at, size int64) error {
	b, err := w.bytes(at, int(min(size, 64<<10)))
	if err != nil {
		return err
	}
	c := cursor{b: b[headSize:], at: at + headSize, op: OpAttachment}
	x := &AttachmentIndex{Offset: uint64(at), Length: uint64(size)}
	x.LogTime, x.CreateTime, x.Name, x.MediaType, x.DataSize = c.u64("log time"), c.u64("create time"), c.text("name"), c.text("media type"), c.u64("data")
	if c.bad == nil && x.DataSize > uint64(at+size-c.at) {
		c.fail(dataset.ErrTruncated, "data", fmt.Sprintf("%d bytes", at+size-c.at), fmt.Sprint(x.DataSize))
	}
	if c.bad != nil {
		w.damage.AddDamage(dataset.CodeRecordBroken, size, c.bad)
		return nil
	}
	w.log.Attachments = append(w.log.Attachments, x)
	return nil
}

// indexed returns the parts up to limit that the summary's chunk indexes cover, in order; nil if the indexes cannot be right.
func (w *walker) indexed(list []*ChunkIndex, limit int64) ([]span, error) {
	slices.SortFunc(list, func(a, b *ChunkIndex) int { return cmp.Compare(a.ChunkStart, b.ChunkStart) })
	var spans []span
	var wrong []*dataset.FormatError // errors in the chunks that are compared
	looked := 0
	for i, x := range list {
		end := uint64(limit)
		if i+1 < len(list) {
			end = min(end, list[i+1].ChunkStart)
		}
		if x.ChunkStart < uint64(len(Magic)) || x.ChunkStart > end || x.ChunkLength < headSize || x.ChunkLength > end-x.ChunkStart {
			return nil, w.noIndex(broken(dataset.ErrCorrupt, -1, "ChunkIndex", fmt.Sprintf("a chunk of %d bytes at byte %d", x.ChunkLength, x.ChunkStart), fmt.Sprintf("one that ends before byte %d", end)))
		}
		if i%max(1, len(list)/checked) == 0 || i == len(list)-1 {
			head, err := w.bytes(int64(x.ChunkStart), headSize)
			if err != nil {
				return nil, err
			}
			looked++
			if op, n := recordHead(head); op != OpChunk || n+headSize != x.ChunkLength {
				wrong = append(wrong, broken(dataset.ErrCorrupt, -1, "ChunkIndex", fmt.Sprintf("%v of %d bytes at byte %d", op, n, x.ChunkStart), fmt.Sprintf("a chunk of %d", x.ChunkLength-headSize)))
			}
		}
		spans = append(spans, span{int64(x.ChunkStart), int64(x.ChunkLength), true})
		if after := x.ChunkStart + x.ChunkLength; x.MessageIndexLength > 0 && x.MessageIndexLength <= end-after {
			spans = append(spans, span{int64(after), int64(x.MessageIndexLength), false})
		}
	}
	if 2*len(wrong) > looked {
		return nil, w.noIndex(wrong[0])
	}
	return spans, nil // if the index is wrong about a chunk, the chunk itself is broken
}

func (w *walker) noIndex(bad *dataset.FormatError) error {
	w.damage.AddDamage(dataset.CodeIndexBroken, 0, bad)
	return nil
}

// end returns the footer and its offset. If there is none, because the file was not closed or was cut, it counts damage and returns the
// file's size and nil.
func (w *walker) end() (int64, *Footer, error) {
	size := w.file.Size()
	b, err := w.bytes(max(size-footerSize-int64(len(Magic)), 0), footerSize+len(Magic))
	if err != nil {
		return 0, nil, err
	}
	f := &Footer{}
	if len(b) == footerSize+len(Magic) && string(b[footerSize:]) == Magic {
		if op, n := recordHead(b); op == OpFooter && n == 20 && f.parseFrom(b) {
			return size - footerSize - int64(len(Magic)), f, nil
		}
	}
	w.damage.AddDamage(dataset.CodeNotClosed, 0, broken(dataset.ErrTruncated, size, "end of the file", "no footer", "one"))
	return size, nil, nil
}

// sum returns the CRC of a summary section. before is the CRC of the records before the footer.
func (f *Footer) sum(before uint32) uint32 {
	return crc32.Update(before, crc32.IEEETable, appendRecord(nil, f)[:headSize+16])
}

func (f *Footer) parseFrom(b []byte) bool {
	return parseInto(f, b[headSize:footerSize], 0) == nil
}

// summary calls use for the summary's records, and reports whether the summary is valid. An invalid one is counted as damage, and is no
// error.
func (w *walker) summary(footerAt int64, f *Footer, use func(op Opcode, body []byte, at int64) error) (bool, error) {
	start := int64(min(f.SummaryStart, 1<<62))
	b, err := w.summaryBytes(start, footerAt, f)
	for at := start; err == nil && len(b) > 0; {
		var body []byte
		var op Opcode
		if op, body, err = cutRecord(b, at); err == nil {
			err = use(op, body, at)
			b, at = b[headSize+len(body):], at+headSize+int64(len(body))
		}
	}
	if bad, is := dataset.AsBroken(err); is {
		w.damage.AddDamage(dataset.CodeIndexBroken, 0, bad) // nothing is lost, because the file is scanned
		return false, nil
	}
	return err == nil, err
}

func (w *walker) summaryBytes(start, footerAt int64, f *Footer) ([]byte, error) {
	if start < int64(len(Magic))+dataEndSize || start > footerAt {
		return nil, broken(dataset.ErrCorrupt, footerAt+headSize, "Footer: summary start", fmt.Sprint(start), fmt.Sprintf("a byte before %d", footerAt))
	}
	if footerAt-start > maxChunk {
		return nil, broken(dataset.ErrTooLarge, footerAt+headSize, "summary", fmt.Sprintf("%d bytes", footerAt-start), fmt.Sprintf("at most %d", maxChunk))
	}
	b := memory.Must[byte]("summary", int(footerAt-start))
	if err := readAt(w.file, b, start); err != nil {
		return nil, err
	}
	if f.SummaryCRC != 0 {
		if got := f.sum(crc32.ChecksumIEEE(b)); got != f.SummaryCRC {
			return nil, wrongCRC(start, "summary section", got, f.SummaryCRC)
		}
	}
	return b, nil
}
