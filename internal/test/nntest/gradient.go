package nntest

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

func init() { groups = append(groups, group{"gradient", gradients}) }

func gradients(t *testing.T, d *Bench) {
	for i, c := range weightCases() {
		d.Case(t, "weights/"+c.name, func(t *testing.T) { c.check(t, d.Same(t, uint64(i), c.job)) })
	}
	for i, c := range normCases {
		d.Case(t, fmt.Sprintf("norm/%d", i), func(t *testing.T) { c.check(t, d.Same(t, uint64(i), c.norm)) })
	}
	for i, c := range adamWCases {
		d.Case(t, "adamw/"+c.name, func(t *testing.T) { c.check(t, d.Same(t, uint64(i), c.adamW)) })
	}
}

// weightCase is a case for WeightGradient. The job must not change the elements of Gradient between the items.
type weightCase struct {
	name     string
	splits   int
	products []productShape
	sums     [][2]int // rows and columns of each column sum
}

type productShape struct {
	m, n, k int
	with    productWith
}

type productWith uint8

const (
	bias    productWith = 1 << iota
	apart               // activations are columns of a wider matrix, and the weight's rows are not contiguous
	zeroEnd             // the last 16 columns of DY and X are padding
)

func weightCases() (list []weightCase) {
	add := func(name string, splits int, products []productShape, sums ...[2]int) {
		list = append(list, weightCase{name, splits, products, sums})
	}
	for _, m := range []int{1, 16, 17, 63, 64, 65, 128, 200, 321} {
		add(fmt.Sprintf("rows%d", m), 1+m%4, []productShape{{m, 48, 32, bias}})
	}
	for splits := 1; splits <= 8; splits++ {
		add(fmt.Sprintf("splits%d", splits), splits, []productShape{{64*splits - 20, 32, 16, bias}}, [2]int{21, 32})
	}
	for _, n := range []int{16, 64, 80, 128, 144, 272} {
		add(fmt.Sprintf("weight%dx48", n), 2, []productShape{{70, n, 48, bias | apart}})
		add(fmt.Sprintf("weight48x%d", n), 2, []productShape{{70, 48, n, bias | zeroEnd}})
		add(fmt.Sprintf("weight%dx256", n), 1, []productShape{{40, n, 160, 0}})
	}
	for _, rows := range []int{1, 7, 8, 9, 33} {
		add(fmt.Sprintf("sums%d", rows), 3, nil, [2]int{rows, 16}, [2]int{rows, 1040})
	}
	add("large", 3, []productShape{{150, 144, 144, bias | apart}, {150, 208, 336, bias}, {150, 128, 256, 0}})
	for wide := 160; wide < 256; wide += 16 {
		add(fmt.Sprintf("large144x%d", wide), 1, []productShape{{20, 144, wide, apart}})
	}
	// All products and sums of a transformer layer at once, and those outside layers.
	add("layer", 4, []productShape{{300, 192, 64, bias}, {300, 64, 64, bias | apart}, {300, 128, 64, bias}, {300, 64, 128, bias}, {300, 256, 256, bias},
		{12, 32, 64, bias | zeroEnd}, {300, 64, 16, 0}},
		[2]int{5, 64}, [2]int{6, 1024})
	return list
}

// places returns the offset of each item in Gradient, the offset of each product's bias (-1 without a bias), the row stride of each
// weight, and the length p of Gradient.
func (c weightCase) places() (offsets, biases, strides []int, p int) {
	for _, s := range c.products {
		stride := s.k
		if s.with&apart != 0 {
			stride += 16
		}
		offsets, strides, biases = append(offsets, p), append(strides, stride), append(biases, -1)
		p += s.n*stride + 16
		if s.with&bias != 0 {
			biases[len(biases)-1] = p
			p += s.n
		}
	}
	for _, s := range c.sums {
		offsets = append(offsets, p)
		p += s[1] + 16
	}
	return offsets, biases, strides, p
}

func (c weightCase) job(m *Maker) (backend.Plan, error) {
	offsets, biases, strides, p := c.places()
	job := &backend.WeightGradientJob{Splits: c.splits, Gradient: m.Out("gradient", tensor.F32, p)}
	side := func(name string, rows, columns int, with productWith) *tensor.Tensor {
		wide := columns
		if with&apart != 0 {
			wide += 24
		}
		list := make([]float64, rows*wide)
		for i := range list {
			if with&zeroEnd == 0 || i%wide < wide-16 {
				list[i] = float64(tensor.BF16FromF64(m.Rand().NormFloat64()).F32())
			}
		}
		t := m.Of(0, list, rows, wide)
		if with&apart != 0 {
			var err error
			m.InOut(name, t)
			t, err = t.Slice(1, 16, 16+columns)
			require.NoError(m.t, err)
			return t
		}
		m.InOut(name, t)
		return t
	}
	for i, s := range c.products {
		dy, x := side(fmt.Sprint("dy", i), s.m, s.n, s.with), side(fmt.Sprint("x", i), s.m, s.k, s.with)
		job.Products = append(job.Products, backend.ProductGradient{DY: dy, X: x, M: s.m, N: s.n, K: s.k,
			Offset: offsets[i], Stride: strides[i], BiasOffset: biases[i]})
	}
	for i, s := range c.sums {
		list := make([]float64, s[0]*s[1])
		for i := range list {
			list[i] = float64(float32(m.Rand().NormFloat64()))
		}
		x := m.Of(tensor.F32, list, s[0], s[1])
		m.InOut(fmt.Sprint("sum", i), x)
		job.Sums = append(job.Sums, backend.ColumnSum{X: x, R: s[0], N: s[1], Offset: offsets[len(c.products)+i]})
	}
	return m.NN().WeightGradient(job)
}

// check compares the result with float64 sums.
func (c weightCase) check(t *testing.T, got map[string][]float64) {
	offsets, biases, strides, p := c.places()
	want, size := make([]float64, p), make([]float64, p) // size has the sums of the terms' absolute values
	for i := range want {
		want[i] = math.NaN()
	}
	begin := func(at int) { want[at], size[at] = 0, 0 }
	add := func(at int, v float64) { want[at] += v; size[at] += math.Abs(v) }
	for i, s := range c.products {
		wideN, wideK, from := s.n, s.k, 0
		if s.with&apart != 0 {
			wideN, wideK, from = s.n+24, s.k+24, 16
		}
		dy, x := got[fmt.Sprint("dy", i)], got[fmt.Sprint("x", i)]
		for n := range s.n {
			at := offsets[i] + n*strides[i]
			for k := range s.k {
				begin(at + k)
				for m := range s.m {
					add(at+k, dy[m*wideN+from+n]*x[m*wideK+from+k])
				}
			}
			if at := biases[i] + n; biases[i] >= 0 {
				begin(at)
				for m := range s.m {
					add(at, dy[m*wideN+from+n])
				}
			}
		}
	}
	for i, s := range c.sums {
		for n := range s[1] {
			at := offsets[len(c.products)+i] + n
			begin(at)
			for r := range s[0] {
				add(at, got[fmt.Sprint("sum", i)][r*s[1]+n])
			}
		}
	}
	gradient := got["gradient"]
	for i, w := range want {
		if math.IsNaN(w) {
			require.True(t, math.IsNaN(gradient[i]), "gradient[%d], which no item has, is %v", i, gradient[i])
			gradient[i], want[i] = 0, 0
		}
	}
	Within(t, "gradient", gradient, want, func(i int) float64 { return 100 * size[i] * 0x1p-24 })
}
