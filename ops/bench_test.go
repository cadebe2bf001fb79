package ops_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// benchJob is one shape: B rows of S samples onto T targets, D features of a dtype, float32 times.
type benchJob struct {
	B, S, T, D int
	dtype      tensor.DType
}

// bytes is the least that must be moved: the values (all, or two rows a target if that is less), the output and all timestamps.
func (j benchJob) bytes() int64 {
	return int64((min(j.B*j.S, 2*j.B*j.T)+j.B*j.T)*j.D*j.dtype.Size() + 4*j.B*(j.S+j.T))
}

// plans binds the job to input sets that together exceed 300 MB, so that no cache holds them.
func (j benchJob) plans(b *testing.B, dev *ops.Device) []*ops.Plan {
	rng := rand.New(rand.NewPCG(1, 2))
	timestamps, targets := make([]float32, j.B*j.S), make([]float32, j.B*j.T)
	step := 5 / float32(j.S-1)
	for i := range timestamps {
		k := i % j.S
		timestamps[i] = float32(k) * step
		if k > 0 && k < j.S-1 {
			timestamps[i] += (rng.Float32()*0.4 - 0.2) * step
		}
	}
	for i := range targets {
		targets[i] = float32(i%j.T) * 5 / float32(j.T-1)
	}
	var plans []*ops.Plan
	for moved := int64(0); moved < 300e6; moved += j.bytes() {
		src, err := dev.Alloc(j.dtype, j.B, j.S, j.D)
		require.NoError(b, err)
		fillRandom(src, rng)
		dst, err := dev.Alloc(j.dtype, j.B, j.T, j.D)
		require.NoError(b, err)
		times, err := dev.Upload(context.Background(), tensor.Must(tensor.Of(timestamps, j.B, j.S)))
		require.NoError(b, err)
		at, err := dev.Upload(context.Background(), tensor.Must(tensor.Of(targets, j.B, j.T)))
		require.NoError(b, err)
		p, err := dev.PlanResample(ops.ResampleArgs{Dst: dst, Src: src, SrcTimes: times, Targets: ops.At(at)}, ops.ResampleOptions{})
		require.NoError(b, err)
		plans = append(plans, p)
	}
	return plans
}

// fillRandom fills a host tensor with numbers in [-1, 1).
func fillRandom(t *tensor.Tensor, rng *rand.Rand) {
	random := make([]float32, 1<<16)
	for i := range random {
		random[i] = rng.Float32()*2 - 1
	}
	switch t.DType() {
	case tensor.F32:
		for v, i := tensorData[float32](t), 0; i < len(v); i += copy(v[i:], random) {
		}
	case tensor.BF16:
		for i, v := 0, tensorData[tensor.BFloat16](t); i < len(v); i++ {
			v[i] = tensor.BF16FromF32(random[i%len(random)])
		}
	case tensor.F16:
		for i, v := 0, tensorData[tensor.Float16](t); i < len(v); i++ {
			v[i] = tensor.F16FromF32(random[i%len(random)])
		}
	case tensor.F64:
		for i, v := 0, tensorData[float64](t); i < len(v); i++ {
			v[i] = float64(random[i%len(random)])
		}
	}
}

func tensorData[T tensor.Element](t *tensor.Tensor) []T {
	data, err := tensor.Data[T](t)
	if err != nil {
		panic(err)
	}
	return data
}

func BenchmarkResample(b *testing.B) {
	dev, err := ops.Open("cpu")
	require.NoError(b, err)
	defer dev.Close()
	shapes := []benchJob{
		{B: 64, S: 4096, T: 1024, D: 32}, {B: 32, S: 500, T: 250, D: 256}, {B: 256, S: 500, T: 250, D: 32}, {B: 64, S: 1000, T: 500, D: 512},
		{B: 8, S: 250, T: 128, D: 128}, {B: 4, S: 100, T: 50, D: 32}, {B: 64, S: 4096, T: 1024, D: 7},
	}
	for _, j := range shapes {
		for _, j.dtype = range []tensor.DType{tensor.BF16, tensor.F32, tensor.F16, tensor.F64} {
			b.Run(fmt.Sprintf("cpu/B=%d/S=%d/T=%d/D=%d/dtype=%v", j.B, j.S, j.T, j.D, j.dtype), func(b *testing.B) {
				plans, stream := j.plans(b, dev), dev.Queue()
				b.SetBytes(j.bytes())
				b.ResetTimer()
				for i := range b.N {
					if err := plans[i%len(plans)].Run(stream); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkRows takes the windows of 4096 rows in an order of shards.
func BenchmarkRows(b *testing.B) {
	o := ops.DrawOptions{Count: 1_000_000, Shuffle: true, ShardWindows: 4096, MixShards: 16, Batch: 4096}
	windows, slots := make([]int64, o.Batch), make([]int64, o.Batch)
	at := ops.Cursor{}
	for range b.N {
		var begin ops.Cursor
		begin, at = o.Next(at)
		o.Rows(begin, 0, windows, slots)
	}
}
