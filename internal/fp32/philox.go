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

// Normal converts a random word to a normally distributed number, sqrt(2)*erfinv(x) (Giles, "Approximating the erfinv function", 2012). x is
// (2k+1)/2^24 - 1, where k is the word's upper 24 bits. The relative error is below 5e-7, and the greatest result 5.42.
func Normal(word uint32) float32 {
	x := float32(int32(word>>8)*2+1-1<<24) * 0x1p-24
	w := -Log(float32((1 - x) * (1 + x)))
	c := &normalTail
	if w < 5 {
		w, c = w-2.5, &normalMiddle
	} else {
		w = Sqrt(w) - 3
	}
	p := c[0]
	for _, v := range c[1:] {
		p = FMA(p, w, v)
	}
	return float32(float32(p*x) * math.Sqrt2)
}

var (
	normalMiddle = [9]float32{2.81022636e-08, 3.43273939e-07, -3.5233877e-06, -4.39150654e-06, 0.00021858087, -0.00125372503, -0.00417768164, 0.246640727, 1.50140941}
	normalTail   = [9]float32{-0.000200214257, 0.000100950558, 0.00134934322, -0.00367342844, 0.00573950773, -0.0076224613, 0.00943887047, 1.00167406, 2.83297682}
)
