package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// withEachArithmetic runs a test with the arithmetic of this processor and with that of plain Go.
func withEachArithmetic(t *testing.T, test func(t *testing.T)) {
	had := fast
	defer func() { fast = had }()
	for name, set := range sets() {
		fast = set
		t.Run(name, test)
	}
}

func normals(rng *rand.Rand, n int) []float32 {
	list := make([]float32, n)
	for i := range list {
		list[i] = float32(rng.NormFloat64())
	}
	return list
}

// Rows have the bits of plain Go.
func TestRowsHaveTheSameBitsOnEveryProcessor(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	for n := panel; n <= 400; n += panel {
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		a, b, c, d := normals(rng, n), normals(rng, n), normals(rng, n), normals(rng, n)
		for _, x := range []float32{inf, -inf, nan, 0, float32(math.Copysign(0, -1)), 1e-40} {
			a[rng.IntN(n)], b[rng.IntN(n)] = x, x
		}
		e := normals(rng, n)
		for name, do := range map[string]func(set *arithmetic, x, y []float32) float32{
			"add":     func(s *arithmetic, x, _ []float32) float32 { s.add(x, b); return 0 },
			"relu":    func(s *arithmetic, x, _ []float32) float32 { s.relu(x); return 0 },
			"gate":    func(s *arithmetic, x, _ []float32) float32 { s.gate(x, b); return 0 },
			"scale":   func(s *arithmetic, x, _ []float32) float32 { s.scale(x, 0.3); return 0 },
			"sum":     func(s *arithmetic, x, _ []float32) float32 { return s.sum(e) },
			"squares": func(s *arithmetic, x, _ []float32) float32 { s.squares(x, b, 0.7); return 0 },
			"norm":    func(s *arithmetic, x, _ []float32) float32 { s.norm(x, b, c, d, 0.2, 1.3); return 0 },
			"parts":   func(s *arithmetic, x, y []float32) float32 { s.normParts(x, y, b, c, d, 0.2, 1.3); return 0 },
			"sums":    func(s *arithmetic, x, y []float32) float32 { s.normSums(x, y, c, d, 0.2, 1.3); return 0 },
			"grad":    func(s *arithmetic, x, _ []float32) float32 { s.normGrad(x, c, b, 0.2, 1.3, 0.4, 0.5); return 0 },
			"rows":    func(s *arithmetic, x, y []float32) float32 { s.addRows(x[:panel], d, panel, n/panel); return 0 },
			"rows, strided": func(s *arithmetic, x, y []float32) float32 {
				s.addRows(x[:panel], b, 1, max(1, n-panel))
				return 0
			},
			"mul": func(s *arithmetic, x, _ []float32) float32 { s.mul(x, b); return 0 },
			"pack": func(s *arithmetic, x, y []float32) float32 {
				s.pack(x, d, 0, n/panel)
				s.pack(y, b, panel, n/panel)
				return 0
			},
			"dropout": func(s *arithmetic, x, y []float32) float32 {
				s.dropout(x, 1<<32-2, &dropoutNumbers{1<<40 + 5, 6, 7, 1 << 30, 4. / 3})
				s.dropout(y, 1000, &dropoutNumbers{9, 8, 7, 0xfff00000, 2})
				return 0
			},
			"adamw": func(s *arithmetic, x, y []float32) float32 {
				m, v := slices.Clone(c), slices.Clone(d)
				for i := range v {
					v[i] *= v[i]
				}
				if !s.adamW(x, m, v, b, &adamWNumbers{0.9, 0.1, 0.001, 0.999, 0.99, 1e-3, 0.3, 1e-8}) {
					return 0
				}
				copy(y, m)
				return s.sum(v)
			},
			"transpose": func(s *arithmetic, x, y []float32) float32 { s.transpose(x, d, n/panel/4*4, n/panel/4*4); return 0 },
		} {
			if name == "transpose" && n < 4*panel {
				continue
			}
			x, y := slices.Clone(a), slices.Clone(b)
			v, w := slices.Clone(a), slices.Clone(b)
			want := do(&plain, x, y)
			got := do(fast, v, w)
			sameBits(t, name, append(append(x, y...), want), append(append(v, w...), got))
		}
	}
}

func sameBits(t *testing.T, name string, want, got []float32) {
	t.Helper()
	for i, w := range want {
		if math.Float32bits(w) != math.Float32bits(got[i]) && !(w != w && got[i] != got[i]) {
			require.Fail(t, "other bits", "%s[%d]: got %v, want %v", name, i, got[i], w)
		}
	}
}

// Products of all forms are within bounds of float64, and an element has the same bits whatever rows it is made with.
func TestProductsAreWithinBounds(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	withEachArithmetic(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 4))
		for rows := 1; rows <= 30; rows++ {
			for _, k := range []int{1, 3, 16, 100} {
				for _, form := range []struct{ lda, step int }{{k + 3, 1}, {1, rows + 2}} {
					a, b := normals(rng, (rows+3)*(k+3)), normals(rng, k*24+16)
					old := normals(rng, rows*20)
					for _, add := range []bool{false, true} {
						got := slices.Clone(old)
						fast.product(got, 20, a, form.lda, form.step, b, 24, k, rows, add)
						for r := range rows {
							one := slices.Clone(old[r*20 : r*20+16])
							fast.product(one, 20, a[r*form.lda:], form.lda, form.step, b, 24, k, 1, add)
							sameBits(t, "a row alone", one, got[r*20:r*20+16])
							for j := range 16 {
								var want, size float64
								if add {
									want = float64(old[r*20+j])
								}
								for i := range k {
									p := float64(a[r*form.lda+i*form.step]) * float64(b[i*24+j])
									want, size = want+p, size+math.Abs(p)
								}
								require.InDelta(t, want, got[r*20+j], 1e-6*(size+math.Abs(want)), "rows %d k %d row %d column %d add %v", rows, k, r, j, add)
							}
							assert.Equal(t, old[r*20+16:r*20+20], got[r*20+16:r*20+20], "beside the columns")
						}
					}
				}
			}
		}
	})
}

// What softmax is made of is within bounds of float64, and numbers that are none stay so.
func TestSoftmaxPartsAreWithinBounds(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	withEachArithmetic(t, func(t *testing.T) {
		inf := float32(math.Inf(1))
		for n := panel; n <= 288; n += panel {
			rng := rand.New(rand.NewPCG(5, uint64(n)))
			x, y := normals(rng, n), normals(rng, n)
			x[n/2] = -inf
			assert.Equal(t, slices.Max(x), fast.max(x))
			less := fast.max(x) * 30
			p := slices.Clone(x)
			sum, total := fast.exp2(p, 30, less), 0.0
			for i, v := range x {
				want := math.Exp2(float64(v)*30 - float64(less))
				total += want
				assert.InDelta(t, want, p[i], 2e-7*want*(1+math.Abs(float64(less)))+1e-37, "2^%v", v*30-less)
			}
			assert.InEpsilon(t, total, sum, 1e-5)
			x[n/2] = 0
			var dot, size float64
			for i, v := range x {
				dot += float64(v) * float64(y[i])
				size += math.Abs(float64(v) * float64(y[i]))
			}
			assert.InDelta(t, dot, fast.dot(x, y), 1e-6*size)
			d := slices.Clone(x)
			fast.softGrad(d, y, 0.3, 0.7)
			for i, v := range x {
				assert.InDelta(t, float64(y[i])*(float64(v)-float64(float32(0.3)))*0.7, d[i], 1e-6)
			}
		}
		odd := make([]float32, 16)
		odd[3], odd[5] = float32(math.NaN()), inf
		fast.exp2(odd, 1, 0)
		assert.True(t, odd[3] != odd[3], "not-a-number stays")
		assert.Equal(t, float32(1), odd[0])
	})
}
