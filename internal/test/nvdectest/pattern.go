package nvdectest

import (
	stdbytes "bytes"
	"encoding/binary"
	"hash/fnv"
	"slices"
)

// Hash identifies a picture by the end of its last slice. It is also that of its packet, if no other NAL unit follows and the packet has
// start codes.
func Hash(b []byte) uint64 {
	if at := stdbytes.LastIndex(b, []byte("\x00\x00\x01")); at >= 0 {
		b = b[at+3:]
	}
	b = stdbytes.TrimRight(b, "\x00")
	h := fnv.New64a()
	h.Write(b[max(0, len(b)-32):])
	return h.Sum64()
}

// pattern is a plane: the sample at x, y has the low bits of base + x*right + y*down.
type pattern struct{ base, right, down uint64 }

func patternOf(hash uint64, plane int) pattern {
	return pattern{hash>>40 + uint64(plane)*(hash>>16|1), hash>>8&0xffff | 1, hash>>24&0xffff | 1}
}

// Sample returns a decoded sample in the low bits. Plane 0 is luma, 1 and 2 are chroma.
func Sample(hash uint64, plane, x, y, bits int) uint16 {
	p := patternOf(hash, plane)
	return uint16(p.base+uint64(x)*p.right+uint64(y)*p.down) & (1<<bits - 1)
}

// row writes a row. Samples are step samples apart; those with more than 8 bits are in the high bits.
func (p pattern) row(b []byte, y, count, step, bits int) {
	v := p.base + uint64(y)*p.down
	for i := 0; i < count*step; i += step {
		if bits == 8 {
			b[i] = byte(v)
		} else {
			binary.LittleEndian.PutUint16(b[2*i:], uint16(v<<(16-bits)))
		}
		v += p.right
	}
}

// frame returns a picture as the library lays it out: luma rows, then rows with alternating chroma samples. Between rows it has bytes of
// an earlier picture. It is in b if it fits.
func frame(b []byte, hash uint64, width, height, bits, pitch int) []byte {
	n := pitch * height * 3 / 2
	b = slices.Grow(b[:0], n)[:n]
	luma, u, v := patternOf(hash, 0), patternOf(hash, 1), patternOf(hash, 2)
	for y := range height {
		luma.row(b[y*pitch:], y, width, 1, bits)
	}
	for y := range height / 2 {
		row := b[(height+y)*pitch:]
		u.row(row, y, width/2, 2, bits)
		v.row(row[(bits+7)/8:], y, width/2, 2, bits)
	}
	return b
}
