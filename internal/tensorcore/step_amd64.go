package tensorcore

// vector reports whether steps8 in step_amd64.s may be used. Tests set it to false.
var vector = hasVector()

// hasVector reports whether the processor supports AVX2 and the system saves its registers.
func hasVector() bool {
	const avx, osxsave, avx2, ymm = 1 << 28, 1 << 27, 1 << 5, 6
	last, _, _, _ := cpuid(0)
	if last < 7 {
		return false
	}
	_, _, c, _ := cpuid(1)
	_, b, _, _ := cpuid(7)
	return c&avx != 0 && c&osxsave != 0 && b&avx2 != 0 && xgetbv()&ymm == ymm
}

// steps8 performs Hopper steps with 16 products each, for 8 columns, and returns how many it did. It stops before n at a step with a
// term that is not finite, or with a sum that may be subnormal.
func steps8(acc *[8]float32, a *Decoded, b *[8]Decoded, n int) int {
	if !vector {
		return 0
	}
	return steps8AVX2(acc, a, b, n)
}

//go:noescape
func steps8AVX2(acc *[8]float32, a *Decoded, b *[8]Decoded, n int) int

func cpuid(leaf uint32) (eax, ebx, ecx, edx uint32)

func xgetbv() uint32
