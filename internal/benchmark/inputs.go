package benchmark

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// All published figures use these inputs: random values, and source timestamps evenly spaced over span seconds. Each timestamp except
// the first and last is moved by up to a fifth of a step. Targets are evenly spaced over the same span. A Form may select others.
const (
	span   = 5.0
	jitter = 0.2
	seed   = 1
)

// at returns set i from a tensor of sets.
func at(t *tensor.Tensor, i int) *tensor.Tensor {
	v := tensor.Must(t.Slice(0, i, i+1))
	return tensor.Must(v.Reshape(v.Shape()[1:]...))
}

// fill copies host data to every set in a tensor.
func (r *rig) fill(t, host *tensor.Tensor) error {
	for i := range t.Dim(0) {
		if err := r.dev.Copy(context.Background(), at(t, i), host); err != nil {
			return err
		}
	}
	return nil
}

// block is how many random values are generated. Longer tensors repeat them.
const block = 1 << 22

// values returns random numbers in [-1,1).
func values(rng *rand.Rand, dtype tensor.DType, shape ...int) (*tensor.Tensor, error) {
	return valuesBy(func() float64 { return float64(rng.Float32())*2 - 1 }, block, dtype, shape...)
}

// channelValues returns random numbers in [-1,1) for b rows with s samples. Quaternion channels have unit length.
func channelValues(rng *rand.Rand, dtype tensor.DType, channels []ops.Channel, b, s int) (*tensor.Tensor, error) {
	d := channels[len(channels)-1].Hi
	var unit []bool // for each feature, whether a quaternion begins there
	for _, c := range channels {
		for k := range c.Hi - c.Lo {
			unit = append(unit, c.Interp == ops.InterpSlerp && k%4 == 0)
		}
	}
	var ahead []float64
	at := 0
	return valuesBy(func() (v float64) {
		if unit[at] {
			var norm float64
			for range 4 {
				x := rng.NormFloat64()
				ahead, norm = append(ahead, x), norm+x*x
			}
			for i := range ahead {
				ahead[i] /= math.Sqrt(norm)
			}
		}
		if at = (at + 1) % d; len(ahead) > 0 {
			v, ahead = ahead[0], ahead[1:]
			return v
		}
		return float64(rng.Float32())*2 - 1
	}, max(block-block%d, d), dtype, b, s, d)
}

// valuesBy returns a tensor with generated values. After a block they repeat.
func valuesBy(next func() float64, block int, dtype tensor.DType, shape ...int) (*tensor.Tensor, error) {
	n, err := tensor.NumElements(shape...)
	if err != nil {
		return nil, err
	}
	switch dtype {
	case tensor.F32:
		return tensor.Of(repeat(n, block, func() float32 { return float32(next()) }), shape...)
	case tensor.F64:
		return tensor.Of(repeat(n, block, next), shape...)
	case tensor.F16:
		return tensor.Of(repeat(n, block, func() tensor.Float16 { return tensor.F16FromF64(next()) }), shape...)
	case tensor.BF16:
		return tensor.Of(repeat(n, block, func() tensor.BFloat16 { return tensor.BF16FromF64(next()) }), shape...)
	}
	return nil, &InputError{"values", dtype.String(), "f32, f64, f16 or bf16"}
}

func repeat[T any](n, block int, next func() T) []T {
	out := make([]T, n)
	for i := range out {
		if i < block {
			out[i] = next()
		} else {
			out[i] = out[i%block]
		}
	}
	return out
}

// timestamps returns source timestamps for b rows with s samples. Without a generator they are evenly spaced.
func timestamps(rng *rand.Rand, dtype tensor.DType, b, s int) (*tensor.Tensor, error) {
	step := span / float64(max(s-1, 1))
	return clock(dtype, []int{b, s}, func(i int) float64 {
		k := i % s
		t := float64(k) * step
		if rng != nil && k > 0 && k < s-1 {
			t += (rng.Float64()*2 - 1) * jitter * step
		}
		return t
	})
}

// gapped returns timestamps with four gaps in each row, spread evenly among the samples. The gaps cover a fifth of the span. Between
// them, samples are spaced and moved as in timestamps.
func gapped(rng *rand.Rand, dtype tensor.DType, b, s int) (*tensor.Tensor, error) {
	const gaps, length = 4, span / 20
	step := (span - gaps*length) / float64(max(s-1, 1))
	return clock(dtype, []int{b, s}, func(i int) float64 {
		k := i % s
		t := float64(k) * step
		for g := range gaps {
			if k >= max(s*(g+1)/(gaps+1), 1) {
				t += length
			}
		}
		if k > 0 && k < s-1 {
			t += (rng.Float64()*2 - 1) * jitter * step
		}
		return t
	})
}

// clock converts seconds to a tensor of times.
func clock(dtype tensor.DType, shape []int, seconds func(i int) float64) (*tensor.Tensor, error) {
	n, err := tensor.NumElements(shape...)
	if err != nil {
		return nil, err
	}
	switch dtype {
	case tensor.F32:
		out := make([]float32, n)
		for i := range out {
			out[i] = float32(seconds(i))
		}
		return tensor.Of(out, shape...)
	case tensor.F64:
		out := make([]float64, n)
		for i := range out {
			out[i] = seconds(i)
		}
		return tensor.Of(out, shape...)
	case tensor.I64:
		out := make([]int64, n)
		for i := range out {
			out[i] = int64(math.Round(seconds(i) * 1e9))
		}
		return tensor.Of(out, shape...)
	}
	return nil, &InputError{"times", dtype.String(), "i64, f64 or f32"}
}

// dtypeOf parses a dtype and checks that it is in the list. An empty name gives the default.
func dtypeOf(where, name string, or tensor.DType, list ...tensor.DType) (tensor.DType, error) {
	if name == "" {
		return or, nil
	}
	d, err := tensor.ParseDType(name)
	for _, l := range list {
		if err == nil && d == l {
			return d, nil
		}
	}
	return d, &InputError{where, fmt.Sprintf("%q", name), fmt.Sprintf("one of %v", list)}
}

func valueType(name string) (tensor.DType, error) {
	return dtypeOf("values", name, tensor.BF16, tensor.F32, tensor.F64, tensor.F16, tensor.BF16)
}

func timeType(name string) (tensor.DType, error) {
	return dtypeOf("times", name, tensor.F32, tensor.I64, tensor.F64, tensor.F32)
}

// plans makes run i use a plan for set i.
func (r *rig) plans(w *work, make func(set int) (*ops.Plan, error)) error {
	var list []*ops.Plan
	shut := func() error {
		var err error
		for _, p := range list {
			err = errors.Join(err, p.Close())
		}
		list = nil
		return err
	}
	w.later(shut)
	w.again = func() error {
		if err := shut(); err != nil {
			return err
		}
		for i := range w.sets {
			p, err := make(i)
			if err != nil {
				return err
			}
			list = append(list, p)
		}
		w.plan = list[0]
		return nil
	}
	w.run = func(set int) error { return list[set].Run(r.stream) }
	return w.again()
}
