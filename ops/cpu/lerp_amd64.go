package cpu

import "github.com/robocache/robocache/tensor"

// vector reports whether the functions in lerp_amd64.s may be used. Tests set it to false.
var vector = hasVector()

// hasVector reports whether the processor supports AVX2 and F16C, and the system saves the registers that they use.
func hasVector() bool {
	const f16c, avx, osxsave, avx2, ymm = 1 << 29, 1 << 28, 1 << 27, 1 << 5, 6
	last, _, _, _ := cpuid(0)
	if last < 7 {
		return false
	}
	_, _, c, _ := cpuid(1)
	_, b, _, _ := cpuid(7)
	return c&f16c != 0 && c&avx != 0 && c&osxsave != 0 && b&avx2 != 0 && xgetbv()&ymm == ymm
}

// The lerp functions compute count items with n features each as v[k] + a*(v[k+1]-v[k]). They report whether all results are finite.
// count and n are at least 1.

//go:noescape
func lerpF32F32(dst, src *float32, items *lerpItem, count, n, gap int) bool

//go:noescape
func lerpF32F16(dst *tensor.Float16, src *float32, items *lerpItem, count, n, gap int) bool

//go:noescape
func lerpF32BF16(dst *tensor.BFloat16, src *float32, items *lerpItem, count, n, gap int) bool

//go:noescape
func lerpF16F32(dst *float32, src *tensor.Float16, items *lerpItem, count, n, gap int) bool

//go:noescape
func lerpF16F16(dst, src *tensor.Float16, items *lerpItem, count, n, gap int) bool

//go:noescape
func lerpF16BF16(dst *tensor.BFloat16, src *tensor.Float16, items *lerpItem, count, n, gap int) bool

//go:noescape
func lerpBF16F32(dst *float32, src *tensor.BFloat16, items *lerpItem, count, n, gap int) bool

//go:noescape
func lerpBF16F16(dst *tensor.Float16, src *tensor.BFloat16, items *lerpItem, count, n, gap int) bool

//go:noescape
func lerpBF16BF16(dst, src *tensor.BFloat16, items *lerpItem, count, n, gap int) bool

// The conversions convert n numbers (at least 1) with the rounding in package tensor.

//go:noescape
func convertF32F16(dst *tensor.Float16, src *float32, n int)

//go:noescape
func convertF32BF16(dst *tensor.BFloat16, src *float32, n int)

//go:noescape
func convertF16F32(dst *float32, src *tensor.Float16, n int)

//go:noescape
func convertBF16F32(dst *float32, src *tensor.BFloat16, n int)

func cpuid(leaf uint32) (eax, ebx, ecx, edx uint32)

func xgetbv() uint32

// lerpVector computes the items if there is an assembly function for the two types. finite reports whether all results are finite; if
// not, the caller must repair them. All items must lie inside both slices.
func lerpVector(dst, src any, items []lerpItem, gap, n int) (done, finite bool) {
	if !vector {
		return false, false
	}
	item, count := &items[0], len(items)
	switch d := dst.(type) {
	case []float32:
		switch s := src.(type) {
		case []float32:
			return true, lerpF32F32(&d[0], &s[0], item, count, n, gap)
		case []tensor.Float16:
			return true, lerpF16F32(&d[0], &s[0], item, count, n, gap)
		case []tensor.BFloat16:
			return true, lerpBF16F32(&d[0], &s[0], item, count, n, gap)
		}
	case []tensor.Float16:
		switch s := src.(type) {
		case []float32:
			return true, lerpF32F16(&d[0], &s[0], item, count, n, gap)
		case []tensor.Float16:
			return true, lerpF16F16(&d[0], &s[0], item, count, n, gap)
		case []tensor.BFloat16:
			return true, lerpBF16F16(&d[0], &s[0], item, count, n, gap)
		}
	case []tensor.BFloat16:
		switch s := src.(type) {
		case []float32:
			return true, lerpF32BF16(&d[0], &s[0], item, count, n, gap)
		case []tensor.Float16:
			return true, lerpF16BF16(&d[0], &s[0], item, count, n, gap)
		case []tensor.BFloat16:
			return true, lerpBF16BF16(&d[0], &s[0], item, count, n, gap)
		}
	}
	return false, false
}

// The functions below do nothing and return false if the processor lacks vector instructions.

func widenF16(dst []float32, src []tensor.Float16) bool {
	if !vector || len(src) == 0 {
		return false
	}
	convertF16F32(&dst[:len(src)][0], &src[0], len(src))
	return true
}

func widenBF16(dst []float32, src []tensor.BFloat16) bool {
	if !vector || len(src) == 0 {
		return false
	}
	convertBF16F32(&dst[:len(src)][0], &src[0], len(src))
	return true
}

func roundF16(dst []tensor.Float16, src []float32) bool {
	if !vector || len(src) == 0 {
		return false
	}
	convertF32F16(&dst[:len(src)][0], &src[0], len(src))
	return true
}

func roundBF16(dst []tensor.BFloat16, src []float32) bool {
	if !vector || len(src) == 0 {
		return false
	}
	convertF32BF16(&dst[:len(src)][0], &src[0], len(src))
	return true
}
