package main

import "math"

// random is numpy's RandomState(seed): a Mersenne twister with 19937 bits.
type random struct {
	words [624]uint32
	next  int
}

func newRandom(seed uint32) *random {
	r := &random{next: len(random{}.words)}
	for i := range r.words {
		r.words[i] = seed
		seed = 1812433253*(seed^seed>>30) + uint32(i) + 1
	}
	return r
}

// word returns the next 32 bits.
func (r *random) word() uint32 {
	n := len(r.words)
	if r.next == n {
		r.next = 0
		for i := range r.words {
			y := r.words[i]&(1<<31) | r.words[(i+1)%n]&(1<<31-1)
			r.words[i] = r.words[(i+397)%n] ^ y>>1 ^ y&1*0x9908b0df
		}
	}
	y := r.words[r.next]
	r.next++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// between returns an integer from low to high-1, which are 257 to 511.
func (r *random) between(low, high uint32) float64 {
	for {
		if v := r.word() & 511; v < high-low {
			return float64(low + v)
		}
	}
}

// normal returns a normally distributed number, the first from a RandomState, by the polar method.
func (r *random) normal() float64 {
	uniform := func() float64 {
		a, b := r.word()>>5, r.word()>>6
		return 2*((float64(a)*(1<<26)+float64(b))/(1<<53)) - 1
	}
	for {
		p := vec{uniform(), uniform()}
		if d := p.dot(p); d < 1 && d != 0 {
			return math.Sqrt(-2*logarithm(d)/d) * p.y
		}
	}
}

// The parts whose sum is log(2). log2High times a small integer is exact.
const (
	log2High = 0x1.62e42feep-1
	log2Low  = 0x1.a39ef35793c76p-33
)

// logarithm returns log(x) for a normal x above 0, nearly always the closest number, with the same bits on every machine.
func logarithm(x float64) float64 {
	m, e := math.Frexp(x)
	if m < math.Sqrt2/2 {
		m, e = 2*m, e-1
	}
	s := (m - 1) / (m + 1)
	sum := m + 1
	// low is the error in s: the division has a remainder, and the sum was rounded too.
	low := (math.FMA(-s, sum, m-1) - float64(s*(m-(sum-1)))) / sum
	ss, tail := float64(s*s), 0.0
	for k := 33.0; k > 1; k -= 2 {
		tail = float64((tail + 2/k) * ss)
	}
	tail = float64(tail*s) + 2*low
	k := float64(e)
	high := float64(k * log2High)
	all := high + 2*s
	return all + (2*s - (all - high) + float64(k*log2Low) + tail)
}

// initial returns an episode's initial state: numpy's numbers for the seed, with the block turned around its centre.
func initial(seed int) state {
	s := draw(seed)
	p := s.block().add(center).sub(center.turn(direction(s[4])))
	s[2], s[3] = p.x, p.y
	return s
}

// draw returns the numbers that diffusion_policy's PushT draws for a seed.
func draw(seed int) state {
	r := newRandom(uint32(seed))
	s := state{r.between(50, 450), r.between(50, 450), r.between(100, 400), r.between(100, 400)}
	s[4] = float64(float64(r.normal()*2)*math.Pi) - math.Pi
	return s
}
