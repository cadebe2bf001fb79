package faultsweep

import (
	"context"
	"errors"
	"fmt"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/nn"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
)

// Training opens a device, creates a network that has every kind of layer, trains it for two steps, reads the results and closes
// everything, even if a step fails.
func Training(drv *cudadrv.Driver) (err error) {
	b, err := cuda.New(drv, 0)
	if err != nil {
		return err
	}
	dev, err := ops.NewDevice(b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	ctx := context.Background()
	m, err := nn.NewModel(ctx, dev, nn.Config{In: 3, Layers: []nn.Layer{
		nn.Linear{Name: "in", Out: 32}, nn.Positions{Name: "position", Count: 2}, nn.TransformerEncoderLayer{Name: "layer", Heads: 1, FFN: 16, Dropout: 0.1},
		nn.Linear{Name: "out", Out: 2},
	}}, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	q, err := dev.NewQueue()
	if err != nil {
		return err
	}
	s, err := nn.NewStep(ctx, m, 1, 2, nn.StepOptions{Train: &nn.Training{Schedule: nn.Schedule{Rate: 1e-3}, MaxNorm: 1}})
	if err != nil {
		return errors.Join(err, q.Close())
	}
	defer func() { err = errors.Join(err, q.Close(), s.Close()) }() // Close of the queue waits for the steps
	for range 2 {
		if err := s.Run(q); err != nil {
			return err
		}
	}
	p, err := s.Progress(ctx, q)
	if err != nil {
		return err
	}
	if p.Step != 2 || len(p.Losses) != 2 || !(p.Norm >= 0) {
		return fmt.Errorf("training: got %+v, want two steps", p)
	}
	_, err = s.Gradients(ctx)
	return err
}
