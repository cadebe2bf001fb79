package lzf

import (
	"encoding/binary"
	"errors"
)

// MaxRatio bounds the expansion of a byte: three bytes copy at most 264.
const MaxRatio = 88

// Errors in compressed data.
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
	for at < len(src) {
		start := at
		op := int(src[at])
		at++
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
		n, extra := op>>5, 1
		if n == 7 {
			extra = 2
		}
		if extra > len(src)-at {
			return start, ErrCut
		}
		if n == 7 {
			n += int(src[at])
			at++
		}
		n += 2
		from := to - (op&31<<8 | int(src[at])) - 1
		at++
		switch {
		case from < 0:
			return start, ErrFar
		case n > len(out)-to:
			return start, ErrTooMuch
		}
		// Byte by byte, because the copy may overlap its own output.
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

// fast decodes instructions while there is input for the longest one, and room for its output and eight bytes more. It copies eight
// bytes at a time, so it may write too many, which the next instruction overwrites. With an error it returns the offset of the
// wrong instruction.
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
		default: // byte by byte: the copy overlaps its own output
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
