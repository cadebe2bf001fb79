package cpu

import "math"

// arithmetic is what the fast way computes with: rows of a multiple of 8 elements, the first slice's length. The set of plain Go is what the others are
// tested against. Sums may be in any order, but in one that only their length decides.
type arithmetic struct {
	// product makes c[r][j] = the sum over k, ascending, of a[r*lda+i*step]*b[i*ldb+j] for 16 columns j, or adds it to c.
	product func(c []float32, ldc int, a []float32, lda, step int, b []float32, ldb, k, rows int, add bool)
	// transpose makes dst[i][j] = src[j*ld+i] of 16 rows of k elements, a multiple of 4.
	transpose func(dst, src []float32, ld, k int)

	add     func(dst, x []float32)
	relu    func(x []float32)
	gate    func(x, gate []float32) // 0 where gate is not above 0
	scale   func(x []float32, by float32)
	sum     func(x []float32) float32
	squares func(x []float32, less float32) float32 // the sum of (x-less)²
	dot     func(a, b []float32) float32
	max     func(x []float32) float32
	addRows func(sum, x []float32, ld, rows int) // 16 columns, rows ascending

	norm     func(dst, z, gamma, beta []float32, mean, rstd float32) // (z-mean)*rstd*gamma + beta
	normSums func(g, z, gamma, dGamma, dBeta []float32, mean, rstd float32) (h, hx float32)
	normGrad func(g, z, gamma []float32, mean, rstd, h, hx float32) // rstd*(g*gamma - h - x*hx)
	exp2     func(x []float32, scale, less float32) float32         // 2^(x*scale-less), and their sum
	softGrad func(dp, p []float32, delta, scale float32)            // p*(dp-delta)*scale
}

// fast is the arithmetic of the fast way. Tests change it.
var fast = fastest()

var plain = arithmetic{
	product: plainProduct, transpose: plainTranspose,
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
	sum: func(x []float32) (s float32) {
		for _, v := range x {
			s += v
		}
		return s
	},
	squares: func(x []float32, less float32) (s float32) {
		for _, v := range x {
			s += (v - less) * (v - less)
		}
		return s
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
	addRows: func(sum, x []float32, ld, rows int) {
		for r := range rows {
			for j, v := range x[r*ld:][:16] {
				sum[j] += v
			}
		}
	},
	norm: func(dst, z, gamma, beta []float32, mean, rstd float32) {
		for i := range dst {
			dst[i] = (z[i]-mean)*rstd*gamma[i] + beta[i]
		}
	},
	normSums: func(g, z, gamma, dGamma, dBeta []float32, mean, rstd float32) (h, hx float32) {
		for i, v := range g {
			x := (z[i] - mean) * rstd
			dGamma[i] += v * x
			dBeta[i] += v
			h += v * gamma[i]
			hx += v * gamma[i] * x
		}
		return h, hx
	},
	normGrad: func(g, z, gamma []float32, mean, rstd, h, hx float32) {
		for i, v := range g {
			g[i] = rstd * (v*gamma[i] - h - (z[i]-mean)*rstd*hx)
		}
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
