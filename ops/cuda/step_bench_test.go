package cuda_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/gputest"
	"github.com/robocache/robocache/nn"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/robocache/robocache/tensor"
)

// normWays are the ways to make a norm behind a product.
var normWays = []struct {
	name string
	by   func(backend.Backend) backend.Backend
}{{"chosen", func(b backend.Backend) backend.Backend { return b }}, {"whole", cuda.NormsWhole}, {"apart", cuda.NormsApart}}

// launches is a backend that keeps the plans of networks that it makes, by what they do.
type launches struct {
	whole
	backend.NN
	names []string
	plans map[string][]backend.Plan
}

func (l *launches) keep(p backend.Plan, err error, format string, args ...any) (backend.Plan, error) {
	name := fmt.Sprintf(format, args...)
	if l.plans[name] == nil {
		l.names = append(l.names, name)
	}
	l.plans[name] = append(l.plans[name], p)
	return p, err
}

func (l *launches) MatMul(j *backend.MatMulJob) (backend.Plan, error) {
	p, err := l.NN.MatMul(j)
	kind := "nt"
	switch {
	case j.Norm != nil:
		kind = "norm"
	case j.NormBack != nil:
		kind = "norm_back"
	case j.Plain:
		kind = "nn"
	}
	return l.keep(p, err, "matmul_%s_%dx%dx%d", kind, j.M, j.N, j.K)
}

func (l *launches) Norm(j *backend.NormJob) (backend.Plan, error) {
	p, err := l.NN.Norm(j)
	return l.keep(p, err, "norm")
}

func (l *launches) NormBackward(j *backend.NormBackwardJob) (backend.Plan, error) {
	p, err := l.NN.NormBackward(j)
	return l.keep(p, err, "norm_backward")
}

func (l *launches) Attention(j *backend.AttentionJob) (backend.Plan, error) {
	p, err := l.NN.Attention(j)
	return l.keep(p, err, "attention")
}

func (l *launches) AttentionBackward(j *backend.AttentionBackwardJob) (backend.Plan, error) {
	p, err := l.NN.AttentionBackward(j)
	return l.keep(p, err, "attention_backward")
}

func (l *launches) WeightGradient(j *backend.WeightGradientJob) (backend.Plan, error) {
	p, err := l.NN.WeightGradient(j)
	return l.keep(p, err, "weight_gradient")
}

func (l *launches) AdamW(j *backend.AdamWJob) (backend.Plan, error) {
	p, err := l.NN.AdamW(j)
	return l.keep(p, err, "adamw")
}

func (l *launches) Tokens(j *backend.TokensJob) (backend.Plan, error) {
	p, err := l.NN.Tokens(j)
	return l.keep(p, err, "tokens")
}

func (l *launches) Loss(j *backend.LossJob) (backend.Plan, error) {
	p, err := l.NN.Loss(j)
	return l.keep(p, err, "loss")
}

// BenchmarkStep times a step of training, and each of its launches alone, of which runs follow each other in a graph: the seed, a model as wide as ACT, and a
// small one, with norms made with the products and apart.
func BenchmarkStep(b *testing.B) {
	encoder := func(in, d, layers, out, tokens int, layer nn.TransformerEncoderLayer) nn.Config {
		list := []nn.Layer{nn.Linear{Name: "in", Out: d}, nn.Positions{Name: "p", Count: tokens}}
		return nn.Config{In: in, Layers: append(append(list, nn.Encoder("e", layers, layer)...), nn.Linear{Name: "out", Out: out})}
	}
	policy := encoder(78, 64, 1, 780, 5, nn.TransformerEncoderLayer{Heads: 2, FFN: 128, Dropout: 0.3, PreNorm: true})
	policy.Layers = append(policy.Layers[:len(policy.Layers)-1], nn.Flatten{Tokens: 5}, nn.Linear{Name: "out", Out: 780, Zero: true})
	for _, c := range []struct {
		name   string
		b, t   int
		config nn.Config
	}{
		{"seed", 32, 250, encoder(256, 256, 4, 26, 250, nn.TransformerEncoderLayer{Heads: 8, FFN: 1024})},
		{"act", 8, 100, encoder(512, 512, 4, 14, 100, nn.TransformerEncoderLayer{Heads: 8, FFN: 3200})},
		{"policy", 16, 5, policy},
	} {
		for _, way := range normWays {
			b.Run(c.name+"/"+way.name, func(b *testing.B) { timeStep(b, c.b, c.t, c.config, way.by) })
		}
	}
}

func timeStep(b *testing.B, rows, tokens int, config nn.Config, by func(backend.Backend) backend.Backend) {
	opened, err := cuda.New(gputest.Require(b), 0)
	require.NoError(b, err)
	way := by(opened)
	l := &launches{whole: way.(whole), NN: way.(backend.NN), plans: map[string][]backend.Plan{}}
	dev, err := ops.NewDevice(l)
	require.NoError(b, err)
	m, err := nn.NewModel(b.Context(), dev, config, 1)
	require.NoError(b, err)
	s, err := nn.NewStep(b.Context(), m, rows, tokens, nn.StepOptions{Train: &nn.Training{Schedule: nn.Schedule{Rate: 1e-4}}})
	require.NoError(b, err)
	b.Cleanup(func() {
		require.NoError(b, s.Close())
		require.NoError(b, m.Close())
		require.NoError(b, dev.Close())
	})
	host := tensor.Must(tensor.New(tensor.F32, rows, tokens, config.In))
	values, err := tensor.Data[float32](host)
	require.NoError(b, err)
	for i := range values { // zeros take less power
		values[i] = float32(i*2654435761>>7%2001-1000) / 1000
	}
	require.NoError(b, dev.Copy(b.Context(), s.Values, host))
	b.Run("step", func(b *testing.B) { inGraph(b, dev, 0, func() error { return s.Give(dev.Queue()) }) })
	for _, name := range l.names {
		b.Run(fmt.Sprintf("%s/times=%d", name, len(l.plans[name])), func(b *testing.B) {
			inGraph(b, dev, 0, func() error { return l.plans[name][0].Run(dev.Queue().Backend()) })
		})
	}
}

// BenchmarkNormWays times products with norms by the ways to make them.
func BenchmarkNormWays(b *testing.B) {
	for _, way := range normWays[1:] {
		opened, err := cuda.New(gputest.Require(b), 0)
		require.NoError(b, err)
		products(b, way.by(opened), way.name, []int{400, 800, 1600, 3200, 4800, 8000}, []int{256, 512}, []int{256, 512, 1024, 3200}, "norm", "back")
	}
}

// BenchmarkTiles times products in tiles of two sizes.
func BenchmarkTiles(b *testing.B) {
	for _, size := range []int{64, 128} {
		opened, err := cuda.New(gputest.Require(b), 0)
		require.NoError(b, err)
		products(b, cuda.TilesOf(opened, size), fmt.Sprint(size), []int{800, 1600, 3200}, []int{512, 1536, 3200}, []int{512, 3200}, "nt", "nn")
	}
}

func products(b *testing.B, by backend.Backend, way string, rows, columns, depths []int, kinds ...string) {
	dev, err := ops.NewDevice(by)
	require.NoError(b, err)
	defer func() { require.NoError(b, dev.Close()) }()
	for _, kind := range kinds {
		for _, m := range rows {
			for _, n := range columns {
				for _, k := range depths {
					b.Run(fmt.Sprintf("%s/%dx%dx%d/%s", kind, m, n, k, way), func(b *testing.B) {
						var held []*tensor.Tensor
						alloc := func(dtype tensor.DType, shape ...int) *tensor.Tensor {
							t, err := dev.Upload(b.Context(), tensor.Must(tensor.New(dtype, shape...)))
							require.NoError(b, err)
							held = append(held, t)
							return t
						}
						f32 := func(shape ...int) *tensor.Tensor { return alloc(tensor.F32, shape...) }
						j := &backend.MatMulJob{M: m, N: n, K: k, Plain: kind == "back" || kind == "nn", A: alloc(tensor.BF16, m, k), Out: alloc(tensor.BF16, m, n)}
						if j.B = alloc(tensor.BF16, n, k); j.Plain {
							j.B = alloc(tensor.BF16, k, n)
						}
						stats := &backend.NormStats{Mean: f32(m), Rstd: f32(m), Gamma: f32(n), Beta: f32(n)}
						switch kind {
						case "norm":
							j.Norm, j.Bias, j.Eps, j.Residual, j.Sum = stats, f32(n), 1e-5, f32(m, n), f32(m, n)
						case "back":
							stats.Z = f32(m, n)
							blocks := (m + backend.NormRows - 1) / backend.NormRows
							j.NormBack, j.Residual, j.Sum, j.DGamma, j.DBeta = stats, f32(m, n), f32(m, n), f32(blocks, n), f32(blocks, n)
						}
						p, err := by.(backend.NN).MatMul(j)
						require.NoError(b, err)
						inGraph(b, dev, 0, func() error { return p.Run(dev.Queue().Backend()) })
						require.NoError(b, p.Close())
						for _, t := range held {
							require.NoError(b, t.Close())
						}
					})
				}
			}
		}
	}
}
