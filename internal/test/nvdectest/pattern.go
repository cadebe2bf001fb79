package nvdectest

import (
	stdbytes "bytes"
	"hash/fnv"
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

// Sample returns a sample of a decoded picture in the low bits. Plane 0 is luma, 1 and 2 are chroma.
func Sample(hash uint64, plane, x, y, bits int) uint16 {
	mix := uint64(x)*(hash>>8&0xffff|1) + uint64(y)*(hash>>24&0xffff|1) + hash>>40 + uint64(plane)*(hash>>16|1)
	return uint16(mix) & (1<<bits - 1)
}

// frame returns a picture as the library lays it out: luma rows, then rows of alternating chroma samples.
func frame(hash uint64, width, height, bits, pitch int) []byte {
	b := make([]byte, pitch*height*3/2)
	put := func(at int, v uint16) {
		if bits == 8 {
			b[at] = byte(v)
			return
		}
		v <<= 16 - bits
		b[2*at], b[2*at+1] = byte(v), byte(v>>8)
	}
	row := pitch
	if bits > 8 {
		row = pitch / 2
	}
	for y := range height {
		for x := range width {
			put(y*row+x, Sample(hash, 0, x, y, bits))
		}
	}
	for y := range height / 2 {
		for x := range width {
			put((height+y)*row+x, Sample(hash, 1+x%2, x/2, y, bits))
		}
	}
	return b
}
