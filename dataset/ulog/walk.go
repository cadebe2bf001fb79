package ulog

import (
	"encoding/binary"
	"fmt"
	"io"
	"strconv"

	"github.com/robocache/robocache/dataset"
)

const (
	headerSize  = 16
	messageHead = 3 // uint16 size, uint8 type
	maxBody     = 1<<16 - 1
)

// message is one message of a file: a head, and size bytes.
type message struct {
	off  int
	kind byte
	size int
	body []byte // shorter than size if the file, or its part, ends before; nil if it ends in the head
}

func (m message) at() int64   { return int64(m.off + messageHead) } // of the body
func (m message) end() int    { return m.off + messageHead + m.size }
func (m message) whole() bool { return m.body != nil && len(m.body) == m.size }

func letter(kind byte) bool { return kind >= 'A' && kind <= 'Z' || kind >= 'a' && kind <= 'z' }

// walker steps through the messages of a file.
type walker struct {
	file  *window
	at    int
	parts []int // offsets where appended parts begin, rising
}

// more reports whether there is a byte to read.
func (w *walker) more() bool {
	for len(w.parts) > 0 && w.at >= w.parts[0] {
		w.parts = w.parts[1:]
	}
	return w.at < w.file.size
}

// limit returns where the part of the file ends that is being read.
func (w *walker) limit() int {
	if len(w.parts) > 0 {
		return w.parts[0]
	}
	return w.file.size
}

// head returns the message at a byte offset.
func (w *walker) head(off int) message {
	limit := w.limit()
	if limit-off < messageHead {
		return message{off: off}
	}
	b := w.file.from(off, min(messageHead+maxBody, limit-off))
	m := message{off: off, kind: b[2], size: int(binary.LittleEndian.Uint16(b))}
	m.body = b[messageHead:min(messageHead+m.size, len(b))]
	return m
}

// cutShort returns the error for a message that the end of the file, or of its part, cuts.
func (w *walker) cutShort(m message) *dataset.FormatError {
	limit := w.limit()
	bad := &dataset.FormatError{Format: "ulog", Offset: int64(m.off), Kind: dataset.ErrTruncated, Msg: "message", Got: fmt.Sprintf("%d bytes", limit-m.off), Want: strconv.Itoa(m.end() - m.off)}
	if limit == w.file.size {
		bad.Err = io.ErrUnexpectedEOF
	}
	return bad
}

// volume is the number and size of the data messages with one id.
type volume struct{ messages, bytes int }

// measure counts the data messages of each id from here on, so that streams can be allocated at once. It stops at the first flaw.
func (w walker) measure() map[uint16]volume {
	sum := map[uint16]volume{}
	w.file = w.file.another()
	for w.more() {
		m := w.head(w.at)
		w.at = m.end()
		if w.at > w.limit() {
			if len(w.parts) == 0 {
				break
			}
			w.at = w.parts[0]
		} else if m.kind == 'D' && len(m.body) >= 2 {
			id := binary.LittleEndian.Uint16(m.body)
			v := sum[id]
			v.messages++
			v.bytes += len(m.body) - 2
			sum[id] = v
		}
	}
	return sum
}
