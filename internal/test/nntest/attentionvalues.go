package nntest

import (
	"math"
	"math/rand/v2"

	"github.com/robocache/robocache/internal/fp32"
	"github.com/robocache/robocache/tensor"
)

// special are values of a case of attention that show what others hide.
type special func(w *attentionData, rng *rand.Rand)

// middleGradients make gradients of 3/2 or 3 times the scale (that of the values: times dropout's factor), both of which are such that this is, rounded to float32, the
// middle of two numbers of bfloat16, the greater of which is even, and is less before. There are 32 keys and 1 or 16 queries, and all scores are 0.
func middleGradients(w *attentionData, _ *rand.Rand) {
	w.scale = thirdOfMiddle / 8
	for h := range w.q {
		for i := range w.q[h] {
			w.q[h][i], w.do[h][i] = 1, 3
		}
		for i := range w.k[h] {
			row, column := i/w.width, i%w.width
			w.k[h][i] = float64(1 - 2*((row+column)%2))
			w.v[h][i] = 0
			if column == 0 {
				w.v[h][i] = float64(1 - 2*(row%2))
			}
		}
	}
}

// thirdOfMiddle is from 1 to 2, and the greatest float32 not above 259 * 2^-6 / 3: a number of 9 bits, of which bfloat16 has 8.
var thirdOfMiddle = math.Nextafter32(float32(259.0/192), 0)

// middleRate is a rate of dropout whose factor is thirdOfMiddle.
func middleRate() float32 {
	rate := float32(1 - 1/float64(thirdOfMiddle))
	for 1/(1-rate) < thirdOfMiddle {
		rate = math.Nextafter32(rate, 1)
	}
	for 1/(1-rate) > thirdOfMiddle {
		rate = math.Nextafter32(rate, 0)
	}
	return rate
}

// sharp are scores of which only the first key's counts, so that the output is its value and the gradient of each score what rounding leaves of a difference:
// of sums whose terms differ by far, so that each sum is rounded.
func sharp(w *attentionData, rng *rand.Rand) {
	spread := func(list []float64) {
		for i := range list {
			list[i] = float64(tensor.BF16FromF64(math.Ldexp(rng.NormFloat64(), rng.IntN(13)-6)).F32())
		}
	}
	for h := range w.q {
		for i := range w.q[h] {
			w.q[h][i] = 1
		}
		for i := range w.k[h] {
			w.k[h][i] = map[bool]float64{true: 0, false: -24}[i < w.width]
		}
		spread(w.do[h])
		spread(w.v[h])
	}
}

// raised are scores of 32 keys that are 0, and of a last one, far above them, whose value is 0: so what was added before is multiplied by the power of two of a
// difference, and is such that the output is another number if that product is rounded otherwise. How the sum of probabilities is rounded is left open:
// columns take turns.
func raised(w *attentionData, _ *rand.Rand) {
	const above = 9.4
	last := float64(tensor.BF16FromF64(above / (float64(w.width) * float64(w.scale) * math.Log2E)).F32())
	y := float32(float32(float64(w.width)*last) * float32(w.scale*float32(math.Log2E)))
	f := fp32.Exp2Down(-y)
	sum := float32(1 + 32*float64(f))
	list := []float64{outputThatTurns(f, sum), outputThatTurns(f, math.Nextafter32(sum, 0)), outputThatTurns(f, math.Nextafter32(sum, 2))}
	for h := range w.q {
		for i := range w.q[h] {
			w.q[h][i] = 1
		}
		for i := range w.k[h] {
			w.k[h][i], w.v[h][i] = 0, 0
			column := i % w.width
			o := list[column/2%3]
			high := float64(tensor.BF16FromF64(o).F32())
			middle := float64(tensor.BF16FromF64(o - high).F32())
			switch i / w.width {
			case 0:
				w.v[h][i] = high
			case 1:
				w.v[h][i] = middle
			case 2:
				w.v[h][i] = o - high - middle
			case 32:
				w.k[h][i] = last
			}
		}
	}
}

// outputThatTurns is a whole number that, multiplied by f and by the reciprocal of sum, gives another number of bfloat16 if the first product is rounded
// toward zero.
func outputThatTurns(f, sum float32) float64 {
	for o := float64(1 << 20); o < 1<<24; o++ {
		near := float32(o * float64(f))
		zero := near
		if float64(zero) > o*float64(f) {
			zero = math.Nextafter32(zero, 0)
		}
		if by := 1 / sum; tensor.BF16FromF32(near*by) != tensor.BF16FromF32(zero*by) {
			return o
		}
	}
	panic("nntest: no output turns")
}

// wordRate is a rate of dropout whose threshold is the random word of a probability, which so is just kept: word number word of four, of a query and of a key
// in tile number tile of 16, of t of both.
func wordRate(word, tile, heads, t int) float32 {
	for n := range uint64(heads * t * t) {
		key, query := int(n)%t, int(n)/t%t
		if int(n%4) != word || key/16 != tile || query/16 != tile {
			continue
		}
		w := fp32.Words(attentionSeed, attentionStep, attentionSite, n/4)[word]
		if rate := float32(w) * 0x1p-32; rate > 0 && rate < 0.6 && fp32.Threshold(rate) == w {
			return rate
		}
	}
	panic("nntest: no rate is just one of these probabilities' words")
}
