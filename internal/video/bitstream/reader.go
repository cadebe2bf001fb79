package bitstream

import (
	"errors"
	"math/bits"
)

// ErrShort means that a NAL unit ends before its syntax does, or has an Exp-Golomb code of more than 32 bits.
var ErrShort = errors.New("the NAL unit ends too early")

// Reader reads the payload bits of a NAL unit and leaves out the emulation prevention bytes (00 00 03 is 00 00). After an error all
// reads return 0, so that a parser checks Err once, but before it uses a value as a count.
type Reader struct {
	unit  []byte
	at    int    // the next byte of unit
	zeros int    // zero bytes directly before it
	word  uint64 // the next n bits, the first one highest
	n     int
	read  int // bits
	err   error
}

// NewReader returns a Reader for a NAL unit from its byte at.
func NewReader(unit []byte, at int) *Reader { return &Reader{unit: unit, at: at} }

// Err returns ErrShort if a read went beyond the end.
func (r *Reader) Err() error { return r.err }

// Pos returns the number of payload bits that were read.
func (r *Reader) Pos() int { return r.read }

func (r *Reader) fill(n int) {
	for r.n < n && r.at < len(r.unit) {
		b := r.unit[r.at]
		r.at++
		if r.zeros >= 2 && b == 3 {
			r.zeros = 0
			continue
		}
		r.zeros++
		if b != 0 {
			r.zeros = 0
		}
		r.word |= uint64(b) << (56 - r.n)
		r.n += 8
	}
}

// Bits reads an unsigned number of n bits, at most 32.
func (r *Reader) Bits(n int) uint32 {
	r.fill(n)
	if n > r.n {
		r.err = ErrShort
	}
	if n == 0 || r.err != nil {
		return 0
	}
	v := uint32(r.word >> (64 - n))
	r.word <<= n
	r.n -= n
	r.read += n
	return v
}

// Skip leaves n bits out.
func (r *Reader) Skip(n int) {
	for ; n > 0 && r.err == nil; n -= 32 {
		r.Bits(min(n, 32))
	}
}

// Flag reads a bit.
func (r *Reader) Flag() bool { return r.Bits(1) == 1 }

// UE reads an unsigned Exp-Golomb code, at most 2^32-2.
func (r *Reader) UE() uint32 {
	r.fill(32)
	zeros := bits.LeadingZeros64(r.word)
	if zeros >= min(r.n, 32) {
		r.err = ErrShort
	}
	if r.err != nil {
		return 0
	}
	r.Bits(zeros + 1)
	return 1<<zeros - 1 + r.Bits(zeros)
}

// SE reads a signed Exp-Golomb code: 0, 1, -1, 2, -2 and so on.
func (r *Reader) SE() int32 {
	v := r.UE()
	if v&1 == 1 {
		return int32(v/2 + 1)
	}
	return -int32(v / 2)
}

// More reports whether payload bits remain before the trailing bits, which are a one and zeros.
func (r *Reader) More() bool {
	rest, ones := *r, 0
	for rest.err == nil && ones < 2 {
		if rest.Flag() {
			ones++
		}
	}
	return ones == 2
}
