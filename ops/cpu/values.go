package cpu

import (
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// values is the memory of a value tensor: a typed slice. wide reports whether computations use float64.
type values struct {
	data any
	wide bool
}

func newValues(t *tensor.Tensor) (values, error) {
	var data any
	var err error
	switch t.DType() {
	case tensor.F32:
		data, err = tensor.Elements[float32](t)
	case tensor.F64:
		data, err = tensor.Elements[float64](t)
	case tensor.F16:
		data, err = tensor.Elements[tensor.Float16](t)
	default:
		data, err = tensor.Elements[tensor.BFloat16](t)
	}
	return values{data, t.DType() == tensor.F64}, err
}

// len returns the element count.
func (v values) len() int {
	switch d := v.data.(type) {
	case []float32:
		return len(d)
	case []float64:
		return len(d)
	case []tensor.Float16:
		return len(d)
	default:
		return len(d.([]tensor.BFloat16))
	}
}

// narrow returns n values as float32, in place if possible, or in buf. The dtype must not be float64.
func (v values) narrow(buf []float32, at, n int) []float32 {
	buf = buf[:n]
	switch d := v.data.(type) {
	case []float32:
		return d[at : at+n]
	case []tensor.Float16:
		if d = d[at : at+n]; !widenF16(buf, d) {
			for i, x := range d {
				buf[i] = x.F32()
			}
		}
	case []tensor.BFloat16:
		if d = d[at : at+n]; !widenBF16(buf, d) {
			for i, x := range d {
				buf[i] = x.F32()
			}
		}
	}
	return buf
}

// float returns one value as float64.
func (v values) float(at int) float64 {
	switch d := v.data.(type) {
	case []float32:
		return float64(d[at])
	case []float64:
		return d[at]
	case []tensor.Float16:
		return float64(d[at].F32())
	default:
		return float64(d.([]tensor.BFloat16)[at].F32())
	}
}

// floats reads len(out) values as float64.
func (v values) floats(out []float64, at int) {
	switch d := v.data.(type) {
	case []float32:
		for i, x := range d[at : at+len(out)] {
			out[i] = float64(x)
		}
	case []float64:
		copy(out, d[at:])
	case []tensor.Float16:
		for i, x := range d[at : at+len(out)] {
			out[i] = float64(x.F32())
		}
	case []tensor.BFloat16:
		for i, x := range d[at : at+len(out)] {
			out[i] = float64(x.F32())
		}
	}
}

// add adds len(sum) values to float64 sums.
func (v values) add(sum []float64, at int) {
	switch d := v.data.(type) {
	case []float32:
		for i, x := range d[at : at+len(sum)] {
			sum[i] += float64(x)
		}
	case []float64:
		for i, x := range d[at : at+len(sum)] {
			sum[i] += x
		}
	case []tensor.Float16:
		for i, x := range d[at : at+len(sum)] {
			sum[i] += float64(x.F32())
		}
	case []tensor.BFloat16:
		for i, x := range d[at : at+len(sum)] {
			sum[i] += float64(x.F32())
		}
	}
}

// put32 writes float32 values, rounded once to the dtype.
func (v values) put32(at int, in []float32) {
	switch d := v.data.(type) {
	case []float32:
		copy(d[at:at+len(in)], in)
	case []float64:
		for i, x := range in {
			d[at+i] = float64(x)
		}
	case []tensor.Float16:
		if d = d[at : at+len(in)]; !roundF16(d, in) {
			for i, x := range in {
				d[i] = tensor.F16FromF32(x)
			}
		}
	case []tensor.BFloat16:
		if d = d[at : at+len(in)]; !roundBF16(d, in) {
			for i, x := range in {
				d[i] = tensor.BF16FromF32(x)
			}
		}
	}
}

// put64 writes float64 values, rounded once to the dtype.
func (v values) put64(at int, in []float64) {
	switch d := v.data.(type) {
	case []float32:
		for i, x := range in {
			d[at+i] = float32(x)
		}
	case []float64:
		copy(d[at:at+len(in)], in)
	case []tensor.Float16:
		for i, x := range in {
			d[at+i] = tensor.F16FromF64(x)
		}
	case []tensor.BFloat16:
		for i, x := range in {
			d[at+i] = tensor.BF16FromF64(x)
		}
	}
}

// copyFrom copies n values from src. If both have the same dtype, the bits stay the same.
func (v values) copyFrom(at int, src values, from, n int, buf []float32) {
	switch d := v.data.(type) {
	case []float32:
		if s, ok := src.data.([]float32); ok {
			copy(d[at:at+n], s[from:])
			return
		}
	case []float64:
		if s, ok := src.data.([]float64); ok {
			copy(d[at:at+n], s[from:])
			return
		}
	case []tensor.Float16:
		if s, ok := src.data.([]tensor.Float16); ok {
			copy(d[at:at+n], s[from:])
			return
		}
	case []tensor.BFloat16:
		if s, ok := src.data.([]tensor.BFloat16); ok {
			copy(d[at:at+n], s[from:])
			return
		}
	}
	if src.wide {
		v.put64(at, src.data.([]float64)[from:from+n])
	} else {
		v.put32(at, src.narrow(buf, from, n))
	}
}

// lerp interpolates n features between positions from and to, as one item of lerpRows.
func (v values) lerp(at int, src values, from, to, n int, a float64, s *scratch) {
	item := [1]lerpItem{{from, at, a}}
	v.lerpRows(src, item[:], to-from, n, s)
}

// fill writes x n times, rounded once to the dtype.
func (v values) fill(at, n int, x float64, s *scratch) {
	for i := range s.wide[:n] {
		s.wide[i] = x
	}
	v.put64(at, s.wide[:n])
}

// scratch is a worker's memory for one row of features, and for targets that are computed together.
type scratch struct {
	a, b, out []float32
	wide      []float64
	items     []lerpItem
	row       values // float32
	cubic     cubic
}

func newScratch(n int, channels []backend.Channel) *scratch {
	return &scratch{a: make([]float32, n), b: make([]float32, n), out: make([]float32, n), wide: make([]float64, n), items: make([]lerpItem, 0, batchMost),
		row: values{data: make([]float32, n)}, cubic: newCubic(channels)}
}
