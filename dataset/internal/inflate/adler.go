package inflate

import "encoding/binary"

// adler32 returns the checksum of RFC 1950: a is 1 and the sum of all bytes, b the sum of a after each, both modulo 65521.
//
// It adds the bytes of eight at a time in lanes of 16 bits, even and odd ones apart: of n words at most 255*n(n-1)/2 lands in a lane of the sums of
// sums, which fits for 22.
func adler32(p []byte) uint32 {
	const modulus, words, lanes = 65521, 22, 0x00ff00ff00ff00ff
	a, b := uint64(1), uint64(0)
	for len(p) >= 8*words {
		var even, odd, evens, odds uint64 // sums of bytes, and of these sums before each word
		block := p[:8*words]
		for i := 0; i < 8*words; i += 8 {
			w := binary.LittleEndian.Uint64(block[i:])
			evens += even
			odds += odd
			even += w & lanes
			odd += w >> 8 & lanes
		}
		b += 8*words*a + 8*(total(evens)+total(odds))
		for k := range uint64(4) { // the byte at k of a word is in each of the 8-k sums from it on
			x, y := even>>(16*k)&0xffff, odd>>(16*k)&0xffff
			a += x + y
			b += (8-2*k)*x + (7-2*k)*y
		}
		a, b = a%modulus, b%modulus
		p = p[8*words:]
	}
	for _, x := range p {
		a += uint64(x)
		b += a
	}
	return uint32(b%modulus<<16 | a%modulus)
}

// total adds the lanes.
func total(x uint64) uint64 { return x&0xffff + x>>16&0xffff + x>>32&0xffff + x>>48 }
