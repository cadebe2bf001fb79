package nn_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/robocache/robocache/nn"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// A transformer of one layer learns where a swing is from the four positions before, is saved, and predicts again from the file.
func Example() {
	if err := swing(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// 300 steps, 8769 parameters; learned: true
	// after the file: 16 predictions, all within 0.1: true
}

const rows, ticks = 16, 4 // of a batch

func swing() (err error) {
	ctx := context.Background()
	device, err := ops.Open("cpu")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	network := nn.Config{In: 1, Layers: slices.Concat(
		[]nn.Layer{nn.Linear{Name: "input", Out: 32}, nn.Positions{Name: "position", Count: ticks}},
		nn.Encoder("encoder", 1, nn.TransformerEncoderLayer{Heads: 1, FFN: 64}),
		[]nn.Layer{nn.LastToken{}, nn.Linear{Name: "output", Out: 1}},
	)}
	m, err := nn.NewModel(ctx, device, network, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	step, err := nn.NewStep(ctx, m, rows, ticks, nn.StepOptions{Loss: nn.MSE, Train: &nn.Training{
		Schedule: nn.Schedule{Rate: 3e-3, WarmUp: 20, Decay: nn.Cosine, Steps: 300},
	}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, step.Close()) }()

	values, targets := swings()
	if err := errors.Join(give(ctx, device, step.Values, values), give(ctx, device, step.TargetValues, targets)); err != nil {
		return err
	}
	for range 300 {
		if err := step.Run(device.Queue()); err != nil { // another batch: give it before
			return err
		}
	}
	p, err := step.Progress(ctx, device.Queue()) // waits for the steps
	if err != nil {
		return err
	}
	fmt.Println(p.Step, "steps,", m.Count(), "parameters; learned:", p.Losses[0] > 0.1 && p.Losses[299] < 1e-3)

	dir, err := os.MkdirTemp("", "swing")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "model.safetensors")
	if err := m.SaveFile(ctx, file, nil); err != nil {
		return err
	}
	predicted, err := predict(ctx, device, network, file, values)
	if err != nil {
		return err
	}
	good := true
	for i, v := range predicted {
		good = good && math.Abs(float64(v-targets[i])) < 0.1
	}
	fmt.Printf("after the file: %d predictions, all within 0.1: %v\n", len(predicted), good)
	return nil
}

// predict is what a network with the weights of a file gives for a batch.
func predict(ctx context.Context, device *ops.Device, network nn.Config, file string, values []float32) (_ []float32, err error) {
	m, err := nn.NewModel(ctx, device, network, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	if _, err := m.LoadFile(ctx, file); err != nil {
		return nil, err
	}
	step, err := nn.NewStep(ctx, m, rows, ticks, nn.StepOptions{Predict: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, step.Close()) }()
	if err := give(ctx, device, step.Values, values); err != nil {
		return nil, err
	}
	if err := step.Run(device.Queue()); err != nil {
		return nil, err
	}
	if _, err := step.Progress(ctx, device.Queue()); err != nil {
		return nil, err
	}
	p := step.Prediction // [rows, 1], each row at a stride that is padded: all of it is copied, and the first of each row taken
	whole, err := p.AsStrided([]int{p.Dim(0), p.Stride(0)}, []int{p.Stride(0), 1}, 0)
	if err != nil {
		return nil, err
	}
	host, err := tensor.New(tensor.F32, whole.Shape()...)
	if err != nil {
		return nil, err
	}
	if err := device.Copy(ctx, host, whole); err != nil {
		return nil, err
	}
	all, err := tensor.Data[float32](host)
	if err != nil {
		return nil, err
	}
	var list []float32
	for i := range p.Dim(0) {
		list = append(list, all[i*p.Stride(0)])
	}
	return list, nil
}

// give copies values to a tensor of the device.
func give(ctx context.Context, device *ops.Device, to *tensor.Tensor, values []float32) error {
	host, err := tensor.Of(values, to.Shape()...)
	if err != nil {
		return err
	}
	return device.Copy(ctx, to, host)
}

// swings are four positions a row, and the next.
func swings() (values, targets []float32) {
	for row := range rows {
		for tick := range ticks + 1 {
			v := float32(math.Sin(float64(row)/rows*2*math.Pi + float64(tick)/2))
			if tick < ticks {
				values = append(values, v)
			} else {
				targets = append(targets, v)
			}
		}
	}
	return values, targets
}
