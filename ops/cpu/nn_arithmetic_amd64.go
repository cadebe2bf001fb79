package cpu

// fastest returns the fastest set that this processor supports.
func fastest() *arithmetic {
	const fma, avx512, zmm = 1 << 12, 1 << 16, 0xe6
	if _, _, c, _ := cpuid(1); !hasVector() || c&fma == 0 {
		return &plain
	}
	if _, b, _, _ := cpuid(7); b&avx512 == 0 || xgetbv()&zmm != zmm {
		return &avx2
	}
	wide := avx2
	wide.product = productAVX512
	return &wide
}

// productAVX512 computes tiles of 16 rows, and the remaining rows by productAVX2.
func productAVX512(c []float32, ldc int, a []float32, lda, step int, b []float32, ldb, k, rows int, add bool) {
	tiles := rows / panel
	if tiles > 0 {
		tilesAVX512(c, ldc, a, lda, step, b, ldb, k, tiles, add)
	}
	if whole := tiles * panel; whole < rows {
		productAVX2(c[whole*ldc:], ldc, a[whole*lda:], lda, step, b, ldb, k, rows-whole, add)
	}
}

var avx2 = arithmetic{
	product: productAVX2, transpose: transposeAVX2, pack: packAVX2, addRows: addRowsAVX2,
	add: addAVX2, relu: reluAVX2, gate: gateAVX2, scale: scaleAVX2, mul: mulAVX2, dropout: dropoutAVX2,
	sum: sumAVX2, squares: squaresAVX2, norm: normAVX2, normParts: normPartsAVX2, normSums: normSumsAVX2, normGrad: normGradAVX2,
	dot: dotAVX2, max: maxAVX2, exp2: exp2AVX2, softGrad: softGradAVX2, adamW: adamWAVX2,
}

//go:noescape
func productAVX2(c []float32, ldc int, a []float32, lda, step int, b []float32, ldb, k, rows int, add bool)

//go:noescape
func tilesAVX512(c []float32, ldc int, a []float32, lda, step int, b []float32, ldb, k, tiles int, add bool)

//go:noescape
func transposeAVX2(dst, src []float32, ld, k int)

//go:noescape
func addAVX2(dst, x []float32)

//go:noescape
func reluAVX2(x []float32)

//go:noescape
func gateAVX2(x, gate []float32)

//go:noescape
func scaleAVX2(x []float32, by float32)

//go:noescape
func sumAVX2(x []float32) float32

//go:noescape
func squaresAVX2(dst, x []float32, less float32)

//go:noescape
func dotAVX2(a, b []float32) float32

//go:noescape
func maxAVX2(x []float32) float32

//go:noescape
func normAVX2(dst, z, gamma, beta []float32, mean, rstd float32)

//go:noescape
func normPartsAVX2(s, t, g, z, gamma []float32, mean, rstd float32)

//go:noescape
func normSumsAVX2(dGamma, dBeta, g, z []float32, mean, rstd float32)

//go:noescape
func normGradAVX2(g, s, z []float32, mean, rstd, h, hx float32)

//go:noescape
func exp2AVX2(x []float32, scale, less float32) float32

//go:noescape
func softGradAVX2(dp, p []float32, delta, scale float32)

//go:noescape
func addRowsAVX2(sum, x []float32, ld, rows int)

//go:noescape
func adamWAVX2(params, m, v, g []float32, by *adamWNumbers) bool

//go:noescape
func packAVX2(dst, src []float32, ld, rows int)

//go:noescape
func mulAVX2(dst, x []float32)

//go:noescape
func dropoutAVX2(v []float32, quad uint64, by *dropoutNumbers)
