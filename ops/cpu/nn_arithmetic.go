package cpu

import (
	"math"

	"github.com/robocache/robocache/internal/fp32"
)

// arithmetic is a set of functions for networks on the CPU: products of float32 matrices, and operations on rows. A row's length is
// that of the first slice, a multiple of 16. Unless a function's comment limits it, every processor's set returns the same bits as the
// plain Go set, so exact and fast networks both use it.
type arithmetic struct {
	// product computes c[r][j] = the sum over k, ascending, of a[r*lda+i*step]*b[i*ldb+j] for 16 columns j. If add is true, it adds to
	// c. A multiply-add may be fused or not.
	product func(c []float32, ldc int, a []float32, lda, step int, b []float32, ldb, k, rows int, add bool)
	// transpose writes dst[i][j] = src[j*ld+i] for 16 rows with k elements, a multiple of 4.
	transpose func(dst, src []float32, ld, k int)
	// pack copies 16 columns to a panel: dst[i][j] = src[i*ld+j].
	pack func(dst, src []float32, ld, rows int)
	// addRows adds 16 columns from each row to sum, rows ascending.
	addRows func(sum, x []float32, ld, rows int)

	add   func(dst, x []float32)
	relu  func(x []float32)       // 0 where x is 0 or less
	gate  func(x, gate []float32) // 0 where gate is not above 0
	scale func(x []float32, by float32)
	mul   func(dst, x []float32)
	// dropout sets dropped elements to 0 and multiplies the others. The first element has number 4*quad.
	dropout func(v []float32, quad uint64, by *dropoutNumbers)

	sum       func(x []float32) float32                               // in the order of backend.NormStats
	squares   func(dst, x []float32, less float32)                    // (x-less)²
	norm      func(dst, z, gamma, beta []float32, mean, rstd float32) // x*gamma + beta, x = (z-mean)*rstd
	normParts func(s, t, g, z, gamma []float32, mean, rstd float32)   // s = g*gamma, t = s*x
	normSums  func(dGamma, dBeta, g, z []float32, mean, rstd float32) // dGamma += g*x, dBeta += g
	normGrad  func(g, s, z []float32, mean, rstd, h, hx float32)      // g = rstd*((s-h) - x*hx)

	adamW func(params, m, v, g []float32, by *adamWNumbers) bool // one step; reports whether an element was skipped

	// The bits of these functions differ between the sets.
	dot      func(a, b []float32) float32
	max      func(x []float32) float32                      // no element is NaN
	exp2     func(x []float32, scale, less float32) float32 // 2^(x*scale-less), which is at most 1; returns their sum
	softGrad func(dp, p []float32, delta, scale float32)    // p*(dp-delta)*scale
}

// fast is the arithmetic for this processor. Tests replace it.
var fast = fastest()

var plain = arithmetic{
	product: plainProduct, transpose: plainTranspose, adamW: plainAdamW,
	pack: func(dst, src []float32, ld, rows int) {
		for i := range rows {
			copy(dst[i*panel:][:panel], src[i*ld:])
		}
	},
	addRows: func(sum, x []float32, ld, rows int) {
		for r := range rows {
			for j, v := range x[r*ld:][:panel] {
				sum[j] += v
			}
		}
	},
	add: func(dst, x []float32) {
		for i, v := range x[:len(dst)] {
			dst[i] += v
		}
	},
	relu: func(x []float32) {
		for i, v := range x {
			if v <= 0 {
				x[i] = 0
			}
		}
	},
	gate: func(x, gate []float32) {
		for i, g := range gate[:len(x)] {
			if !(g > 0) {
				x[i] = 0
			}
		}
	},
	scale: func(x []float32, by float32) {
		for i := range x {
			x[i] *= by
		}
	},
	mul: func(dst, x []float32) {
		for i, v := range x[:len(dst)] {
			dst[i] *= v
		}
	},
	dropout: func(v []float32, quad uint64, by *dropoutNumbers) {
		for i := 0; i < len(v); i += 4 {
			for c, w := range fp32.Words(by.seed, by.step, by.site, quad+uint64(i/4)) {
				if w < by.threshold {
					v[i+c] = 0
				} else {
					v[i+c] *= by.scale
				}
			}
		}
	},
	sum: plainSum,
	squares: func(dst, x []float32, less float32) {
		for i, v := range x[:len(dst)] {
			d := v - less
			dst[i] = d * d
		}
	},
	norm: func(dst, z, gamma, beta []float32, mean, rstd float32) {
		for i, v := range z[:len(dst)] {
			dst[i] = float32(float32((v-mean)*rstd)*gamma[i]) + beta[i]
		}
	},
	normParts: func(s, t, g, z, gamma []float32, mean, rstd float32) {
		for i, v := range g[:len(s)] {
			s[i] = v * gamma[i]
			t[i] = s[i] * float32((z[i]-mean)*rstd)
		}
	},
	normSums: func(dGamma, dBeta, g, z []float32, mean, rstd float32) {
		for i, v := range g[:len(dGamma)] {
			dGamma[i] += float32(v * float32((z[i]-mean)*rstd))
			dBeta[i] += v
		}
	},
	normGrad: func(g, s, z []float32, mean, rstd, h, hx float32) {
		for i, v := range s[:len(g)] {
			g[i] = rstd * (v - h - float32(float32((z[i]-mean)*rstd)*hx))
		}
	},
	dot: func(a, b []float32) (s float32) {
		for i, v := range b[:len(a)] {
			s += a[i] * v
		}
		return s
	},
	max: func(x []float32) float32 {
		m := x[0]
		for _, v := range x[1:] {
			m = max(m, v)
		}
		return m
	},
	exp2: func(x []float32, scale, less float32) (s float32) {
		for i, v := range x {
			t := v*scale - less
			p := float32(0)
			if !(t < -126) {
				p = float32(math.Exp2(float64(t)))
			}
			x[i] = p
			s += p
		}
		return s
	},
	softGrad: func(dp, p []float32, delta, scale float32) {
		for i, v := range dp {
			dp[i] = p[i] * (v - delta) * scale
		}
	},
}

func plainProduct(c []float32, ldc int, a []float32, lda, step int, b []float32, ldb, k, rows int, add bool) {
	for r := range rows {
		var sum [16]float32
		if add {
			sum = [16]float32(c[r*ldc:])
		}
		for i := range k {
			x, row := a[r*lda+i*step], (*[16]float32)(b[i*ldb:])
			for j, y := range row {
				sum[j] += x * y
			}
		}
		copy(c[r*ldc:], sum[:])
	}
}

func plainTranspose(dst, src []float32, ld, k int) {
	for i := range k {
		for j := range 16 {
			dst[16*i+j] = src[j*ld+i]
		}
	}
}

func plainSum(x []float32) float32 {
	var p [32]float32
	for i, v := range x {
		p[i/4%32] += v
	}
	for d := 16; d > 0; d /= 2 {
		for l := range d {
			p[l] += p[l+d]
		}
	}
	return p[0]
}
