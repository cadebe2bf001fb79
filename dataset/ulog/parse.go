package ulog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
)

const (
	fileMagic = "ULog\x01\x12\x35"
	syncMagic = "\x2f\x73\x13\x20\x25\x0c\xbb\x12"
	flagsSize = 40
)

type parser struct {
	file    *window
	opt     Options
	walk    walker
	log     *Log
	formats map[string]*format
	topics  map[instance]*topic
	order   []*topic // by first subscription
	stopped []*topic
	ids     map[uint16]*topic
	volumes map[uint16]volume
	// contested replaces the topic for an id that several topics claim. It is not live, because its data belongs to none of them.
	contested topic
	multi     map[string]int // index of each MultiInfo in the log, by name
	names     int            // bytes that further column names may take
	last      int64          // the latest timestamp so far
	far       int64          // a timestamp much later than last, which no other one confirms
	dropped   int64          // the sum of the dropouts so far
	strongAt  int            // offset of the last message that was found to be strong, which need not be checked again
	taken     int            // bytes in the messages that were read; together with the damaged bytes they are the file
}

func (p *parser) parse() (*Log, error) {
	d := p.file.from(0, headerSize)
	if p.file.err != nil {
		return nil, p.file.err
	}
	if len(d) < headerSize {
		return nil, &dataset.FormatError{Format: "ulog", Offset: int64(len(d)), Kind: dataset.ErrTruncated, Msg: "file header", Got: fmt.Sprintf("%d bytes", len(d)), Want: strconv.Itoa(headerSize), Err: io.ErrUnexpectedEOF}
	}
	if string(d[:7]) != fileMagic {
		return nil, corrupt(0, "file magic", fmt.Sprintf("% x", d[:7]), fmt.Sprintf("% x", fileMagic))
	}
	if d[7] > 1 {
		return nil, &dataset.FormatError{Format: "ulog", Offset: 7, Kind: dataset.ErrUnsupported, Msg: "file version", Got: strconv.Itoa(int(d[7])), Want: "0 or 1"}
	}
	p.log = &Log{Version: int(d[7])}
	p.log.Rotation = dataset.RotationWXYZ // as PX4 has them
	start, err := micros(binary.LittleEndian.Uint64(d[8:]), 8)
	if err != nil {
		if err := p.lose(dataset.CodeTimeOverflow, 0, err); err != nil {
			return nil, err
		}
	}
	p.log.Start, p.last, p.far = start, start, start
	p.formats, p.topics, p.ids, p.multi = map[string]*format{}, map[instance]*topic{}, map[uint16]*topic{}, map[string]int{}
	p.names = 1<<20 + 64*p.file.size
	p.walk = walker{file: p.file, at: headerSize}
	for p.walk.more() {
		err := p.step()
		if p.file.err != nil {
			return nil, p.file.err
		}
		if err != nil {
			return nil, err
		}
	}
	return p.log, p.streams(p.log)
}

// step reads the next message, or skips bytes that are no message.
func (p *parser) step() error {
	m := p.walk.head(p.walk.at)
	if p.sound(m) {
		p.walk.at = m.end()
		code, err := p.message(m)
		if err != nil {
			return p.lose(code, m.end()-m.off, err)
		}
		p.taken += m.end() - m.off
		return nil
	}
	limit := p.walk.limit()
	next := limit
	if !p.opt.Strict {
		next = p.scan(m.off+1, limit)
	}
	p.walk.at = next
	switch {
	case next < limit || m.whole():
		return p.lose(dataset.CodeNoRecords, next-m.off, p.passed(m, next))
	case limit < p.file.size: // the recorder stopped here, and another part was appended: the format foresees it
		p.log.Notes.AddDamage(dataset.CodeRecordInterrupted, int64(next-m.off), p.walk.cutShort(m))
		return nil
	}
	return p.lose(dataset.CodeRecordCut, next-m.off, p.walk.cutShort(m))
}

// lose counts damage. With Strict it returns the error instead.
func (p *parser) lose(code dataset.Code, size int, err error) error {
	bad, broken := dataset.AsBroken(err)
	if p.opt.Strict || !broken {
		return err
	}
	p.log.Notes.AddDamage(code, int64(size), bad)
	return nil
}

// message reads a message. With an error it also returns the code of its damage.
func (p *parser) message(m message) (dataset.Code, error) {
	var err error
	switch m.kind {
	case 'D':
		return p.sample(m)
	case 'F':
		return dataset.CodeRecordBroken, p.define(m)
	case 'A':
		return dataset.CodeRecordBroken, p.subscribe(m)
	case 'R':
		return dataset.CodeRecordBroken, p.unsubscribe(m)
	case 'I':
		return dataset.CodeRecordBroken, p.info(m.at(), m.body)
	case 'M':
		return dataset.CodeRecordBroken, p.multiInfo(m.at(), m.body)
	case 'P', 'Q':
		return dataset.CodeRecordBroken, p.parameter(m.at(), m.kind, m.body)
	case 'L', 'C':
		return dataset.CodeRecordBroken, p.text(m)
	case 'S':
		if string(m.body) != syncMagic {
			err = corrupt(m.at(), "synchronisation", fmt.Sprintf("% x", m.body[:min(m.size, 8)]), fmt.Sprintf("% x", syncMagic))
			return dataset.CodeRecordBroken, err
		}
		p.log.Syncs++
	case 'O':
		if m.size != 2 {
			return dataset.CodeRecordBroken, corrupt(m.at(), "dropout", fmt.Sprintf("%d bytes", m.size), "2")
		}
		d := int64(binary.LittleEndian.Uint16(m.body)) * 1e6
		p.dropped += d
		p.log.Dropouts = append(p.log.Dropouts, dataset.Dropout{Time: p.last, Duration: d})
	case 'B':
		return dataset.CodeRecordBroken, p.flags(m)
	default:
		p.log.Unknown++
	}
	return "", nil
}

// flags reads the flag bits. Unknown bits that make a file incompatible are an error, as the format requires.
func (p *parser) flags(m message) error {
	at, body := m.at(), m.body
	if m.off != headerSize {
		return corrupt(int64(m.off), "message type", "flag bits", "them only as the first message")
	}
	if len(body) < flagsSize {
		return corrupt(at, "flag bits", fmt.Sprintf("%d bytes", len(body)), "at least 40")
	}
	for i, b := range body[8:16] {
		if i == 0 {
			b &^= 1
		}
		if b != 0 {
			return &dataset.FormatError{Format: "ulog", Offset: at + 8 + int64(i), Kind: dataset.ErrUnsupported, Msg: "flag bits", Got: fmt.Sprintf("incompatible flags %#02x", b), Want: "those this reader knows"}
		}
	}
	if body[8]&1 == 0 {
		return nil
	}
	for i := range 3 {
		part := binary.LittleEndian.Uint64(body[16+8*i:])
		if part == 0 {
			break
		}
		here, low := at+16+8*int64(i), uint64(p.walk.at)
		if n := len(p.walk.parts); n > 0 {
			low = uint64(p.walk.parts[n-1])
		}
		var bad *dataset.FormatError
		switch {
		case part < low:
			bad = corrupt(here, "offset of appended data", strconv.FormatUint(part, 10), fmt.Sprintf("at least %d", low))
		case part > uint64(p.file.size):
			bad = &dataset.FormatError{Format: "ulog", Offset: here, Kind: dataset.ErrTruncated, Msg: "offset of appended data", Got: strconv.FormatUint(part, 10), Want: fmt.Sprintf("at most %d, the file's size", p.file.size), Err: io.ErrUnexpectedEOF}
		}
		if bad != nil {
			return p.lose(dataset.CodePartMisplaced, 0, bad)
		}
		p.walk.parts = append(p.walk.parts, int(part))
	}
	return nil
}

// key splits the body of an information or parameter message: the key's length, the key "type name", and the value. An invalid key is a
// *dataset.FormatError.
func key(at int64, what string, body []byte) (typ, name string, value []byte, err error) {
	_, _, value, ok := splitKey(body)
	if !ok {
		return "", "", nil, corrupt(at, what, fmt.Sprintf("%d bytes", len(body)), "a key and a value")
	}
	text := string(body[1 : len(body)-len(value)])
	typ, name, _ = strings.Cut(text, " ")
	if _, _, _, ok := splitType(typ); !ok || !plain(name) {
		return "", "", nil, corrupt(at+1, what, quote(text), "a type, a space, a name")
	}
	return typ, name, value, nil
}

func splitKey(body []byte) (typ, name, value []byte, ok bool) {
	if len(body) < 1 || len(body) < 1+int(body[0]) {
		return nil, nil, nil, false
	}
	text, value := body[1:1+int(body[0])], body[1+int(body[0]):]
	typ, name, _ = bytes.Cut(text, []byte(" "))
	return typ, name, value, true
}

func (p *parser) info(at int64, body []byte) error {
	typ, name, value, err := key(at, "information", body)
	if err != nil {
		return err
	}
	elem, n, array, _ := splitType(typ)
	b := bases[elem]
	in := Info{Name: name, Type: typ}
	if b != 0 && (n > maxMessage || len(value) != n*baseSize[b]) {
		return corrupt(at, "information "+quote(name), fmt.Sprintf("%d bytes", len(value)), "as many as "+typ+" takes")
	}
	switch {
	case b == tChar:
		in.Value = string(value)
	case b == 0 || array:
		in.Value = append([]byte(nil), value...)
	default:
		in.Value = number(b, value)
	}
	p.log.Info = append(p.log.Info, in)
	return nil
}

// number reads one value of a type other than char.
func number(b base, v []byte) any {
	le := binary.LittleEndian
	switch b {
	case tInt8:
		return int64(int8(v[0]))
	case tUint8:
		return uint64(v[0])
	case tInt16:
		return int64(int16(le.Uint16(v)))
	case tUint16:
		return uint64(le.Uint16(v))
	case tInt32:
		return int64(int32(le.Uint32(v)))
	case tUint32:
		return uint64(le.Uint32(v))
	case tInt64:
		return int64(le.Uint64(v))
	case tUint64:
		return le.Uint64(v)
	case tFloat:
		return float64(math.Float32frombits(le.Uint32(v)))
	case tDouble:
		return math.Float64frombits(le.Uint64(v))
	}
	return v[0] != 0
}

func (p *parser) multiInfo(at int64, body []byte) error {
	if len(body) < 1 {
		return corrupt(at, "multiple information", "no bytes", "at least 1")
	}
	typ, name, value, err := key(at+1, "multiple information", body[1:])
	if err != nil {
		return err
	}
	i, known := p.multi[name]
	if !known {
		i = len(p.log.MultiInfo)
		p.multi[name] = i
		p.log.MultiInfo = append(p.log.MultiInfo, MultiInfo{Name: name, Type: typ})
	}
	m := &p.log.MultiInfo[i]
	if n := len(m.Values); body[0] != 0 && n > 0 {
		m.Values[n-1] = append(m.Values[n-1], value...)
	} else {
		m.Values = append(m.Values, append([]byte(nil), value...))
	}
	return nil
}

// parameter reads a parameter ('P') or a default of one ('Q').
func (p *parser) parameter(at int64, kind byte, body []byte) error {
	what, flags := "parameter", byte(0)
	if kind == 'Q' {
		what = "default parameter"
		if len(body) < 1 {
			return corrupt(at, what, "no bytes", "at least 1")
		}
		flags, body, at = body[0], body[1:], at+1
	}
	typ, name, value, err := key(at, what, body)
	if err != nil {
		return err
	}
	b := bases[typ]
	if b != tInt32 && b != tFloat {
		return corrupt(at+1, what+" "+quote(name), "type "+quote(typ), "int32_t or float")
	}
	if len(value) != 4 {
		return corrupt(at, what+" "+quote(name), fmt.Sprintf("%d bytes", len(value)), "4")
	}
	bits := binary.LittleEndian.Uint32(value)
	v := float64(int32(bits))
	if b == tFloat {
		v = float64(math.Float32frombits(bits))
	}
	if kind == 'Q' {
		p.log.Defaults = append(p.log.Defaults, Default{name, typ, v, flags&1 != 0, flags&2 != 0})
	} else {
		p.log.Parameters = append(p.log.Parameters, Parameter{name, typ, v, p.last})
	}
	return nil
}

// text reads a logged line of text, with a tag ('C') or without ('L').
func (p *parser) text(msg message) error {
	at, body, size := msg.at(), msg.body, textHead(msg.kind)
	if len(body) < size {
		return corrupt(at, "logged text", fmt.Sprintf("%d bytes", len(body)), fmt.Sprintf("at least %d", size))
	}
	if !isLevel(body[0]) {
		return corrupt(at, "level of a logged text", fmt.Sprintf("%#02x", body[0]), "'0' to '7'")
	}
	m := Message{Level: body[0], Text: string(body[size:]), Tagged: msg.kind == 'C'}
	if m.Tagged {
		m.Tag = binary.LittleEndian.Uint16(body[1:])
	}
	time, err := micros(binary.LittleEndian.Uint64(body[size-8:]), at+int64(size)-8)
	if err != nil {
		return err
	}
	m.Time = time
	p.log.Messages = append(p.log.Messages, m)
	return nil
}

// textHead returns the bytes of a logged line before its text.
func textHead(kind byte) int {
	if kind == 'C' {
		return 11
	}
	return 9
}

func isLevel(c byte) bool { return c >= '0' && c <= '7' }

func corrupt(at int64, msg, got, want string) *dataset.FormatError {
	return &dataset.FormatError{Format: "ulog", Offset: at, Kind: dataset.ErrCorrupt, Msg: msg, Got: got, Want: want}
}

func tooLarge(at int64, msg, got, want string) *dataset.FormatError {
	return &dataset.FormatError{Format: "ulog", Offset: at, Kind: dataset.ErrTooLarge, Msg: msg, Got: got, Want: want}
}

// quote quotes text from a file, and shortens it.
func quote(s string) string {
	if len(s) > 60 {
		s = s[:60]
	}
	return strconv.Quote(s)
}
