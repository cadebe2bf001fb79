package ulog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/robocache/robocache/dataset"
)

// A message has no checksum, so the following messages are the evidence for it: after a wrong size, or missing bytes, no valid
// message follows. These are the weights of that evidence.
const (
	weak   = 1          // the head of a message
	strong = 4          // and its content is valid for its type: 24 bits or more are right
	enough = 3 * strong // of messages that follow each other

	nearby = 1024 // bytes after a message, in which others begin if a weak one is none
)

// sound reports whether m is a message at the right place: its size leads to another message or to the end, and no messages are
// inside it. Its content may still be wrong.
func (p *parser) sound(m message) bool {
	switch {
	case !m.whole() || !letter(m.kind):
		return false
	case p.opt.Strict:
		return true
	}
	was := p.strongAt == m.off // found strong when the message before it was read
	if !p.follows(m.end()) || m.kind == 'A' && p.strongAt != m.end() && p.goesOn(m) {
		return p.evident(m)
	}
	return was && m.kind != 'F' && m.kind != 'B' || p.right(m) || p.scan(m.off+1, m.end()) == m.end()
}

// right reports whether the whole content of a message is valid for its type, so that no other messages can be inside it.
func (p *parser) right(m message) bool {
	switch m.kind {
	case 'F':
		_, err := readFormat(m)
		return err == nil
	case 'B':
		return m.off == headerSize && m.size == flagsSize
	}
	return p.weight(m) >= strong
}

// follows reports whether valid messages continue at a byte: a strong message or the end follows, after at most a few weak messages without
// others inside them, or many such weak messages follow.
func (p *parser) follows(at int) bool {
	limit, near := p.walk.limit(), at+nearby
	for range enough {
		if at == limit {
			return true
		}
		m := p.walk.head(at)
		switch {
		case !m.whole() && !p.cut(m) || m.body != nil && !letter(m.kind):
			return false
		case m.whole() && p.weight(m) >= strong:
			p.strongAt = at
			return true
		}
		end := min(m.end(), limit)
		if stop := min(end, near); p.scan(at+1, stop) < stop {
			return false
		}
		at = end
	}
	return true
}

// scan returns the first byte from at on where messages certainly begin, or end. At each byte it reads a few message heads. Skipped
// bytes are not read again, except for the nearby ones that follows reads, so the time is proportional to the file size.
func (p *parser) scan(at, end int) int {
	for ; at < end; at++ {
		if p.begins(at) {
			return at
		}
	}
	return end
}

// begins reports whether a strong message stands at a byte, and messages of enough weight in all or the end follow.
func (p *parser) begins(at int) bool {
	limit := p.walk.limit()
	for sum := 0; sum < enough && at < limit; {
		m := p.walk.head(at)
		if !m.whole() {
			return sum > 0 && p.cut(m)
		}
		if !letter(m.kind) {
			return false
		}
		w := p.weight(m)
		if sum == 0 && w < strong {
			return false
		}
		sum += w
		at = m.end()
	}
	return true
}

// weight returns how strongly a whole message resembles a valid one. Its time does not depend on the size of the message.
func (p *parser) weight(m message) int {
	b, good := m.body, false
	switch m.kind {
	case 'D':
		good = len(b) >= 2 && p.fits(binary.LittleEndian.Uint16(b), len(b)-2)
	case 'S':
		if string(b) == syncMagic {
			return enough
		}
	case 'O':
		good = len(b) == 2
	case 'R':
		good = len(b) == 2 && p.subscribed(binary.LittleEndian.Uint16(b)) != nil
	case 'F':
		name, _, found := bytes.Cut(b[:min(len(b), maxName+1)], []byte(":"))
		good = found && plain(name) && b[len(b)-1] == ';'
	case 'A':
		good = len(b) > 3 && len(b) <= 3+maxName && p.formats[string(b[3:])] != nil
	case 'I', 'P':
		good = exact(b)
	case 'M', 'Q':
		good = len(b) > 0 && exact(b[1:])
	case 'L', 'C':
		good = isText(m)
	case 'B':
		good = m.off == headerSize && len(b) >= flagsSize
	}
	if good {
		return strong
	}
	return weak
}

// fits reports whether a data message of this id can hold n bytes of values.
func (p *parser) fits(id uint16, n int) bool {
	t := p.subscribed(id)
	return t != nil && t.format != nil && p.resolve(t.format, 0) == nil && n >= t.format.need && n <= t.format.size
}

// exact reports whether a value's length is the length that its key declares.
func exact(b []byte) bool {
	typ, name, value, ok := splitKey(b)
	if !ok || !plain(name) {
		return false
	}
	elem, n, _, ok := splitType(string(typ))
	base := bases[elem]
	return ok && base != 0 && n <= maxMessage && len(value) == n*baseSize[base]
}

// isText reports whether a logged line has a level and a time, and begins with text.
func isText(m message) bool {
	size := textHead(m.kind)
	if len(m.body) < size || !isLevel(m.body[0]) || binary.LittleEndian.Uint64(m.body[size-8:]) > maxTime/1000 {
		return false
	}
	text := m.body[size:]
	for _, c := range text[:min(len(text), 256)] {
		if c < ' ' && c != '\t' && c != '\n' && c != '\r' && c != '\x1b' {
			return false
		}
	}
	return true
}

// cut reports whether an incomplete message can be a valid one that the end of the file or part cuts.
func (p *parser) cut(m message) bool {
	if m.body == nil {
		return true
	}
	switch m.kind {
	case 'D':
		return m.size >= 2 && (len(m.body) < 2 || p.fits(binary.LittleEndian.Uint16(m.body), m.size-2))
	case 'O', 'R':
		return m.size == 2
	case 'S':
		return m.size == len(syncMagic)
	case 'A':
		return m.size <= 3+maxName
	case 'P', 'Q':
		return m.size <= 2+255+4
	}
	return letter(m.kind)
}

// evident reports whether a message is certainly whole, without the following ones, because its whole content can be verified.
func (p *parser) evident(m message) bool {
	switch m.kind {
	case 'F':
		return m.size > 0 && m.body[m.size-1] == ';' && p.right(m)
	case 'A':
		return p.right(m) && !p.goesOn(m)
	case 'B', 'S':
		return p.right(m)
	}
	return false
}

// goesOn reports whether the next bytes continue the name in a subscription to the name of another type, so that the size is wrong.
func (p *parser) goesOn(m message) bool {
	if m.size < 4 {
		return false
	}
	at := m.off + messageHead + 3
	name := p.walk.file.from(at, min(maxName, p.walk.limit()-at))
	for n := m.size - 3; n < len(name) && plain(name[n:n+1]); n++ {
		if p.formats[string(name[:n+1])] != nil {
			return true
		}
	}
	return false
}

// passed returns the error for skipped bytes, from the start of the expected message m up to byte next.
func (p *parser) passed(m message, next int) *dataset.FormatError {
	switch {
	case !letter(m.kind):
		return corrupt(int64(m.off)+2, "message type", fmt.Sprintf("%#02x", m.kind), "a letter")
	case next < m.end():
		return corrupt(int64(m.off), "message size", strconv.Itoa(m.size), fmt.Sprintf("at most %d: messages begin at byte %d", max(0, next-m.off-messageHead), next))
	}
	return corrupt(int64(m.off), "message", fmt.Sprintf("%d bytes of type %q", m.size, m.kind), fmt.Sprintf("a message after it, at byte %d", m.end()))
}
