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
	maxDistance = 1 << 13
	maxCopy     = 264
	maxLiteral  = 32
	hashBits    = 14
)

// Compress appends src in LZF. What cannot be compressed grows by a byte in 32.
func Compress(dst, src []byte) []byte {
	var seen [1 << hashBits]int // one more than where three bytes were last
	literal := 0
	flush := func(end int) {
		for literal < end {
			n := min(end-literal, maxLiteral)
			dst = append(append(dst, byte(n-1)), src[literal:literal+n]...)
			literal += n
		}
	}
	for at := 0; at+3 <= len(src); {
		h := (uint32(src[at])<<16 | uint32(src[at+1])<<8 | uint32(src[at+2])) * 2654435761 >> (32 - hashBits)
		from := seen[h] - 1
		seen[h] = at + 1
		if from < 0 || at-from > maxDistance || [3]byte(src[from:]) != [3]byte(src[at:]) {
			at++
			continue
		}
		n := 3
		for n < maxCopy && at+n < len(src) && src[from+n] == src[at+n] {
			n++
		}
		flush(at)
		distance := at - from - 1
		if n-2 < 7 {
			dst = append(dst, byte((n-2)<<5|distance>>8), byte(distance))
		} else {
			dst = append(dst, byte(7<<5|distance>>8), byte(n-2-7), byte(distance))
		}
		at += n
		literal = at
	}
	flush(len(src))
	return dst
}
