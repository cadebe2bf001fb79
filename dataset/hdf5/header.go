package hdf5

import (
	"errors"
	"fmt"

	"github.com/robocache/robocache/dataset"
)

// The message types in an object header.
const (
	msgDataspace     = 0x01
	msgLinkInfo      = 0x02
	msgType          = 0x03
	msgOldFill       = 0x04
	msgFill          = 0x05
	msgLink          = 0x06
	msgExternal      = 0x07
	msgLayout        = 0x08
	msgFilters       = 0x0b
	msgAttribute     = 0x0c
	msgContinuation  = 0x10
	msgSymbolTable   = 0x11
	msgDriver        = 0x14
	msgAttributeInfo = 0x15
	msgCacheImage    = 0x18
)

const (
	flagShared = 1 << 1 // the message is stored elsewhere
	flagMust   = 1 << 7 // a reader that does not know the message must fail
)

type message struct {
	kind  int
	flags int
	body  []byte
	at    int64 // the body's offset in the file
}

// header is an object header, which describes a group, a dataset or a type.
type header struct {
	addr     uint64
	messages []message
	lost     error // why messages may be missing after the end of a cut file; nil if none can be
}

// find returns the first message of a kind, or nil.
func (h *header) find(kind int) *message {
	for i := range h.messages {
		if h.messages[i].kind == kind {
			return &h.messages[i]
		}
	}
	return nil
}

func (s *source) open(what string, m *message) *cursor { return s.cursor(what, m.body, m.at) }

// header reads an object header with its continuations.
func (s *source) header(addr uint64) (*header, error) {
	h := &header{addr: addr}
	w := s.walk()
	c, err := w.block("object header", addr, 4)
	if err != nil {
		return nil, err
	}
	if string(c.data) == "OHDR" {
		err = h.read2(w)
	} else {
		err = h.read1(w)
	}
	if err != nil {
		return nil, err
	}
	return h, nil
}

// read1 reads a version 1 header: messages in one block and its continuation blocks.
func (h *header) read1(w *walk) error {
	c, err := w.more("object header", h.addr, 16)
	if err != nil {
		return err
	}
	c.version(1)
	c.skip(1)
	count := c.u16()
	c.skip(4)
	size := c.u32()
	if c.err != nil {
		return c.err
	}
	if c, err = w.more("object header", h.addr+16, size); err != nil {
		return err
	}
	for next := []*cursor{c}; len(next) > 0; {
		c, next = next[0], next[1:]
		for ; count > 0 && c.left() >= 8; count-- {
			m := message{kind: c.u16()}
			n := c.u16()
			m.flags = c.u8()
			c.skip(3)
			m.at, m.body = c.here(), c.bytes(uint64(n))
			if c.err != nil {
				return c.err
			}
			more, err := h.take(w, m)
			if err != nil {
				return err
			}
			if more != nil {
				next = append(next, more)
			}
		}
	}
	return nil
}

// read2 reads a version 2 header: blocks of messages, each with a checksum.
func (h *header) read2(w *walk) error {
	most := uint64(w.size - w.base)
	c, err := w.read("object header", h.addr, min(6+16+4+8, most-h.addr))
	if err != nil {
		return err
	}
	c.magic("OHDR", 2)
	flags := c.u8()
	if flags&(1<<5) != 0 {
		c.skip(16) // times
	}
	if flags&(1<<4) != 0 {
		c.skip(4) // attribute counts for dense storage
	}
	size := c.number(1 << (flags & 3))
	if c.err != nil {
		return c.err
	}
	if size > most {
		return c.bad(1<<(flags&3), dataset.ErrTruncated, "size", fmt.Sprint(size), fmt.Sprintf("at most %d", most))
	}
	begin := c.at
	if c, err = w.more("object header", h.addr, uint64(begin)+size+4); err != nil {
		return err
	}
	c.at = begin
	for next := []*cursor{c}; len(next) > 0; {
		c, next = next[0], next[1:]
		// The checksum is verified first, so that no broken message is used.
		begin, end := c.at, len(c.data)-4
		if c.at = end; begin > end {
			c.at = len(c.data)
		}
		if c.checksum(); c.err != nil {
			return c.err
		}
		c.at, c.data = begin, c.data[:end]
		prefix := 4
		if flags&(1<<2) != 0 {
			prefix = 6
		}
		for c.left() >= prefix {
			m := message{kind: c.u8()}
			n := c.u16()
			m.flags = c.u8()
			c.skip(prefix - 4) // creation order
			m.at, m.body = c.here(), c.bytes(uint64(n))
			if c.err != nil {
				return c.err
			}
			more, err := h.take(w, m)
			if err != nil {
				return err
			}
			if more != nil {
				if string(more.bytes(4)) != "OCHK" {
					return more.bad(4, dataset.ErrCorrupt, "signature", fmt.Sprintf("%q", more.data[:min(4, len(more.data))]), `"OCHK"`)
				}
				next = append(next, more)
			}
		}
	}
	return nil
}

// take keeps a message, or returns the block that continues the header.
func (h *header) take(w *walk, m message) (*cursor, error) {
	switch {
	case m.kind == msgContinuation:
		c := w.open("object header continuation", &m)
		addr, n := c.address(), c.length()
		if c.err != nil {
			return nil, c.err
		}
		more, err := w.block("object header continuation", addr, n)
		if errors.Is(err, dataset.ErrTruncated) {
			h.lost, err = err, nil
		}
		return more, err
	case m.kind > msgCacheImage && m.flags&flagMust != 0:
		return nil, w.fail(m.at, dataset.ErrUnsupported, "object header", fmt.Sprintf("message %#x, which a reader must know", m.kind), "one of version 3 of the format")
	}
	h.messages = append(h.messages, m)
	return nil, nil
}

// shared returns the target of a shared message.
func (s *source) shared(m *message, kind int) (*message, error) {
	if m.flags&flagShared == 0 {
		return m, nil
	}
	c := s.open("shared message", m)
	version := c.version(1, 2, 3)
	place := c.u8()
	if version == 1 {
		c.skip(6)
		place = 2
	}
	if version == 3 && place == 1 {
		return nil, c.bad(1, dataset.ErrUnsupported, "place", "the file's table of shared messages", "an object")
	}
	addr := c.address()
	if c.err != nil {
		return nil, c.err
	}
	h, err := s.header(addr)
	if err != nil {
		return nil, err
	}
	found := h.find(kind)
	if found == nil || found.flags&flagShared != 0 {
		return nil, s.fail(m.at, dataset.ErrCorrupt, "shared message", "an object without it", fmt.Sprintf("message %#x", kind))
	}
	return found, nil
}
