package benchmark

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/robocache/robocache/nn"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// TrainJob is a training step for a transformer. B rows with S samples and D features (bf16) are resampled onto T tokens. An encoder of
// width D with Layers post-norm layers, ReLU and Heads heads predicts Out values for each token. The loss is MSE, the optimiser AdamW
// with weight decay, without dropout. With Options.With, each device has its own batch, and a step covers all devices.
type TrainJob struct {
	B, S, T, D int
	Layers     int `json:"layers"`
	Heads      int `json:"heads"`
	FFN        int `json:"ffn"`
	Out        int `json:"out"`
}

var trainSuite = suite{
	name: "train", about: "a step of training a transformer: forward, backward and AdamW",
	jobs: func() []Job {
		return []Job{
			&TrainJob{B: 32, S: 500, T: 250, D: 256, Layers: 4, Heads: 8, FFN: 1024, Out: 26},
			&TrainJob{B: 8, S: 200, T: 100, D: 512, Layers: 4, Heads: 8, FFN: 3200, Out: 14},
			&TrainJob{B: 32, S: 20, T: 10, D: 64, Layers: 2, Heads: 2, FFN: 128, Out: 26},
		}
	},
	empty: func() Job { return &TrainJob{} },
}

func (j *TrainJob) Suite() string { return "train" }

// Name returns the tokens, the width and the layers.
func (j *TrainJob) Name() string {
	return fmt.Sprintf("%dx%d->%dx%d, %d layers, %d heads, ffn %d, out %d", j.B, j.S, j.T, j.D, j.Layers, j.Heads, j.FFN, j.Out)
}

func (j *TrainJob) Keys() []Key {
	return keysOf("B", j.B, "S", j.S, "T", j.T, "D", j.D, "layers", j.Layers, "heads", j.Heads, "ffn", j.FFN, "out", j.Out)
}

func (j *TrainJob) check() error {
	const most = 1 << 15
	return errors.Join((&ResampleJob{B: j.B, S: j.S, T: j.T, D: j.D}).check(), within("D", j.D, 32, most), within("layers", j.Layers, 1, 100), within("heads", j.Heads, 1, j.D),
		within("ffn", j.FFN, 1, most), within("out", j.Out, 1, most))
}

func (j *TrainJob) prepare(r *rig) (*work, error) {
	if err := j.check(); err != nil {
		return nil, err
	}
	w := &work{sets: 1}
	if err := j.fill(r, w); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

// fill prepares the step.
func (j *TrainJob) fill(r *rig, w *work) error {
	ctx := context.Background()
	w.launches = 12*j.Layers + 12 // approximately
	if len(r.opt.With) > 0 {
		return j.group(ctx, r, w)
	}
	m, opts, err := j.rank(ctx, r, w)
	if err != nil {
		return err
	}
	step, err := nn.NewStep(ctx, m, j.B, j.T, opts)
	if err != nil {
		return err
	}
	w.later(step.Close)
	w.direct = true // a step is already a graph
	w.run = func(int) error { return step.Run(r.stream) }
	return nil
}

// trainCalls is how many steps a group of GPUs is timed for together, so that the final wait is a small part.
const trainCalls = 50

// group prepares the step for several devices.
func (j *TrainJob) group(ctx context.Context, r *rig, w *work) error {
	devices := append([]*ops.Device{r.dev}, r.opt.With...)
	if !r.opt.NCCL {
		if err := ops.Connect(devices...); err != nil {
			return err
		}
	}
	var models []*nn.Model
	var all []nn.StepOptions
	for _, d := range devices {
		one := *r
		one.dev = d
		m, opts, err := j.rank(ctx, &one, w)
		if err != nil {
			return err
		}
		opts.Train.NCCL = r.opt.NCCL
		models, all = append(models, m), append(all, opts)
	}
	g, err := nn.NewGroup(ctx, models, j.B, j.T, all)
	if err != nil {
		return err
	}
	w.later(g.Close)
	w.own, w.per = true, 1
	if r.dev.Info().Backend == "cuda" {
		w.per = trainCalls
	}
	w.run = func(int) error {
		for range w.per {
			if err := g.Run(); err != nil {
				return err
			}
		}
		_, err := g.Progress(ctx)
		return err
	}
	return nil
}

// rank creates a device's model, the resampling plan, and the training options.
func (j *TrainJob) rank(ctx context.Context, r *rig, w *work) (*nn.Model, nn.StepOptions, error) {
	fail := func(err error) (*nn.Model, nn.StepOptions, error) { return nil, nn.StepOptions{}, err }
	layers := []nn.Layer{nn.Linear{Name: "in", Out: j.D}, nn.Positions{Name: "position", Count: j.T}}
	layers = append(layers, nn.Encoder("encoder", j.Layers, nn.TransformerEncoderLayer{Heads: j.Heads, FFN: j.FFN})...)
	m, err := nn.NewModel(ctx, r.dev, nn.Config{In: j.D, Layers: append(layers, nn.Linear{Name: "out", Out: j.Out})}, seed)
	if err != nil {
		return fail(err)
	}
	w.later(m.Close)
	// The samples are read, and the parameters and their moments are read and written. Activations kept for the backward pass do not
	// count.
	w.read, w.written = int64(j.B*j.S)*int64(2*j.D+4)+int64(12*m.Count()), int64(12*m.Count())
	rng := rand.New(rand.NewPCG(seed, 13))
	var errs []error
	put := func(host *tensor.Tensor, err error) *tensor.Tensor {
		on, err := r.put(w, host, err)
		if errs = append(errs, err); err != nil {
			return nil
		}
		return at(on, 0)
	}
	args := ops.ResampleArgs{Src: put(values(rng, tensor.BF16, j.B, j.S, j.D)), SrcTimes: put(timestamps(rng, tensor.F32, j.B, j.S)), Targets: ops.At(put(timestamps(nil, tensor.F32, j.B, j.T)))}
	target := put(values(rng, tensor.F32, j.B, j.T, j.Out))
	args.Dst, err = r.alloc(w, tensor.BF16, j.B, j.T, j.D)
	if err := errors.Join(append(errs, err)...); err != nil {
		return fail(err)
	}
	plan, err := r.dev.PlanResample(args, ops.ResampleOptions{})
	if err != nil {
		return fail(err)
	}
	w.later(plan.Close)
	opts := nn.StepOptions{
		Before: plan.Run,
		Train:  &nn.Training{Schedule: nn.Schedule{Rate: 1e-4}, WeightDecay: 0.01},
		Tokens: &backend.TokensJob{
			Sources: []backend.TokenSource{{Values: args.Dst, Ticks: j.T, D: j.D}}, Width: j.D, Scale: put(ones(j.D)), Shift: put(tensor.New(tensor.F32, j.D)),
			Target: &backend.TokenSource{Values: target, Ticks: j.T, D: j.Out}, TargetScale: put(ones(j.Out)), TargetShift: put(tensor.New(tensor.F32, j.Out)),
		},
	}
	return m, opts, errors.Join(errs...)
}

// ones returns a tensor [n] filled with 1.
func ones(n int) (*tensor.Tensor, error) {
	return valuesBy(func() float64 { return 1 }, n, tensor.F32, n)
}
