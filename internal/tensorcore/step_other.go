//go:build !amd64

package tensorcore

// vector is false, because only amd64 has assembly functions: see step_amd64.go.
var vector = false

// steps8 does nothing: see step_amd64.go.
func steps8(acc *[8]float32, a *Decoded, b *[8]Decoded, n int) int { return 0 }
