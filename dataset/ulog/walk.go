package ulog

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/robocache/robocache/dataset"
)

const (
	headerSize  = 16
	messageHead = 3 // uint16 size, uint8 type
)

// walker steps through the messages of a file.
type walker struct {
	data  []byte
	at    int
	parts []int // offsets where appended parts begin, rising
	lost  int64 // bytes of messages that an appended part cut short
	cut   *dataset.FormatError
}

// next returns the offset, type and body of the next message; ok is false at the end of the file. A message that runs
// into an appended part was cut when the recorder stopped: the format foresees it, so it is counted and left out.
func (w *walker) next() (off int, kind byte, body []byte, ok bool, err error) {
	for {
		end := len(w.data)
		if len(w.parts) > 0 {
			end = w.parts[0]
		}
		if w.at >= end {
			if len(w.parts) == 0 {
				return w.at, 0, nil, false, nil
			}
			w.parts = w.parts[1:]
			continue
		}
		off = w.at
		left, need := end-off, messageHead
		if left >= messageHead {
			need += int(binary.LittleEndian.Uint16(w.data[off:]))
		}
		if left >= need {
			w.at += need
			return off, w.data[off+2], w.data[off+messageHead : off+need], true, nil
		}
		bad := &dataset.FormatError{Format: "ulog", Offset: int64(off), Kind: dataset.ErrTruncated, Msg: "message", Got: fmt.Sprintf("%d bytes", left), Want: fmt.Sprintf("%d", need)}
		if len(w.parts) == 0 {
			bad.Err = io.ErrUnexpectedEOF
			return off, 0, nil, false, bad
		}
		w.lost += int64(left)
		w.cut = bad
		w.at = end
	}
}

// volume is what the data messages of one id come to.
type volume struct{ messages, bytes int }

// measure counts the data messages of each id, so that streams can be allocated at once. It stops at the first flaw.
func (w walker) measure() map[uint16]volume {
	sum := map[uint16]volume{}
	for {
		_, kind, body, ok, err := w.next()
		if !ok || err != nil {
			return sum
		}
		if kind == 'D' && len(body) >= 2 {
			id := binary.LittleEndian.Uint16(body)
			v := sum[id]
			v.messages++
			v.bytes += len(body) - 2
			sum[id] = v
		}
	}
}
