package ulog

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/robocache/robocache/dataset"
)

const (
	fileMagic = "ULog\x01\x12\x35"
	syncMagic = "\x2f\x73\x13\x20\x25\x0c\xbb\x12"
)

type parser struct {
	data    []byte
	opt     Options
	walk    walker
	log     *Log
	formats map[string]*format
	topics  map[instance]*topic
	order   []*topic // by first subscription
	stopped []*topic
	ids     map[uint16]*topic
	volumes map[uint16]volume
	multi   map[string]int // where a MultiInfo is in the log
	names   int            // bytes of column names that may still be made
	last    int64          // the latest timestamp so far
	dropped int64          // the sum of the dropouts so far
}

func (p *parser) parse() (*Log, error) {
	d := p.data
	if len(d) < headerSize {
		return nil, &dataset.FormatError{Format: "ulog", Offset: int64(len(d)), Kind: dataset.ErrTruncated, Msg: "file header", Got: fmt.Sprintf("%d bytes", len(d)), Want: strconv.Itoa(headerSize), Err: io.ErrUnexpectedEOF}
	}
	if string(d[:7]) != fileMagic {
		return nil, corrupt(0, "file magic", fmt.Sprintf("% x", d[:7]), fmt.Sprintf("% x", fileMagic))
	}
	if d[7] > 1 {
		return nil, &dataset.FormatError{Format: "ulog", Offset: 7, Kind: dataset.ErrUnsupported, Msg: "file version", Got: strconv.Itoa(int(d[7])), Want: "0 or 1"}
	}
	start, err := micros(binary.LittleEndian.Uint64(d[8:]), 8)
	if err != nil {
		return nil, err
	}
	p.log = &Log{Version: int(d[7]), Start: start}
	p.log.Rotation = dataset.RotationWXYZ // as PX4 has them
	p.formats, p.topics, p.ids, p.multi = map[string]*format{}, map[instance]*topic{}, map[uint16]*topic{}, map[string]int{}
	p.names = 1<<20 + 64*len(d)
	p.last = start
	p.walk = walker{data: d, at: headerSize}
	if off, err := p.messages(); err != nil {
		bad, broken := dataset.AsDamage(err)
		if p.opt.Strict || !broken {
			return nil, err
		}
		p.log.Damage.Add("messages that could not be read", int64(len(d)-off), bad)
	}
	if p.walk.cut != nil {
		p.log.Damage.Add("messages that an appended part cut short", p.walk.lost, p.walk.cut)
	}
	return p.log, p.streams(p.log)
}

// messages reads to the end of the file. With an error it returns the offset of the message that it could not take.
func (p *parser) messages() (int, error) {
	// Flags come first or not at all, and say where the file has parts.
	if len(p.data) > headerSize+2 && p.data[headerSize+2] == 'B' {
		off, _, body, _, err := p.walk.next()
		if err == nil {
			err = p.flags(off, body)
		}
		if err != nil {
			return off, err
		}
	}
	p.volumes = p.walk.measure()
	for {
		off, kind, body, ok, err := p.walk.next()
		if err != nil || !ok {
			return off, err
		}
		if err := p.message(off, kind, body); err != nil {
			return off, err
		}
	}
}

func (p *parser) message(off int, kind byte, body []byte) error {
	at := int64(off + messageHead)
	switch kind {
	case 'D':
		return p.sample(off, body)
	case 'F':
		return p.define(off, body)
	case 'A':
		return p.subscribe(off, body)
	case 'R':
		return p.unsubscribe(off, body)
	case 'I':
		return p.info(at, body)
	case 'M':
		return p.multiInfo(at, body)
	case 'P', 'Q':
		return p.parameter(at, kind, body)
	case 'L', 'C':
		return p.text(at, kind, body)
	case 'S':
		if string(body) != syncMagic {
			return corrupt(at, "synchronisation", fmt.Sprintf("% x", body[:min(len(body), 8)]), fmt.Sprintf("% x", syncMagic))
		}
		p.log.Syncs++
	case 'O':
		if len(body) != 2 {
			return corrupt(at, "dropout", fmt.Sprintf("%d bytes", len(body)), "2")
		}
		d := int64(binary.LittleEndian.Uint16(body)) * 1e6
		p.dropped += d
		p.log.Dropouts = append(p.log.Dropouts, dataset.Dropout{Time: p.last, Duration: d})
	case 'B':
		return corrupt(int64(off), "message type", "flag bits", "them only as the first message")
	default:
		if kind < 'A' || kind > 'z' || kind > 'Z' && kind < 'a' {
			return corrupt(int64(off)+2, "message type", fmt.Sprintf("%#02x", kind), "a letter")
		}
		p.log.Unknown++
	}
	return nil
}

// flags reads the flag bits. Unknown bits that make a file incompatible are an error, as the format asks.
func (p *parser) flags(off int, body []byte) error {
	at := int64(off + messageHead)
	if len(body) < 40 {
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
		if part < low {
			return corrupt(here, "offset of appended data", strconv.FormatUint(part, 10), fmt.Sprintf("at least %d", low))
		}
		if part > uint64(len(p.data)) {
			bad := &dataset.FormatError{Format: "ulog", Offset: here, Kind: dataset.ErrTruncated, Msg: "offset of appended data", Got: strconv.FormatUint(part, 10), Want: fmt.Sprintf("at most %d, the file's size", len(p.data)), Err: io.ErrUnexpectedEOF}
			if p.opt.Strict {
				return bad
			}
			p.log.Damage.Add("appended parts", 0, bad)
			break
		}
		p.walk.parts = append(p.walk.parts, int(part))
	}
	return nil
}

// key reads a length, "type name", and what follows: the value.
func key(at int64, what string, body []byte) (typ, name string, value []byte, err error) {
	if len(body) < 1 || len(body) < 1+int(body[0]) {
		return "", "", nil, corrupt(at, what, fmt.Sprintf("%d bytes", len(body)), "a key and a value")
	}
	text, value := string(body[1:1+int(body[0])]), body[1+int(body[0]):]
	for i := 0; i < len(text); i++ {
		if text[i] == ' ' {
			typ, name = text[:i], text[i+1:]
			break
		}
	}
	if _, _, _, ok := splitType(typ); !ok || !plain(name) {
		return "", "", nil, corrupt(at+1, what, quote(text), "a type, a space, a name")
	}
	return typ, name, value, nil
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

// text reads a logged line, tagged ('C') or not ('L').
func (p *parser) text(at int64, kind byte, body []byte) error {
	size := 9
	if kind == 'C' {
		size = 11
	}
	if len(body) < size {
		return corrupt(at, "logged text", fmt.Sprintf("%d bytes", len(body)), fmt.Sprintf("at least %d", size))
	}
	m := Message{Level: body[0], Text: string(body[size:]), Tagged: kind == 'C'}
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

func corrupt(at int64, msg, got, want string) error {
	return &dataset.FormatError{Format: "ulog", Offset: at, Kind: dataset.ErrCorrupt, Msg: msg, Got: got, Want: want}
}

func tooLarge(at int64, msg, got, want string) error {
	return &dataset.FormatError{Format: "ulog", Offset: at, Kind: dataset.ErrTooLarge, Msg: msg, Got: got, Want: want}
}

// quote quotes text from a file, and shortens it.
func quote(s string) string {
	if len(s) > 60 {
		s = s[:60]
	}
	return strconv.Quote(s)
}
