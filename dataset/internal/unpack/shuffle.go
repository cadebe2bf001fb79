package unpack

import "encoding/binary"

// Unshuffle puts bytes in order: data has the first byte from each element, then each second byte, and so on. out has as
// many bytes. Bytes after the last whole element stay where they are.
func Unshuffle(out, data []byte, size int) {
	n := len(data) / size
	part := func(k int) []byte { return data[k*n : (k+1)*n] }
	switch size {
	case 2:
		b := part(1)
		for i, a := range part(0) {
			binary.LittleEndian.PutUint16(out[2*i:], uint16(a)|uint16(b[i])<<8)
		}
	case 4:
		b, c, d := part(1), part(2), part(3)
		for i, a := range part(0) {
			binary.LittleEndian.PutUint32(out[4*i:], uint32(a)|uint32(b[i])<<8|uint32(c[i])<<16|uint32(d[i])<<24)
		}
	case 8:
		b, c, d, e, f, g, h := part(1), part(2), part(3), part(4), part(5), part(6), part(7)
		for i, a := range part(0) {
			low := uint32(a) | uint32(b[i])<<8 | uint32(c[i])<<16 | uint32(d[i])<<24
			high := uint32(e[i]) | uint32(f[i])<<8 | uint32(g[i])<<16 | uint32(h[i])<<24
			binary.LittleEndian.PutUint64(out[8*i:], uint64(low)|uint64(high)<<32)
		}
	default:
		const block = 128 // elements that fit in a core's cache
		for from := 0; from < n; from += block {
			for k := range size {
				for i, b := range part(k)[from:min(from+block, n)] {
					out[(from+i)*size+k] = b
				}
			}
		}
	}
	copy(out[n*size:], data[n*size:])
}
