package lzf

import (
	"encoding/binary"
	"errors"
)

// MaxRatio bounds what a byte can become: three bytes copy 264 at most.
const MaxRatio = 88

// What can be wrong with compressed data.
var (
	ErrCut       = errors.New("the data's end inside an instruction")
	ErrFar       = errors.New("a copy from before the data's beginning")
	ErrTooMuch   = errors.New("more than the uncompressed size")
	ErrTooLittle = errors.New("less than the uncompressed size")
)

// Decompress fills out from src, which must make exactly as many bytes. With an error it returns the offset of the
// instruction to blame.
func Decompress(out, src []byte) (int, error) {
	at, to, err := fast(out, src)
	if err != nil {
		return at, err
	}
	return slow(out, src, at, to, false)
}

// DecompressBlosc is Decompress of blosc's own compression, which has longer copies, from farther before.
func DecompressBlosc(out, src []byte) (int, error) { return slow(out, src, 0, 0, true) }

// slow does the instructions from a place on. Of blosc's the first is literals, a byte of 255 continues a length, and a distance of all ones is in the two
// bytes that follow.
func slow(out, src []byte, at, to int, blosc bool) (int, error) {
	for at < len(src) {
		start := at
		op := int(src[at])
		if at++; start == 0 && blosc {
			op &= 31
		}
		if op < 32 {
			n := op + 1
			switch {
			case n > len(src)-at:
				return start, ErrCut
			case n > len(out)-to:
				return start, ErrTooMuch
			}
			copy(out[to:], src[at:at+n])
			at, to = at+n, to+n
			continue
		}
		n, more := op>>5+2, op>>5 == 7
		next := func() (b int) {
			if at < len(src) {
				b = int(src[at])
			}
			at++
			return b
		}
		for more {
			b := next()
			n, more = n+b, blosc && b == 255 && at < len(src)
		}
		distance := op&31<<8 | next()
		if blosc && distance == 1<<13-1 {
			distance += next()<<8 | next()
		}
		from := to - distance - 1
		if at > len(src) {
			return start, ErrCut
		}
		switch {
		case from < 0:
			return start, ErrFar
		case n > len(out)-to:
			return start, ErrTooMuch
		}
		// Byte by byte: the copy may run into what it wrote.
		for i := range n {
			out[to+i] = out[from+i]
		}
		to += n
	}
	if to < len(out) {
		return at, ErrTooLittle
	}
	return at, nil
}

// fast does instructions as long as there is input for the longest and room for what it makes, and eight bytes more. It copies eight bytes at a time,
// some more than there are, which what follows overwrites. With an error it returns the offset of the instruction to blame.
func fast(out, src []byte) (at, to int, err error) {
	order := binary.LittleEndian
	for at+1+maxLiteral <= len(src) && to+maxCopy+8 <= len(out) {
		op := int(src[at])
		if op < 32 {
			s, o := src[at+1:at+1+maxLiteral], out[to:to+maxLiteral]
			order.PutUint64(o, order.Uint64(s))
			if op >= 8 {
				order.PutUint64(o[8:], order.Uint64(s[8:]))
				order.PutUint64(o[16:], order.Uint64(s[16:]))
				order.PutUint64(o[24:], order.Uint64(s[24:]))
			}
			at, to = at+2+op, to+1+op
			continue
		}
		next, n := at+2, op>>5+2
		if op>>5 == 7 {
			n += int(src[at+1])
			next++
		}
		distance := (op&31<<8 | int(src[next-1])) + 1
		if distance > to {
			return at, to, ErrFar
		}
		end := to + n
		from := out[to-distance : end-distance+8]
		o := out[to : end+8]
		switch {
		case distance >= 8 && n <= 8:
			order.PutUint64(o, order.Uint64(from))
		case distance >= 8:
			for ; n > 0; n -= 8 {
				order.PutUint64(o, order.Uint64(from))
				o, from = o[8:], from[8:]
			}
		default: // byte by byte: the copy runs into what it wrote
			for i := range n {
				o[i] = from[i]
			}
		}
		at, to = next, end
	}
	return at, to, nil
}

const (
	maxCopy    = 264
	maxLiteral = 32
)
