package nntest

import (
	"math"
	"math/rand/v2"

	"github.com/robocache/robocache/internal/fp32"
	"github.com/robocache/robocache/tensor"
)

// special sets the inputs for an attention case to values that reveal errors in rounding, which random values hide.
type special func(w *attentionData, rng *rand.Rand)

// middleGradients sets inputs for 32 keys and 1 or 16 queries, with scores of 0. Gradients are 3/2 or 3 times the scale, or times
// the dropout factor for the values. Both factors are multiples of thirdOfMiddle, so each exact product is just below the midpoint
// of two bfloat16 numbers, and its float32 rounding is the midpoint. A kernel that rounds to float32 first returns the upper
// number, which is even; a kernel that rounds only once returns the lower number.
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

// thirdOfMiddle is the largest float32 not above 259/192, which is a third of 259/64. 259/64 is the midpoint of two bfloat16
// numbers, because 259 has 9 bits and bfloat16 has 8.
var thirdOfMiddle = math.Nextafter32(float32(259.0/192), 0)

// middleRate returns the dropout rate for which the factor 1/(1-rate) is thirdOfMiddle.
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

// sharp sets scores that give the first key all the probability, so the output is its value. The gradient of its score is then a
// difference of two sums that are equal except for rounding. Their terms have very different sizes, so that each addition rounds.
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

// raised sets scores of 0 for 32 keys, and a far higher score for a last key, which has the value 0. So the last key makes a kernel
// multiply the earlier sum by 2^-difference. The values are chosen so that the output differs if that product is rounded toward
// zero instead of to nearest. The sum of the probabilities may be one unit in the last place higher or lower, so the columns are
// made for its three possible values in turn.
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

// outputThatTurns returns a whole number o for which o * f * (1/sum), rounded to bfloat16, differs if o * f is rounded toward zero
// instead of to nearest.
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

// wordRate returns a dropout rate with the threshold equal to the random word of one probability, which is therefore just kept.
// word is the word's place among the four from one call of the generator. The query and the key are in tile number tile, where a
// tile has 16. There are t queries and t keys.
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
