package cpu

import (
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// values is the memory of a value tensor: a typed slice, and whether it is computed in float64.
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

// len is the number of elements that the memory holds.
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

// narrow returns n values as float32, in buf or in place. The dtype is not f64.
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

// floats reads values as float64.
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

// add adds values to float64 sums.
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

// put32 rounds float32 values once to the dtype.
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

// put64 rounds float64 values once to the dtype.
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

// copyFrom takes n values of src. Values of one dtype keep their bits.
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

// lerp makes one item of lerpRows: n features between those at from and those at to.
func (v values) lerp(at int, src values, from, to, n int, a float64, s *scratch) {
	item := [1]lerpItem{{from, at, a}}
	v.lerpRows(src, item[:], to-from, n, s)
}

// fill writes one value, rounded once, n times.
func (v values) fill(at, n int, x float64, s *scratch) {
	for i := range s.wide[:n] {
		s.wide[i] = x
	}
	v.put64(at, s.wide[:n])
}

// scratch is a worker's memory for one row of features, and for the targets that are made together.
type scratch struct {
	a, b, out []float32
	wide      []float64
	items     []lerpItem
	row       values // of f32
	cubic     cubic
}

func newScratch(n int, channels []backend.Channel) *scratch {
	return &scratch{a: make([]float32, n), b: make([]float32, n), out: make([]float32, n), wide: make([]float64, n), items: make([]lerpItem, 0, batchMost),
		row: values{data: make([]float32, n)}, cubic: newCubic(channels)}
}
