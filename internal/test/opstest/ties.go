package opstest

import (
	"math"
	"math/rand/v2"
	"sync"

	"github.com/robocache/robocache/tensor"
)

// down is x, the result of an operation that left out rest, had it been rounded toward zero.
func down(x, rest float64) float64 {
	if rest != 0 && math.Signbit(rest) != math.Signbit(x) {
		return math.Nextafter(x, 0)
	}
	return x
}

// toFloat32 rounds x, to nearest or toward zero.
func toFloat32(x float64, down bool) float64 {
	y := float32(x)
	if down && math.Abs(float64(y)) > math.Abs(x) {
		y = math.Nextafter32(y, 0)
	}
	return float64(y)
}

// step is a step of a blend that may round toward zero in place of to nearest.
type step int

const (
	none step = iota
	product
	sum
	weight // is the next one towards zero
)

// blend is v0 + a*(v1-v0) as a kernel for values of a dtype computes it, but for one step.
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

// middle is the middle of two neighbouring numbers of a dtype that x is between.
func middle(dtype tensor.DType, x float64) float64 {
	low := encode(dtype, x)
	return (decode(dtype, low) + decode(dtype, low+1)) / 2
}

// telling draws two samples whose blend with weight a shows an error in the last place of a step, although the result may be
// rounded to far fewer places: it lies beside the middle of two numbers of out. Their products with a power of two show it as well.
// There are few such samples, and for some weights none.
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

// tie is a bracket of length h, a target x after its begin, and for each pair of dtypes, in and out, samples around it that tell.
type tie struct {
	h, x    float64
	samples map[[2]tensor.DType][2]float64
}

// ties are two brackets for each step. The lengths of the first three are floats; of the others two are around 2^24, up to where
// their quotient may be taken in float32, and the last one's quotient is rounded to float64 and then to another float32.
var ties = sync.OnceValue(func() (list []tie) {
	r := rng(61) // others take longer
	timestamps, targets := tied(50)
	var pairs [][2]tensor.DType
	for i := range valueDTypes {
		for k := range valueDTypes {
			pairs = append(pairs, [2]tensor.DType{valueDTypes[3-i], valueDTypes[3-k]}) // those of few samples first
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
			continue // cut off it would be the same
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

// tiesOn are the ties whose lengths a clock holds.
func tiesOn(clock tensor.DType) []tie {
	if clock == tensor.F32 {
		return ties()[:3]
	}
	return ties()
}

// tiedSource makes of ties a stream of d features, in each of which they tell, and the targets.
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
