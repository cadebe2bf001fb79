package cuda_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// BenchmarkRows times what of a network is no product, at the seed's shape (32 windows of 250 tokens, 256 wide, 26 outputs), beside a copy of the tokens:
// runs follow each other in a graph, and a time is that of one.
func BenchmarkRows(b *testing.B) {
	const items, ticks, wide, outs = 32, 250, 256, 26
	const rows, padded = items * ticks, 32
	dev := device(b)
	nn, err := dev.NN()
	require.NoError(b, err)
	zeros := func(dtype tensor.DType, shape ...int) *tensor.Tensor {
		t, err := dev.Upload(b.Context(), tensor.Must(tensor.New(dtype, shape...)))
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, t.Close()) })
		return t
	}
	f32 := func(shape ...int) *tensor.Tensor { return zeros(tensor.F32, shape...) }
	state, blocks := zeros(tensor.I64, backend.StateWords), (rows+backend.NormRows-1)/backend.NormRows
	stats := backend.NormStats{Z: f32(rows, wide), Mean: f32(rows), Rstd: f32(rows), Gamma: f32(wide), Beta: f32(wide)}
	values, input := zeros(tensor.BF16, items, ticks, wide), zeros(tensor.BF16, rows, wide)
	narrow, target := f32(items, ticks, outs), f32(items, ticks, outs)
	plan := func(p backend.Plan, err error) func() error {
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, p.Close()) })
		return func() error { return p.Run(dev.Queue().Backend()) }
	}
	tokens := &backend.TokensJob{B: items, T: ticks, Sources: []backend.TokenSource{{Values: values, Ticks: ticks, D: wide}}, Width: wide, Scale: f32(wide), Shift: f32(wide), Input: input, State: state}
	both := *tokens
	both.Target, both.TargetScale, both.TargetShift, both.Targets, both.Weights = &backend.TokenSource{Values: target, Ticks: ticks, D: outs}, f32(outs), f32(outs), f32(rows, outs), f32(rows)
	few := &backend.TokensJob{B: items, T: ticks, Sources: []backend.TokenSource{{Values: narrow, Ticks: ticks, D: outs}, {Values: target, Ticks: ticks, D: outs, Column: outs}}, Width: 2 * outs,
		Scale: f32(2 * outs), Shift: f32(2 * outs), Input: zeros(tensor.BF16, rows, 64), State: state}
	loss := backend.LossJob{Kind: backend.LossMSE, M: rows, N: outs, RowsPerItem: 1, Prediction: f32(rows, padded), Target: both.Targets, Weights: both.Weights, Grad: zeros(tensor.BF16, rows, padded),
		Partials: f32((rows + backend.LossRows - 1) / backend.LossRows), Losses: f32(64), State: state}
	entropy := loss
	entropy.Kind, entropy.Class, entropy.Weights = backend.LossCrossEntropy, zeros(tensor.I32, rows), nil
	table, ids := f32(10, wide), zeros(tensor.I32, items)
	for _, c := range []struct {
		name  string
		bytes int
		run   func() error
	}{
		{"copy", 4 * rows * wide, func() error { return dev.Queue().Copy(input, tensor.Must(values.Reshape(rows, wide))) }},
		{"tokens", 4 * rows * wide, plan(nn.Tokens(tokens))},
		{"tokens+targets", 4*rows*wide + 8*rows*outs, plan(nn.Tokens(&both))},
		{"tokens/unaligned", rows * (8*outs + 2*64), plan(nn.Tokens(few))},
		{"loss/mse", rows * (6*padded + 4*outs), plan(nn.Loss(&loss))},
		{"loss/cross-entropy", rows * 6 * padded, plan(nn.Loss(&entropy))},
		{"norm", rows * wide * 6, plan(nn.Norm(&backend.NormJob{M: rows, N: wide, Eps: 1e-5, Norm: stats, Out: input}))},
		{"norm/backward", rows * wide * 18, plan(nn.NormBackward(&backend.NormBackwardJob{M: rows, N: wide, G: f32(rows, wide), Norm: stats, After: f32(rows, wide), Sum: f32(rows, wide), Out: input,
			DGamma: f32(blocks, wide), DBeta: f32(blocks, wide)}))},
		{"embed", rows * wide * 4, plan(nn.Embed(&backend.EmbedJob{M: rows, N: wide, T: ticks, V: 10, Position: f32(ticks, wide), Table: table, ID: ids, Out: f32(rows, wide)}))},
		{"embed/backward", rows * wide * 4, plan(nn.Embed(&backend.EmbedJob{M: rows, N: wide, T: ticks, V: 10, ID: ids, Backward: true, G: f32(rows, wide), DTable: table}))},
	} {
		b.Run(c.name, func(b *testing.B) { inGraph(b, dev, c.bytes, c.run) })
	}
}

// inGraph times runs that follow each other in a graph. A time is that of one.
func inGraph(b *testing.B, dev *ops.Device, bytes int, run func() error) {
	const runs = 50
	graph, err := dev.Queue().Capture(func() error {
		for range runs {
			if err := run(); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(b, err)
	require.NoError(b, errors.Join(graph.Launch(dev.Queue()), dev.Synchronize(b.Context())))
	b.SetBytes(int64(bytes))
	for n := 0; n < b.N; n += runs {
		if err := graph.Launch(dev.Queue()); err != nil {
			b.Fatal(err)
		}
	}
	require.NoError(b, errors.Join(dev.Synchronize(b.Context()), graph.Close()))
}
