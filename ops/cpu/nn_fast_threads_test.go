package cpu

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// fastJobs prepares jobs of every form of the fast way, and returns their plans and what they write.
func fastJobs(t *testing.T, b *Backend) (plans []backend.Plan, out []*tensor.Tensor) {
	rng := rand.New(rand.NewPCG(7, 8))
	in := func(shape ...int) *tensor.Tensor {
		n, err := tensor.NumElements(shape...)
		require.NoError(t, err)
		return tensor.Must(tensor.Of(normals(rng, n), shape...))
	}
	to := func(shape ...int) *tensor.Tensor {
		out = append(out, tensor.Must(tensor.New(tensor.F32, shape...)))
		return out[len(out)-1]
	}
	add := func(p backend.Plan, err error) {
		require.NoError(t, err)
		plans = append(plans, p)
	}
	state := tensor.Must(tensor.New(tensor.I64, backend.StateWords))
	drop := backend.Dropout{Rate: 0.2, Seed: 3, Site: 4, State: state}
	const n, k = 80, 48
	for _, m := range []int{1, 77, 300} {
		blocks := pieces(m, backend.NormRows)
		add(b.MatMul(&backend.MatMulJob{A: in(m, k), B: in(n, k), M: m, N: n, K: k, Bias: in(n), Dropout: drop, Residual: in(m, n), Eps: 1e-5, Sum: to(m, n), Out: to(m, n),
			Norm: &backend.NormStats{Mean: to(m), Rstd: to(m), Gamma: in(n), Beta: in(n)}}))
		add(b.MatMul(&backend.MatMulJob{A: in(m, k), B: in(k, n), Plain: true, M: m, N: n, K: k, After: in(m, n), Sum: to(m, n), Out: to(m, n), DGamma: to(blocks, n), DBeta: to(blocks, n),
			NormBack: &backend.NormStats{Z: in(m, n), Mean: in(m), Rstd: in(m), Gamma: in(n), Beta: in(n)}}))
		size := 0
		product := func(n, k int) backend.ProductGradient {
			g := backend.ProductGradient{DY: in(m, n), X: in(m, k), M: m, N: n, K: k, Offset: size, Stride: k, BiasOffset: size + n*k}
			size += n*k + n
			return g
		}
		g := &backend.WeightGradientJob{Splits: 1, Products: []backend.ProductGradient{product(n, k), product(k, 160), product(144, n)}}
		g.Sums = []backend.ColumnSum{{X: in(m, n), R: m, N: n, Offset: size}}
		g.Gradient = to(size + n)
		add(b.WeightGradient(g))
	}
	for _, size := range [][2]int{{5, 5}, {35, 35}, {100, 70}} {
		tq, tk := size[0], size[1]
		const rows, heads, width = 3, 2, 32
		query, key := func() []int { return []int{rows * tq, heads * width} }, func() []int { return []int{rows * tk, heads * width} }
		job := backend.AttentionJob{B: rows, Heads: heads, Width: width, TQ: tq, TK: tk, Scale: 0.2, Causal: true, Dropout: drop,
			Q: in(query()...), K: in(key()...), V: in(key()...), O: to(query()...), LogSum: to(rows, heads, tq)}
		add(b.Attention(&job))
		add(b.AttentionBackward(&backend.AttentionBackwardJob{AttentionJob: job, DO: in(query()...), DQ: to(query()...), DK: to(key()...), DV: to(key()...)}))
	}
	return plans, out
}

// The fast way gives the same bits on one thread and on more, with each kind of arithmetic, and a run of a plan allocates nothing.
func TestThreadsOfNetworksChangeNoResult(t *testing.T) {
	withEachArithmetic(t, func(t *testing.T) {
		run := func(workers int) (results [][]float32) {
			b := New(workers)
			defer func() { require.NoError(t, b.Close()) }()
			plans, out := fastJobs(t, b)
			q, err := b.NewQueue()
			require.NoError(t, err)
			for i, p := range plans {
				require.NoError(t, p.Run(q))
				assert.Zero(t, testing.AllocsPerRun(10, func() { _ = p.Run(q) }), "plan %d, %d threads", i, workers)
			}
			for _, o := range out {
				data, err := tensor.Data[float32](o)
				require.NoError(t, err)
				results = append(results, slices.Clone(data))
			}
			return results
		}
		want := run(1)
		for _, workers := range []int{2, 5} {
			for i, got := range run(workers) {
				sameBits(t, fmt.Sprintf("%d threads, output %d", workers, i), want[i], got)
			}
		}
	})
}
