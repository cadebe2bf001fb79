//go:build !amd64

package cpu

import "github.com/robocache/robocache/tensor"

// vector is false, because only amd64 has assembly functions: see lerp_amd64.go.
var vector = false

func lerpVector(dst, src any, items []lerpItem, gap, n int) (done, finite bool) { return false, false }

func widenF16(dst []float32, src []tensor.Float16) bool   { return false }
func widenBF16(dst []float32, src []tensor.BFloat16) bool { return false }
func roundF16(dst []tensor.Float16, src []float32) bool   { return false }
func roundBF16(dst []tensor.BFloat16, src []float32) bool { return false }
