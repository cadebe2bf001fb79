// Command train trains a transformer from the parameters and the batch that bench/peers/train_parity.py has written. It writes
// the gradients after the first step, the losses and the final parameters, so that the script can compare them with torch's.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/nn"
	"github.com/robocache/robocache/ops"
	_ "github.com/robocache/robocache/ops/cuda"
	_ "github.com/robocache/robocache/ops/sim"
	"github.com/robocache/robocache/tensor"
)

// settings are the fields in the script's config.json.
type settings struct {
	B, T, In, Width, Heads, FFN, Layers, Out, Steps int
	PreNorm, GELU, Causal                           bool
	Rate, WeightDecay, MaxNorm                      float64
}

func main() {
	device := flag.String("device", "auto", "of robocache")
	dir := flag.String("dir", "build/train", "folder that the script wrote to")
	flag.Parse()
	if err := run(context.Background(), *device, *dir); err != nil {
		fmt.Fprintln(os.Stderr, "train:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, device, dir string) (err error) {
	text, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		return err
	}
	var c settings
	if err := json.Unmarshal(text, &c); err != nil {
		return err
	}
	d, err := ops.Open(device)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	layer := nn.TransformerEncoderLayer{Heads: c.Heads, FFN: c.FFN, PreNorm: c.PreNorm, Causal: c.Causal}
	if c.GELU {
		layer.Activation = nn.GELU
	}
	m, err := nn.NewModel(ctx, d, nn.Config{In: c.In, Layers: slices.Concat(
		[]nn.Layer{nn.Linear{Name: "in", Out: c.Width}, nn.Positions{Name: "position", Count: c.T}},
		nn.Encoder("encoder", c.Layers, layer),
		[]nn.Layer{nn.Linear{Name: "out", Out: c.Out}},
	)}, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if _, err := m.LoadFile(ctx, filepath.Join(dir, "model.safetensors")); err != nil {
		return err
	}
	s, err := nn.NewStep(ctx, m, c.B, c.T, nn.StepOptions{
		Train: &nn.Training{Schedule: nn.Schedule{Rate: c.Rate}, WeightDecay: c.WeightDecay, MaxNorm: c.MaxNorm}, Ring: c.Steps,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return train(ctx, d, m, s, c.Steps, dir)
}

// train runs the steps and writes their results.
func train(ctx context.Context, d *ops.Device, m *nn.Model, s *nn.Step, steps int, dir string) error {
	batch, err := safetensors.Open(filepath.Join(dir, "batch.safetensors"))
	if err != nil {
		return err
	}
	defer batch.Close()
	for name, to := range map[string]*tensor.Tensor{"values": s.Values, "targets": s.TargetValues} {
		host, err := batch.Tensor(name)
		if err != nil {
			return err
		}
		if err := d.Copy(ctx, to, host); err != nil {
			return err
		}
	}
	var gradients map[string]*tensor.Tensor
	var p nn.Progress
	for i := range steps {
		if err := s.Run(d.Queue()); err != nil {
			return err
		}
		if i > 0 && i < steps-1 {
			continue
		}
		if p, err = s.Progress(ctx, d.Queue()); err != nil {
			return err
		}
		if i == 0 {
			if gradients, err = s.Gradients(ctx); err != nil {
				return err
			}
		}
	}
	if err := m.SaveFile(ctx, filepath.Join(dir, "ours.safetensors"), nil); err != nil {
		return err
	}
	losses, err := tensor.Of(p.Losses, len(p.Losses))
	if err != nil {
		return err
	}
	return safetensors.WriteFile(filepath.Join(dir, "gradients.safetensors"), func(w *safetensors.Writer) error {
		for _, p := range m.Parameters() {
			if err := w.Add(p.Name, gradients[p.Name]); err != nil {
				return err
			}
		}
		return w.Add("losses", losses)
	})
}
