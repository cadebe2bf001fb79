package fp32

import (
	"math"
	"math/bits"
)

// Philox is four random words of a counter and a key: Philox4x32 with 10 rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2,
// 3", 2011).
func Philox(counter [4]uint32, key [2]uint32) [4]uint32 {
	a, b, c, d := counter[0], counter[1], counter[2], counter[3]
	k0, k1 := key[0], key[1]
	for range 10 {
		hi0, lo0 := bits.Mul32(0xd2511f53, a)
		hi1, lo1 := bits.Mul32(0xcd9e8d57, c)
		a, b, c, d = hi1^b^k0, lo1, hi0^d^k1, lo0
		k0 += 0x9e3779b9
		k1 += 0xbb67ae85
	}
	return [4]uint32{a, b, c, d}
}

// Words are the random words of the elements 4*quad to 4*quad+3 of a site of a network at a step.
func Words(seed uint64, step, site uint32, quad uint64) [4]uint32 {
	return Philox([4]uint32{uint32(quad), uint32(quad >> 32), step, site}, [2]uint32{uint32(seed), uint32(seed >> 32)})
}

// Threshold is rate*2^32, rounded up: an element is left out if its word is less. Rate is from 0 to below 1.
func Threshold(rate float32) uint32 { return uint32(math.Ceil(float64(rate) * (1 << 32))) }

// Dropped reports whether dropout leaves out an element: whether its word of Words is less than Threshold.
func Dropped(seed uint64, step, site uint32, number uint64, rate float32) bool {
	return Words(seed, step, site, number/4)[number%4] < Threshold(rate)
}
