package nn

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// Denoise makes a network remove noise from chunks: [Flow] and [Diffusion] return its settings. The last Chunk tokens in a row are a
// chunk with noisy values. Their last columns have the values, as many as the network predicts, and then Embed columns with the noise
// level. The tokens before the chunk are the observation.
//
// A training step draws a level for each row and noise for each value. A step with StepOptions.Predict starts from noise and
// evaluates the network once for each element in Steps. All is one graph.
//
// The noise of a training step depends on Training.Seed, the step, and the value's position in the batch. The noise of a sample
// depends on Seed, the evaluation, the value's position in the chunk, and the observation. It does not depend on the batch, so a row
// has the same sample in every batch.
type Denoise struct {
	Chunk int
	Embed int    // the number of columns with the level, even
	Seed  uint64 // for samples
	// Levels has four factors for each level: input = f0*clean + f1*noise, target = f2*clean + f3*noise.
	Levels [][4]float32
	Draws  []int32 // training draws one element, which is a level
	First  int     // the first evaluation's level
	Steps  []backend.SampleStep
}

// flowLevels is the number of different times in training, and draws the number of equally likely levels.
const (
	flowLevels = 1000
	draws      = 1 << 14
)

// Flow returns the settings for flow matching (Lipman et al., "Flow matching for generative modeling", 2023). The input at time t is
// (1-t)*noise + t*x, and the target is the velocity x - noise. A sample takes 1 to 1000 Euler steps with equal length from time 0 to
// time 1, and is limited to -1..1. In training 1-t is Beta(1.5, 1) distributed, as in pi0, so the mean share of noise is 0.6.
func Flow(steps int) Denoise {
	var d Denoise
	for k := range flowLevels {
		t := float32(k) / flowLevels
		d.Levels = append(d.Levels, [4]float32{t, 1 - t, 1, -1})
	}
	for i := range draws {
		noise := math.Pow((float64(i)+0.5)/draws, 1/1.5)
		d.Draws = append(d.Draws, int32(flowLevels*(1-noise)))
	}
	at := func(i int) int { return i * flowLevels / steps }
	for i := range steps {
		s := backend.SampleStep{KeepX: 1, KeepV: float32(at(i+1)-at(i)) / flowLevels, Limit: math.MaxFloat32, FromY: 1, Level: at(i + 1)}
		if i == steps-1 {
			s.Limit, s.Level = 1, -1
		}
		d.Steps = append(d.Steps, s)
	}
	return d
}

// diffusionLevels counts Diffusion's noise levels.
const diffusionLevels = 100

// Diffusion returns the settings for diffusion with 100 levels and the squared cosine schedule (Nichol and Dhariwal, "Improved
// denoising diffusion probabilistic models", 2021). The target is the noise. A sample has 1 to 100 evaluations by DDIM (Song et al.,
// 2021), or the 100 of DDPM (Ho et al., 2020) if steps is 0. At each of them the chunk is limited to -1..1.
func Diffusion(steps int) Denoise {
	var d Denoise
	kept := make([]float64, diffusionLevels) // the share of x in the variance, by level
	alpha := make([]float64, diffusionLevels)
	share := func(i int) float64 {
		c := math.Cos((float64(i)/diffusionLevels + 0.008) / 1.008 * math.Pi / 2)
		return c * c
	}
	product := 1.0
	for k := range diffusionLevels {
		alpha[k] = 1 - min(1-share(k+1)/share(k), 0.999)
		product *= alpha[k]
		kept[k] = product
		d.Levels = append(d.Levels, [4]float32{float32(math.Sqrt(product)), float32(math.Sqrt(1 - product)), 0, 1})
	}
	for i := range draws {
		d.Draws = append(d.Draws, int32(i*diffusionLevels/draws))
	}
	stochastic := steps == 0
	if stochastic {
		steps = diffusionLevels
	}
	at := func(i int) int {
		if i == steps {
			return -1
		}
		return (diffusionLevels - 1) * (steps - 1 - i) / max(steps-1, 1)
	}
	if steps == 1 {
		at = func(i int) int { return [2]int{diffusionLevels - 1, -1}[i] }
	}
	d.First = at(0)
	for i := range steps {
		k, next := at(i), at(i+1)
		now, then := kept[k], 1.0
		if next >= 0 {
			then = kept[next]
		}
		s := backend.SampleStep{KeepX: float32(1 / math.Sqrt(now)), KeepV: float32(-math.Sqrt((1 - now) / now)), Limit: 1, Level: next}
		if stochastic {
			s.FromX = float32(math.Sqrt(alpha[k]) * (1 - then) / (1 - now))
			s.FromY = float32(math.Sqrt(then) * (1 - alpha[k]) / (1 - now))
			s.Noise = float32(math.Sqrt((1 - then) / (1 - now) * (1 - alpha[k])))
		} else {
			s.FromX = float32(math.Sqrt((1 - then) / (1 - now)))
			s.FromY = float32(math.Sqrt(then) - math.Sqrt((1-then)/(1-now)*now))
		}
		d.Steps = append(d.Steps, s)
	}
	return d
}

// embedding returns a row for each level: sines and cosines, as for a transformer's positions (Vaswani et al., 2017). Levels are
// scaled to the range 0 to 1000.
func (d *Denoise) embedding() (*tensor.Tensor, error) {
	var rows []float32
	half := d.Embed / 2
	for k := range d.Levels {
		row := make([]float32, d.Embed)
		for i := range half {
			f := math.Exp(-math.Log(1e4) * float64(i) / float64(max(half-1, 1)))
			sin, cos := math.Sincos(1000 * float64(k) / float64(len(d.Levels)) * f)
			row[i], row[half+i] = float32(sin), float32(cos)
		}
		rows = append(rows, row...)
	}
	return tensor.Of(rows, len(d.Levels), d.Embed)
}

// denoises returns an *Error if the options cannot denoise.
func (s *Step) denoises() error {
	d, net := s.opts.Denoise, s.model.net
	if d == nil {
		return nil
	}
	in, end := net.values[0], net.values[len(net.values)-1]
	fail := func(arg string, got any, want string) error {
		return &Error{Op: "NewStep", Arg: "Denoise" + arg, Kind: ops.ErrOption, Got: fmt.Sprint(got), Want: want}
	}
	level := func(k int) bool { return k >= 0 && k < len(d.Levels) }
	switch {
	case s.opts.Loss == CrossEntropy || s.opts.Chunk != 1 || end.rows == ofBatch:
		return fail("", "with CrossEntropy, Chunk, LastToken or Flatten", "a prediction for each token, and MSE or L1")
	case d.Chunk < 1 || d.Chunk > s.t-net.tokens:
		return fail(".Chunk", d.Chunk, fmt.Sprintf("1 to %d, the tokens in a row without those of Memory", s.t-net.tokens))
	case d.Embed < 2 || d.Embed%2 != 0 || d.Embed+end.width > in.width:
		return fail(".Embed", d.Embed, fmt.Sprintf("2 or more, even, and with %d values at most %d columns", end.width, in.width))
	case len(d.Steps) == 0 || len(d.Draws) == 0 || !level(d.First):
		return fail("", fmt.Sprintf("%d steps and %d draws", len(d.Steps), len(d.Draws)), "the settings that Flow or Diffusion returns")
	}
	for _, k := range d.Draws {
		if !level(int(k)) {
			return fail(".Draws", k, fmt.Sprintf("0 to %d", len(d.Levels)-1))
		}
	}
	for i, step := range d.Steps {
		if last := i == len(d.Steps)-1; last != (step.Level < 0) || !last && !level(step.Level) {
			return fail(fmt.Sprintf(".Steps[%d].Level", i), step.Level, fmt.Sprintf("0 to %d, and -1 in the last step alone", len(d.Levels)-1))
		}
	}
	return nil
}

// chunks returns the part that all jobs with noise have. embedding is on the device.
func (c *compiler) chunks(embedding *tensor.Tensor, seed uint64) backend.Chunks {
	d, values := c.opts.Denoise, c.model.net.values
	a := values[len(values)-1].width
	return backend.Chunks{
		B: c.b, T: c.t, C: d.Chunk, A: a, Column: values[0].width - a - d.Embed, Input: c.Input, Embedding: embedding, Seed: seed,
	}
}

// noise plans the job after Tokens: the noise in a training batch, or the noise that a sample starts from.
func (c *compiler) noise(from *backend.TokensJob) {
	d := c.opts.Denoise
	embedding := c.upload(d.embedding())
	if c.opts.Predict {
		c.chunk = c.chunks(embedding, d.Seed)
		c.samples = c.alloc(tensor.F32, c.b*d.Chunk, c.chunk.A)
		c.sampleStep(nil, 0, backend.SampleStep{Level: d.First})
		return
	}
	var levels []float32
	for _, l := range d.Levels {
		levels = append(levels, l[:]...)
	}
	seed := d.Seed
	if c.opts.Train != nil {
		seed = c.opts.Train.Seed
	}
	job := &backend.NoiseJob{
		Chunks: c.chunks(embedding, seed),
		Draws:  c.upload(tensor.Of(d.Draws, len(d.Draws))), Levels: c.upload(tensor.Of(levels, len(d.Levels), 4)),
		Clean: from.Targets, Counts: from.Weights, Targets: c.Targets, Weights: c.Weights, State: c.state,
	}
	if c.err == nil {
		c.plan(c.nn.Noise(job))
	}
}

func (c *compiler) sampleStep(prediction *tensor.Tensor, site int, step backend.SampleStep) {
	if c.err == nil {
		c.plan(c.nn.Sample(&backend.SampleJob{Chunks: c.chunk, SampleStep: step, Site: uint32(site), Prediction: prediction, Sample: c.samples}))
	}
}

// sample plans a sample: the forward pass and a SampleJob for each step. begun is the number of plans before the forward pass.
func (c *compiler) sample(begun int) {
	if c.err != nil {
		return
	}
	values := c.model.net.values
	forward := c.plans[begun:]
	c.order = append(c.order, c.plans[:begun]...)
	for i, step := range c.opts.Denoise.Steps {
		if c.sampleStep(c.rooms[values[len(values)-1]].sum, 1+i, step); c.err != nil {
			return
		}
		c.order = append(append(c.order, forward...), c.plans[len(c.plans)-1])
	}
	n := c.opts.Denoise.Chunk * c.chunk.A
	c.Prediction = c.view(c.samples, []int{c.b, n}, []int{n, 1}, 0)
}
