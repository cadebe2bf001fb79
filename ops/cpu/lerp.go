package cpu

import "github.com/robocache/robocache/tensor"

// lerpItem is a target between two samples. from is the first sample's position in the source and to the target's in the destination,
// in elements. a is the second sample's weight. The assembly functions depend on this layout.
type lerpItem struct {
	from, to int
	a        float64
}

// lerpRows writes v[k] + a*(v[k+1]-v[k]) for n features of each item. The second sample begins gap elements after the first. If a
// result is not finite, mended replaces it. Each step rounds separately: the conversions prevent the compiler from fusing the product
// into the sum.
func (v values) lerpRows(src values, items []lerpItem, gap, n int, s *scratch) {
	if n == 0 || len(items) == 0 {
		return
	}
	// Bounds are checked here, because the assembly functions check none.
	fromMost, toMost := src.len()-n-max(gap, 0), v.len()-n
	fromLeast := max(-gap, 0)
	for i := range items {
		if it := &items[i]; it.from < fromLeast || it.from > fromMost || it.to < 0 || it.to > toMost {
			panic("ops: an item outside its tensor")
		}
	}
	if done, finite := lerpVector(v.data, src.data, items, gap, n); done && finite {
		return
	}
	for _, it := range items {
		v.lerpRow(src, it, gap, n, s)
	}
}

// lerpRow computes one item.
func (v values) lerpRow(src values, it lerpItem, gap, n int, s *scratch) {
	switch d := v.data.(type) {
	case []float32:
		if v0, ok := src.data.([]float32); ok {
			lerpF32(d[it.to:][:n], v0[it.from:], v0[it.from+gap:], float32(it.a))
			return
		}
	case []tensor.BFloat16:
		if v0, ok := src.data.([]tensor.BFloat16); ok {
			lerpBF16(d[it.to:][:n], v0[it.from:], v0[it.from+gap:], float32(it.a))
			return
		}
	}
	if src.wide {
		data, out := src.data.([]float64), s.wide[:n]
		if d, ok := v.data.([]float64); ok {
			out = d[it.to:][:n]
		}
		lerpF64(out, data[it.from:], data[it.from+gap:], it.a)
		if !v.wide {
			v.put64(it.to, out)
		}
		return
	}
	v0, v1, out := src.narrow(s.a, it.from, n), src.narrow(s.b, it.from+gap, n), s.out[:n]
	lerpF32(out, v0, v1, float32(it.a))
	v.put32(it.to, out)
}

func lerp[W float32 | float64](v0, v1, a W) W {
	r := v0 + W(a*(v1-v0))
	if r-r != 0 {
		return mended(v0, v1, a, r)
	}
	return r
}

// mended returns the result of a lerp if r, v0 + a*(v1-v0), is not finite. Equal samples return their value. One infinite sample
// returns itself, and infinities with opposite signs return NaN. If the difference overflows, another formula avoids it.
func mended[W float32 | float64](v0, v1, a, r W) W {
	switch d := v1 - v0; {
	case v0 != v0 || v1 != v1:
		return v0 + v1
	case v0 == v1:
		return v0
	case v0-v0 != 0 && v1-v1 != 0:
		return d - d
	case v0-v0 != 0:
		return v0
	case v1-v1 != 0:
		return v1
	case d-d != 0:
		return W(W(1-a)*v0) + W(a*v1)
	}
	return r
}

func lerpF32(out, v0, v1 []float32, a float32) {
	v0, v1 = v0[:len(out)], v1[:len(out)]
	for i := range out {
		out[i] = lerp(v0[i], v1[i], a)
	}
}

func lerpF64(out, v0, v1 []float64, a float64) {
	v0, v1 = v0[:len(out)], v1[:len(out)]
	for i := range out {
		out[i] = lerp(v0[i], v1[i], a)
	}
}

func lerpBF16(out, v0, v1 []tensor.BFloat16, a float32) {
	v0, v1 = v0[:len(out)], v1[:len(out)]
	for i := range out {
		out[i] = tensor.BF16FromF32(lerp(v0[i].F32(), v1[i].F32(), a))
	}
}
