package opstest

import (
	"math"
	"math/rand/v2"
	"sync"

	"github.com/robocache/robocache/tensor"
)

// down returns x rounded toward zero. x is the result of an operation rounded to nearest, and rest is the exact result minus x.
func down(x, rest float64) float64 {
	if rest != 0 && math.Signbit(rest) != math.Signbit(x) {
		return math.Nextafter(x, 0)
	}
	return x
}

// toFloat32 rounds x to float32: toward zero if down is set, otherwise to nearest.
func toFloat32(x float64, down bool) float64 {
	y := float32(x)
	if down && math.Abs(float64(y)) > math.Abs(x) {
		y = math.Nextafter32(y, 0)
	}
	return float64(y)
}

// step is a step of a blend. In a test it may round toward zero instead of to nearest.
type step int

const (
	none step = iota
	product
	sum
	weight // the weight is the next float toward zero
)

// blend returns v0 + a*(v1-v0) as a kernel for a dtype computes it, except that the step wrong rounds toward zero.
func blend(in tensor.DType, v0, v1, a float64, wrong step) float64 {
	if in == tensor.F64 {
		if wrong == weight {
			a = math.Nextafter(a, 0)
		}
		d := v1 - v0
		p := float64(a * d)
		if wrong == product {
			p = down(p, math.FMA(a, d, -p))
		}
		x := v0 + p
		if wrong == sum {
			part := x - v0
			x = down(x, v0-(x-part)+(p-part))
		}
		return x
	}
	if wrong == weight {
		a = float64(math.Nextafter32(float32(a), 0))
	}
	p := toFloat32(a*toFloat32(v1-v0, false), wrong == product)
	return toFloat32(v0+p, wrong == sum)
}

// middle returns the midpoint of the two neighbouring numbers of a dtype around x.
func middle(dtype tensor.DType, x float64) float64 {
	low := encode(dtype, x)
	return (decode(dtype, low) + decode(dtype, low+1)) / 2
}

// telling draws two samples for which the blend with weight a reveals an error in the last bit of a step, even after rounding to far
// fewer bits: the result is close to the midpoint of two numbers of out. Their multiples by powers of two reveal it as well. There
// are few such samples. ok is false if the search finds none.
func telling(r *rand.Rand, in, out tensor.DType, a float64, wrong step) (v [2]float64, ok bool) {
	for range 200_000 {
		v0 := decode(in, encode(in, math.Ldexp(.5+r.Float64(), -r.IntN(6))))
		if wrong == product && r.IntN(2) == 0 {
			v0 = 0
		}
		to := .5 + r.Float64()
		if out != tensor.F64 {
			to = middle(out, to)
		}
		v1 := decode(in, encode(in, v0+(to-v0)/a))
		x := blend(in, v0, v1, a, none)
		if near := out.Size() > 2 || math.Abs(x-to) < 0x1p-20; near && encode(out, x) != encode(out, blend(in, v0, v1, a, wrong)) {
			return [2]float64{v0, v1}, true
		}
	}
	return v, false
}

// tie is a bracket of length h with a target x after its start. For each pair of input and output dtypes it may have samples that
// reveal an error.
type tie struct {
	h, x    float64
	samples map[[2]tensor.DType][2]float64
}

// ties returns two brackets for each step. The lengths of the first three are float32 numbers. Two of the others are about 2^24,
// where the quotient may still be computed in float32. The last one's quotient is rounded to float64 and then to a different float32
// than directly.
var ties = sync.OnceValue(func() (list []tie) {
	r := rng(61) // other seeds take longer
	timestamps, targets := tied(50)
	var pairs [][2]tensor.DType
	for i := range valueDTypes {
		for k := range valueDTypes {
			pairs = append(pairs, [2]tensor.DType{valueDTypes[3-i], valueDTypes[3-k]}) // the pairs with few such samples come first
		}
	}
	for len(list) < 6 {
		wrong := 1 + step(len(list)%3)
		h := []float64{3: 1<<24 - 1, 4: 1 << 24, 5: 0}[len(list)]
		if h == 0 {
			h = float64(1<<19 + 2*r.IntN(1<<18) + 1)
		}
		x := math.Floor(h * (.25 + .5*r.Float64()))
		if len(list) == 5 {
			i := r.IntN(len(targets))
			h, x = float64(timestamps[2*i+1]-timestamps[2*i]), float64(targets[i]-timestamps[2*i])
		}
		if wrong == weight && (math.FMA(x/h, h, -x) <= 0 || math.FMA(toFloat32(x/h, false), h, -x) <= 0) {
			continue // truncation would give the same
		}
		t, good := tie{h, x, map[[2]tensor.DType][2]float64{}}, true
		for _, p := range pairs {
			a := x / h
			if p[0] != tensor.F64 {
				a = toFloat32(a, false)
			}
			if t.samples[p], good = telling(r, p[0], p[1], a, wrong); !good {
				break
			}
		}
		if good {
			list = append(list, t)
		}
	}
	return list
})

// tiesOn returns the ties with lengths that a clock can represent.
func tiesOn(clock tensor.DType) []tie {
	if clock == tensor.F32 {
		return ties()[:3]
	}
	return ties()
}

// tiedSource returns a stream with d features from ties, in which each feature reveals an error, and the targets.
func tiedSource(r *rand.Rand, in, out, clock tensor.DType, list []tie, d int) (src, times, targets *array) {
	var timestamps, x, v []float64
	at := 0.
	for _, t := range list {
		scale := make([]float64, d)
		for k := range scale {
			scale[k] = math.Ldexp(float64(1-2*r.IntN(2)), r.IntN(4))
		}
		for _, sample := range t.samples[[2]tensor.DType{in, out}] {
			for k := range scale {
				v = append(v, sample*scale[k])
			}
		}
		timestamps, x = append(timestamps, at, at+t.h), append(x, at+t.x)
		at += t.h + 1
	}
	n := len(list)
	return vals(in, v, 2*n, d), vals(clock, timestamps, 2*n), vals(clock, x, n)
}
