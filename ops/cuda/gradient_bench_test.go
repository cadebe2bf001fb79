package cuda_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// BenchmarkGradients times what follows the backward pass of the seed (32 windows of 250 tokens, four layers, 256 wide, 1024 between): the gradients
// of all weights in one launch, 50.3 GFLOP, their norm, and the step of the optimiser. Activations are of their own for each weight, 262 MB in all.
func BenchmarkGradients(b *testing.B) {
	const rows, layers, splits = 8000, 4, 4
	dev := device(b)
	nn, err := dev.NN()
	require.NoError(b, err)
	alloc := func(dtype tensor.DType, shape ...int) *tensor.Tensor {
		host := tensor.Must(tensor.New(dtype, shape...))
		if words, err := tensor.Data[tensor.BFloat16](host); err == nil {
			for i := range words { // zeros take less power
				words[i] = tensor.BF16FromF32(float32(i*2654435761>>7%2001-1000) / 1000)
			}
		}
		t, err := dev.Upload(b.Context(), host)
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, t.Close()) })
		return t
	}
	weights := &backend.WeightGradientJob{Splits: splits}
	p := 0
	for range layers {
		for _, w := range [][2]int{{1024, 256}, {256, 1024}, {768, 256}, {256, 256}} {
			n, k := w[0], w[1]
			weights.Products = append(weights.Products, backend.ProductGradient{DY: alloc(tensor.BF16, rows, n), X: alloc(tensor.BF16, rows, k), M: rows, N: n, K: k,
				Offset: p, Stride: k, BiasOffset: p + n*k})
			p += n*k + n
		}
		for range 4 { // of the layer's two norms
			weights.Sums = append(weights.Sums, backend.ColumnSum{X: alloc(tensor.F32, 125, 256), R: 125, N: 256, Offset: p})
			p += 256
		}
	}
	f32 := func(shape ...int) *tensor.Tensor { return alloc(tensor.F32, shape...) }
	weights.Gradient = f32(p)
	gradients, chunks := []*tensor.Tensor{weights.Gradient}, (p+backend.NormChunk-1)/backend.NormChunk
	norm := &backend.GradientNormJob{Gradients: gradients, To: p, Scale: 1, Sum: f32(p), Squares: []*tensor.Tensor{f32(chunks)}}
	step := backend.AdamWJob{Params: f32(p), M: f32(p), V: f32(p), Gradients: gradients, Scale: 1, To: p,
		Working: []*tensor.Tensor{alloc(tensor.BF16, p)}, Schedule: f32(1, 4), State: alloc(tensor.I64, backend.StateWords), Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}
	clipped := step
	clipped.Gradients, clipped.Squares, clipped.Norm, clipped.MaxNorm = []*tensor.Tensor{norm.Sum}, norm.Squares[0], f32(1), 1
	plan := func(p backend.Plan, err error) func() error {
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, p.Close()) })
		return func() error { return p.Run(dev.Queue().Backend()) }
	}
	for _, c := range []struct {
		name  string
		bytes int
		run   func() error
	}{
		{"weights", layers*rows*4096*2 + 4*p, plan(nn.WeightGradient(weights))},
		{"norm", 8 * p, plan(nn.GradientNorm(norm))},
		{"adamw", 30 * p, plan(nn.AdamW(&step))},
		{"adamw/clipped", 30 * p, plan(nn.AdamW(&clipped))},
	} {
		b.Run(c.name, func(b *testing.B) { inGraph(b, dev, c.bytes, c.run) })
	}
}
