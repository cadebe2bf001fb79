package hdf5

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/bits"
	"slices"

	"github.com/robocache/robocache/dataset"
)

// none is an address or length with all bits set, which means undefined.
const none = math.MaxUint64

// source is a file's bytes. Addresses in it count from base; offsets in errors count from the file's first byte.
type source struct {
	r       io.ReaderAt
	size    int64
	base    int64
	path    string
	offsets int // bytes in an address
	lengths int // bytes in a length

	believe bool // ignore checksums, for tests with files from a hostile writer
}

func (s *source) fail(at int64, kind error, msg, got, want string) *dataset.FormatError {
	return &dataset.FormatError{Format: "hdf5", Path: s.path, Offset: at, Kind: kind, Msg: msg, Got: got, Want: want}
}

// offset returns an address's offset in the file, clamped to the file for errors.
func (s *source) offset(addr uint64) int64 {
	return int64(min(addr, uint64(s.size-s.base))) + s.base
}

// fits returns an error unless n bytes at an address are inside the file.
func (s *source) fits(what string, addr, n uint64) error {
	room := uint64(s.size - s.base)
	switch {
	case addr == none:
		return s.fail(s.base, dataset.ErrCorrupt, what, "no address", "one")
	case addr > room:
		return s.fail(s.offset(addr), dataset.ErrTruncated, what, fmt.Sprintf("address %d", addr), fmt.Sprintf("less than %d, the file's size", room))
	case n > room-addr:
		return s.fail(s.offset(addr), dataset.ErrTruncated, what, fmt.Sprintf("%d bytes to the file's end", room-addr), fmt.Sprint(n))
	}
	return nil
}

// into fills buf from an address.
func (s *source) into(what string, addr uint64, buf []byte) error {
	if err := s.fits(what, addr, uint64(len(buf))); err != nil {
		return err
	}
	n, err := s.r.ReadAt(buf, s.base+int64(addr))
	switch {
	case n == len(buf):
		return nil
	case errors.Is(err, fs.ErrClosed):
		return fmt.Errorf("hdf5: %w: %w", dataset.ErrClosed, err)
	case errors.Is(err, io.EOF):
		return s.fail(s.offset(addr)+int64(n), dataset.ErrTruncated, what, fmt.Sprintf("%d bytes", n), fmt.Sprint(len(buf)))
	}
	return err
}

// within sets the structure's name in an error from fits or into.
func (s *source) within(what string, err error) error {
	if bad, ok := err.(*dataset.FormatError); ok {
		bad.Msg = what
	}
	return err
}

// read returns n bytes at an address. The name in what is for errors.
func (s *source) read(what string, addr, n uint64) (*cursor, error) {
	if err := s.fits(what, addr, n); err != nil {
		return nil, err
	}
	data := make([]byte, n)
	if err := s.into(what, addr, data); err != nil {
		return nil, err
	}
	return s.cursor(what, data, s.offset(addr)), nil
}

// cursor returns a cursor over bytes that begin at the given file offset.
func (s *source) cursor(what string, data []byte, offset int64) *cursor {
	return &cursor{source: s, what: what, data: data, start: offset}
}

// walk limits the blocks in one structure: no block is read twice, and in total no more bytes than the file has. So circular links end.
type walk struct {
	*source
	seen map[uint64]bool
	left int64
}

func (s *source) walk() *walk { return &walk{s, map[uint64]bool{}, s.size} }

// block reads the target of a link.
func (w *walk) block(what string, addr, n uint64) (*cursor, error) {
	if w.seen[addr] {
		return nil, w.fail(w.offset(addr), dataset.ErrCorrupt, what, "an address that was read before", "each once")
	}
	w.seen[addr] = true
	return w.more(what, addr, n)
}

// more reads a further part of a block that was already read.
func (w *walk) more(what string, addr, n uint64) (*cursor, error) {
	if err := w.fits(what, addr, n); err != nil {
		return nil, err
	}
	if err := w.spend(what, addr, n); err != nil {
		return nil, err
	}
	return w.read(what, addr, n)
}

// spend counts bytes.
func (w *walk) spend(what string, addr, n uint64) error {
	if n > uint64(w.left) {
		return w.fail(w.offset(addr), dataset.ErrCorrupt, what, "more bytes in all than the file has", "blocks that do not overlap")
	}
	w.left -= int64(n)
	return nil
}

// cursor steps through bytes. It keeps its first error, and everything after it reads as zero.
type cursor struct {
	*source
	what  string
	data  []byte
	at    int
	start int64 // file offset of data
	err   error
}

func (c *cursor) here() int64 { return c.start + int64(c.at) }
func (c *cursor) left() int   { return len(c.data) - c.at }

// bad records an error about the last n bytes, unless there is already one, and returns the error.
func (c *cursor) bad(n int, kind error, msg, got, want string) error {
	if c.err == nil {
		c.err = c.fail(c.here()-int64(n), kind, c.what+": "+msg, got, want)
	}
	return c.err
}

// bytes returns the next n bytes, or nil.
func (c *cursor) bytes(n uint64) []byte {
	if c.err != nil {
		return nil
	}
	if n > uint64(c.left()) {
		c.err = c.fail(c.here(), dataset.ErrCorrupt, c.what, fmt.Sprintf("%d bytes left", c.left()), fmt.Sprint(n))
		return nil
	}
	c.at += int(n)
	return c.data[c.at-int(n) : c.at : c.at]
}

func (c *cursor) skip(n int) { c.bytes(uint64(n)) }

// number returns a little-endian number of up to 8 bytes.
func (c *cursor) number(n int) uint64 {
	v := uint64(0)
	for i, b := range c.bytes(uint64(n)) {
		v |= uint64(b) << (8 * i)
	}
	return v
}

func (c *cursor) u8() int     { return int(c.number(1)) }
func (c *cursor) u16() int    { return int(c.number(2)) }
func (c *cursor) u32() uint64 { return c.number(4) }

// ones converts a number with all bits set to none.
func ones(v uint64, n int) uint64 {
	if v == math.MaxUint64>>(64-8*n) {
		return none
	}
	return v
}

func (c *cursor) address() uint64 { return ones(c.number(c.offsets), c.offsets) }
func (c *cursor) length() uint64  { return ones(c.number(c.lengths), c.lengths) }

// text returns the bytes up to a zero, and skips the zero.
func (c *cursor) text() string {
	for i := c.at; c.err == nil && i < len(c.data); i++ {
		if c.data[i] == 0 {
			s := string(c.data[c.at:i])
			c.at = i + 1
			return s
		}
	}
	c.bad(0, dataset.ErrCorrupt, "name", "no zero at its end", "one")
	return ""
}

// magic reads a four-letter signature and a version.
func (c *cursor) magic(want string, version int) {
	if got := c.bytes(4); got != nil && string(got) != want {
		c.bad(4, dataset.ErrCorrupt, "signature", fmt.Sprintf("%q", got), fmt.Sprintf("%q", want))
	}
	c.version(version)
}

// version reads a version number and records an error if it is not wanted.
func (c *cursor) version(want ...int) int {
	got := c.u8()
	if slices.Contains(want, got) {
		return got
	}
	c.bad(1, dataset.ErrUnsupported, "version", fmt.Sprint(got), fmt.Sprint(want))
	return got
}

// checksum verifies the checksum over all bytes before it.
func (c *cursor) checksum() {
	end := c.at
	want := uint32(c.u32())
	if c.err != nil {
		return
	}
	c.compare(lookup3(c.data[:end]), want)
}

// compare compares the checksum that was just read with the computed one.
func (c *cursor) compare(got, want uint32) {
	if got != want && !c.believe {
		c.bad(4, dataset.ErrCorrupt, "checksum", fmt.Sprintf("%08x", got), fmt.Sprintf("%08x", want))
	}
}

// lookup3 is Bob Jenkins' hash of that name, started with 0. HDF5 uses it as the checksum for its structures.
func lookup3(k []byte) uint32 {
	a := 0xdeadbeef + uint32(len(k))
	b, c := a, a
	rot := bits.RotateLeft32
	for len(k) > 12 {
		a, b, c = a+binary.LittleEndian.Uint32(k), b+binary.LittleEndian.Uint32(k[4:]), c+binary.LittleEndian.Uint32(k[8:])
		a = a - c ^ rot(c, 4)
		c += b
		b = b - a ^ rot(a, 6)
		a += c
		c = c - b ^ rot(b, 8)
		b += a
		a = a - c ^ rot(c, 16)
		c += b
		b = b - a ^ rot(a, 19)
		a += c
		c = c - b ^ rot(b, 4)
		b += a
		k = k[12:]
	}
	if len(k) == 0 {
		return c
	}
	var last [12]byte
	copy(last[:], k)
	a, b, c = a+binary.LittleEndian.Uint32(last[:]), b+binary.LittleEndian.Uint32(last[4:]), c+binary.LittleEndian.Uint32(last[8:])
	c = (c ^ b) - rot(b, 14)
	a = (a ^ c) - rot(c, 11)
	b = (b ^ a) - rot(a, 25)
	c = (c ^ b) - rot(b, 16)
	a = (a ^ c) - rot(c, 4)
	b = (b ^ a) - rot(a, 14)
	return (c ^ b) - rot(b, 24)
}
