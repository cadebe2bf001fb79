package nn_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/internal/fp32"
	"github.com/robocache/robocache/nn"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/sim"
	"github.com/robocache/robocache/tensor"
)

// denoiser is a small causal transformer. It reads 2 tokens with 3 observed columns, and chunks with 4 tokens and 2 values.
const observed, chunked, values, embeds = 2, 4, 2, 8

func denoiser(layers int) nn.Config {
	list := []nn.Layer{nn.Linear{Name: "input", Out: 32}, nn.Positions{Name: "position", Count: observed + chunked, Std: 0.02}}
	list = append(list, nn.Encoder("encoder", layers, nn.TransformerEncoderLayer{Heads: 1, FFN: 64, PreNorm: true, Activation: nn.GELU, Causal: true})...)
	return nn.Config{In: 3 + values + embeds, Layers: append(list, nn.Linear{Name: "output", Out: values})}
}

// crossing is a denoiser with the observation in a memory.
func crossing(layers int) nn.Config {
	list := []nn.Layer{nn.Memory{Tokens: observed, Layers: []nn.Layer{nn.Linear{Name: "memory", Out: 32}}}, nn.Linear{Name: "input", Out: 32}, nn.Positions{Name: "position", Count: observed + chunked, Std: 0.02}}
	list = append(list, nn.Decoder("encoder", layers, nn.TransformerDecoderLayer{Heads: 1, FFN: 64, PreNorm: true, Activation: nn.GELU, Causal: true})...)
	return nn.Config{In: 3 + values + embeds, Layers: append(list, nn.Linear{Name: "output", Out: values})}
}

// sampled draws chunks [B, C*A] from a model for a batch of observations.
func sampled(t *testing.T, m *nn.Model, d nn.Denoise, observations []float32) []float32 {
	t.Helper()
	ctx := context.Background()
	rows := len(observations) / (observed * 3)
	s, err := nn.NewStep(ctx, m, rows, observed+chunked, nn.StepOptions{Predict: true, Denoise: &d})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	require.NoError(t, give(ctx, m.Device(), s.Values, tokensOf(observations)))
	require.NoError(t, s.Run(m.Device().Queue()))
	_, err = s.Progress(ctx, m.Device().Queue())
	require.NoError(t, err)
	host := tensor.Must(tensor.New(tensor.F32, s.Prediction.Shape()...))
	require.NoError(t, m.Device().Copy(ctx, host, s.Prediction))
	list, err := tensor.Data[float32](host)
	require.NoError(t, err)
	return list
}

// tokensOf puts observations [B,2,3] into the tokens of a batch.
func tokensOf(observations []float32) []float32 {
	const width = 3 + values + embeds
	rows := len(observations) / (observed * 3)
	all := make([]float32, rows*(observed+chunked)*width)
	for i, v := range observations {
		all[(i/6*(observed+chunked)+i/3%2)*width+i%3] = v
	}
	return all
}

func denoising(d nn.Denoise) nn.Denoise {
	d.Chunk, d.Embed, d.Seed = chunked, embeds, 7
	return d
}

func model(t *testing.T, backend string, c nn.Config) *nn.Model {
	t.Helper()
	device, err := ops.Open(backend)
	require.NoError(t, err)
	m, err := nn.NewModel(context.Background(), device, c, 3)
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, m.Close())
		require.NoError(t, device.Close())
	})
	return m
}

// rewrite copies a file of weights with one tensor changed.
func rewrite(t *testing.T, from, to, name string, change func(list []float32)) {
	t.Helper()
	f, err := safetensors.Open(from)
	require.NoError(t, err)
	defer func() { require.NoError(t, f.Close()) }()
	require.NoError(t, safetensors.WriteFile(to, func(w *safetensors.Writer) error {
		for _, n := range f.Names() {
			x, err := f.Tensor(n)
			require.NoError(t, err)
			list, err := tensor.Data[float32](x)
			require.NoError(t, err)
			list = slices.Clone(list)
			if n == name {
				change(list)
			}
			require.NoError(t, w.Add(n, tensor.Must(tensor.Of(list, x.Shape()...))))
		}
		return nil
	}))
}

// noiseOf returns the noise that an observation's sample starts from, by the formula in backend.SampleJob.
func noiseOf(observation []float32) []float64 {
	hash := uint32(2166136261)
	for _, v := range observation {
		hash = (hash ^ uint32(tensor.BF16FromF32(v))) * 16777619
	}
	z := make([]float64, chunked*values)
	for i := range z {
		z[i] = float64(fp32.Normal(fp32.Words(7, hash, 0, uint64(i/4))[i%4]))
	}
	return z
}

// If a network predicts a constant velocity, any number of Euler steps adds it to the noise. If it predicts no noise, the clean value
// in DDIM is at a limit at every step.
func TestSamplesOfAConstantField(t *testing.T) {
	observations := []float32{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 7}
	linear := func(bias float32) *nn.Model {
		m := model(t, "cpu", nn.Config{In: 3 + values + embeds, Layers: []nn.Layer{nn.Linear{Name: "output", Out: values}}})
		path := t.TempDir() + "/constant.safetensors"
		require.NoError(t, m.SaveFile(context.Background(), path, nil))
		rewrite(t, path, path+"0", "output.weight", func(list []float32) { clear(list) })
		rewrite(t, path+"0", path, "output.bias", func(list []float32) { list[0], list[1] = bias, bias })
		_, err := m.LoadFile(context.Background(), path)
		require.NoError(t, err)
		return m
	}
	for _, steps := range []int{1, 3, 10, 1000} {
		got := sampled(t, linear(0.25), denoising(nn.Flow(steps)), observations)
		for i, v := range got {
			z := noiseOf(observations[i/8*6:][:6])[i%8]
			assert.InDelta(t, min(max(z+0.25, -1), 1), v, 1e-4, "%d steps", steps)
		}
	}
	d := nn.Diffusion(16)
	for _, steps := range []int{1, 2, 16, 100} {
		got := sampled(t, linear(0), denoising(nn.Diffusion(steps)), observations)
		for i, v := range got {
			want := math.Copysign(1, noiseOf(observations[i/8*6:][:6])[i%8])
			assert.InDelta(t, want, v, 1e-3, "%d steps: the clean value is far outside -1..1", steps)
		}
	}
	assert.Len(t, d.Steps, 16)
	assert.Equal(t, 99, d.First)
	assert.Equal(t, []int{92, 85, 79}, []int{d.Steps[0].Level, d.Steps[1].Level, d.Steps[2].Level}, "as torch.linspace(99, 0, 16).long()")
}

// If the prediction is the true noise, each DDIM step gives the next level's mixture with the same clean value and the same noise.
func TestStepsOfDDIMStayOnTheirLine(t *testing.T) {
	d := nn.Diffusion(16)
	const clean, noise = 0.4, -1.3
	at := func(k int) float64 { return float64(d.Levels[k][0])*clean + float64(d.Levels[k][1])*noise }
	x := at(d.First)
	for _, s := range d.Steps {
		y := x*float64(s.KeepX) + noise*float64(s.KeepV)
		assert.InDelta(t, clean, y, 1e-3)
		x = x*float64(s.FromX) + y*float64(s.FromY)
		if s.Level >= 0 {
			assert.InDelta(t, at(s.Level), x, 1e-4)
		}
	}
	assert.InDelta(t, clean, x, 1e-3)
}

// A DDPM step with the true clean value gives a sample with the next level's mean and variance.
func TestStepsOfDDPMKeepTheVariance(t *testing.T) {
	d := nn.Diffusion(0)
	require.Len(t, d.Steps, 100)
	for k, s := range d.Steps[:99] {
		kept := float64(d.Levels[99-k][0]) * float64(d.Levels[99-k][0])
		clean, noise := 1.0, 1.0
		fromClean := float64(s.FromX)*math.Sqrt(kept) + float64(s.FromY) // y is the clean value
		fromNoise := float64(s.FromX) * math.Sqrt(1-kept)
		variance := fromNoise*fromNoise*noise + float64(s.Noise)*float64(s.Noise)
		want := float64(d.Levels[s.Level][1]) * float64(d.Levels[s.Level][1])
		assert.InDelta(t, want, variance, 1e-5, "level %d", s.Level)
		assert.InDelta(t, float64(d.Levels[s.Level][0]), fromClean*clean, 1e-5, "level %d", s.Level)
	}
	assert.Zero(t, d.Steps[99].Noise)
}

// Beta(1.5, 1) has the mean 0.6: that is the mean share of noise in training.
func TestFlowDrawsMoreNoise(t *testing.T) {
	d := nn.Flow(10)
	sum := 0.0
	for _, k := range d.Draws {
		sum += float64(d.Levels[k][1])
	}
	assert.InDelta(t, 0.6, sum/float64(len(d.Draws)), 1e-3)
}

// The exact CPU and the simulated device give equal samples to the bit, and an observation has the same sample in every batch.
func TestSamplesAreEqualOnDevices(t *testing.T) {
	observations := []float32{1, 2, 3, 4, 5, 6, -1, 0, 0.5, 0.25, 1, 1}
	for name, d := range map[string]nn.Denoise{"flow": nn.Flow(4), "ddim": nn.Diffusion(3), "ddpm": nn.Diffusion(0), "cross": nn.Flow(4)} {
		denoiser := denoiser
		if name == "cross" {
			denoiser = crossing
		}
		if name == "ddpm" {
			d.Steps = append(d.Steps[:2], d.Steps[99])
		}
		cpu := sampled(t, model(t, "cpu:exact", denoiser(1)), denoising(d), observations)
		sim := sampled(t, model(t, "sim", denoiser(1)), denoising(d), observations)
		assert.Equal(t, cpu, sim, name)
		alone := sampled(t, model(t, "cpu:exact", denoiser(1)), denoising(d), observations[6:])
		assert.Equal(t, cpu[8:], alone, name)
		near := sampled(t, model(t, "cpu", denoiser(1)), denoising(d), observations)
		for i, v := range near {
			assert.InDelta(t, cpu[i], v, 0.1, name)
		}
	}
}

// Training with noise has equal losses on the exact CPU and the simulated device. A small change to a weight changes the loss by the
// gradient times the change. The noise is the same before and after, because it depends on the seed and the step.
func TestNoisyTraining(t *testing.T) {
	ctx := context.Background()
	train := func(m *nn.Model, steps int) (*nn.Step, []float32) {
		d := denoising(nn.Flow(2))
		s, err := nn.NewStep(ctx, m, 3, observed+chunked, nn.StepOptions{Denoise: &d, Train: &nn.Training{Schedule: nn.Schedule{Rate: 1e-3}, Seed: 11}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.Close()) })
		targets := make([]float32, 3*chunked*values)
		for i := range targets {
			targets[i] = float32(i%5)/2 - 1
		}
		require.NoError(t, give(ctx, m.Device(), s.Values, tokensOf([]float32{1, 2, 3, 4, 5, 6, 1, 0, 0, 1, 0, 1, -1, -1, 0, 0, 1, 1})))
		require.NoError(t, give(ctx, m.Device(), s.TargetValues, targets))
		for range steps {
			require.NoError(t, s.Run(m.Device().Queue()))
		}
		p, err := s.Progress(ctx, m.Device().Queue())
		require.NoError(t, err)
		return s, p.Losses
	}
	_, cpu := train(model(t, "cpu:exact", denoiser(1)), 3)
	_, sim := train(model(t, "sim", denoiser(1)), 3)
	assert.Equal(t, cpu, sim)

	base := model(t, "cpu", denoiser(2))
	path := t.TempDir() + "/weights.safetensors"
	require.NoError(t, base.SaveFile(ctx, path, nil))
	step, losses := train(base, 1)
	gradients, err := step.Gradients(ctx)
	require.NoError(t, err)
	for _, name := range []string{"input.weight", "position.weight", "encoder.layers.0.self_attn.in_proj_weight", "encoder.layers.1.linear1.weight", "encoder.norm.weight", "output.bias"} {
		list, err := tensor.Floats(gradients[name])
		require.NoError(t, err)
		at := 0
		for i, g := range list {
			if math.Abs(g) > math.Abs(list[at]) {
				at = i
			}
		}
		const h = 1e-2
		moved := func(by float32) float64 {
			m := model(t, "cpu", denoiser(2))
			changed := t.TempDir() + "/changed.safetensors"
			rewrite(t, path, changed, name, func(list []float32) { list[at] += by })
			_, err := m.LoadFile(ctx, changed)
			require.NoError(t, err)
			_, l := train(m, 1)
			return float64(l[0])
		}
		assert.InEpsilon(t, list[at], (moved(h)-moved(-h))/(2*h), 2e-2, name)
	}
	assert.Positive(t, losses[0])
}

func TestInvalidDenoise(t *testing.T) {
	m, cross := model(t, "cpu", denoiser(1)), model(t, "cpu", crossing(1))
	d := denoising(nn.Flow(1))
	d.Chunk = chunked + 1
	_, err := nn.NewStep(t.Context(), cross, 2, observed+chunked, nn.StepOptions{Denoise: &d})
	assert.ErrorContains(t, err, "want 1 to 4, the tokens in a row without those of Memory", "a sample computes the memory once")
	for _, o := range []struct {
		t    int
		pad  *tensor.Tensor
		want string
	}{{observed, nil, "batch"}, {observed + 1, tensor.Must(tensor.New(tensor.U8, 2, observed+1)), "Pad"}} {
		_, err := nn.NewStep(t.Context(), cross, 2, o.t, nn.StepOptions{Pad: o.pad})
		assert.ErrorContains(t, err, "nn.NewStep: "+o.want)
	}
	for want, d := range map[string]nn.Denoise{
		"Denoise.Chunk":          {Chunk: 7, Embed: 8, Levels: nn.Flow(1).Levels, Draws: []int32{0}, Steps: nn.Flow(1).Steps},
		"Denoise.Embed":          {Chunk: 4, Embed: 12, Levels: nn.Flow(1).Levels, Draws: []int32{0}, Steps: nn.Flow(1).Steps},
		"Denoise.Draws":          {Chunk: 4, Embed: 8, Levels: nn.Flow(1).Levels, Draws: []int32{1000}, Steps: nn.Flow(1).Steps},
		"Denoise.Steps[0].Level": {Chunk: 4, Embed: 8, Levels: nn.Flow(1).Levels, Draws: []int32{0}, Steps: nn.Flow(2).Steps[:1]},
		"Denoise: ":              {Chunk: 4, Embed: 8},
	} {
		_, err := nn.NewStep(context.Background(), m, 2, observed+chunked, nn.StepOptions{Denoise: &d})
		require.Error(t, err)
		assert.ErrorIs(t, err, ops.ErrOption)
		assert.Contains(t, err.Error(), want)
	}
}
