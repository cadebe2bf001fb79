package opstest

import (
	"fmt"
	"math"
	"testing"

	"github.com/robocache/robocache/tensor"
)

// robot returns values [n,d] as a robot has them: joints that move slowly, noise, a gripper, a constant, and a column that crosses
// zero.
func robot(dtype tensor.DType, n, d int, seed uint64) *array {
	g := &generator{Rand: rng(7000 + seed)}
	list := make([]float64, n*d)
	for i := range list {
		row, c := i/d, i%d
		switch c % 5 {
		case 0:
			list[i] = math.Sin(float64(row)/50) * float64(c+1)
		case 1:
			list[i] = g.NormFloat64()
		case 2:
			list[i] = float64(row / 37 % 2)
		case 3:
			list[i] = -0.75
		default:
			list[i] = math.Ldexp(g.Float64()-0.5, g.IntN(30)-20)
		}
	}
	return vals(dtype, list, n, d)
}

// odd returns special values of a dtype: zeros, the largest and the smallest numbers, subnormals, infinities and NaN.
func odd(dtype tensor.DType, n, d int) *array {
	list := []float64{
		0, math.Copysign(0, -1), 1, -1, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 0x1p-126, 0x1.fffffcp-127,
		math.Inf(1), math.Inf(-1), math.NaN(), 0x1.fffffep0, 0x1p-24, 65504, -0x1p-14, 0x1.ff8p-15, 1 << 24, 3,
	}
	all := make([]float64, n*d)
	for i := range all {
		all[i] = list[(i/d+i%d*7)%len(list)]
	}
	a := vals(dtype, all, n, d)
	return a
}

var tallyTypes = []tensor.DType{tensor.F32, tensor.F16, tensor.BF16}

func (s *suite) tallyNamed(t *testing.T) {
	for _, dtype := range tallyTypes {
		s.tallyPasses(t, &tallying{title: fmt.Sprint("values at the ends of ", dtype), src: odd(dtype, 61, 3)})
	}
	for _, n := range []int{0, 1, 2, 31, 32, 33, 127, 128, 129, 1000} {
		for _, d := range []int{1, 4, 5} {
			s.tallyPasses(t, &tallying{title: fmt.Sprintf("%d rows of %d", n, d), src: robot(tensor.F32, n, d, uint64(n+d))})
		}
	}
	s.check(t, &tallying{title: "no columns", src: robot(tensor.F32, 7, 0, 1)}, layouts[1])
	holes := robot(tensor.F32, 50, 6, 2)
	s.tallyPasses(t, &tallying{title: "rows apart", src: holes.restride([]int{11, 1}, 3, 4, poison(tensor.F32))})
	s.tallyPasses(t, &tallying{title: "halves of rows apart", src: robot(tensor.F16, 50, 6, 2).restride([]int{7, 1}, 1, 4, poison(tensor.F16))})
	s.tallyPasses(t, &tallying{title: "one row many times", src: robot(tensor.F32, 1, 6, 2).restride([]int{0, 1}, 0, 0, 0).rows(700)})
	s.tallyPasses(t, &tallying{title: "one value", src: robot(tensor.F32, 3000, 4, 2).column(3)})
}

// rows returns an array of n rows, each equal to a's.
func (a *array) rows(n int) *array {
	b := *a
	b.shape = []int{n, a.shape[1]}
	return &b
}

// column returns one column of the array.
func (a *array) column(c int) *array {
	b := *a
	b.shape, b.offset = []int{a.shape[0], 1}, a.offset+c
	return &b
}

// drawTally returns the generated cases with a number, one for each pass.
func drawTally(i int) (all []trial) {
	g := &generator{Rand: rng(8000 + uint64(i))}
	n, d := 1+g.IntN(1+g.IntN(3000)), 1+g.IntN(1+g.IntN(40))
	dtype := tallyTypes[g.IntN(3)]
	src := robot(dtype, n, d, uint64(i))
	if g.one(3) {
		src = odd(dtype, n, d)
	}
	if g.one(3) {
		src = src.restride([]int{d + g.IntN(9), 1}, g.IntN(4), 3, poison(dtype))
	}
	for _, c := range (&tallying{title: numbered("tally", i), src: src, runs: 1 + g.IntN(2)}).passes() {
		all = append(all, trial{c, layouts[i%2]})
	}
	return all
}

// tallyLarge tests more rows than a block can sum without overflow. A device with one multiprocessor gives them all to one block.
func (s *suite) tallyLarge(t *testing.T) {
	src := robot(tensor.F32, 70_000, 5, 1)
	for i := 3; i < len(src.raw); i += 5 { // the largest mantissa overflows the sums soonest
		src.raw[i] = encode(tensor.F32, 0x1.fffffep0)
	}
	s.check(t, &tallying{title: "many rows", src: src}, layouts[1])
}
