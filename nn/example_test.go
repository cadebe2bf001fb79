package nn_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"slices"

	"github.com/robocache/robocache/nn"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// A transformer of one layer learns where a swing is from the four positions before.
func Example() {
	ctx := context.Background()
	device, err := ops.Open("cpu")
	if err != nil {
		log.Fatal(err)
	}
	defer device.Close()
	m, err := nn.NewModel(ctx, device, nn.Config{In: 1, Layers: slices.Concat(
		[]nn.Layer{nn.Linear{Name: "input", Out: 32}, nn.Positions{Name: "position", Count: 4}},
		nn.Encoder("encoder", 1, nn.TransformerEncoderLayer{Heads: 1, FFN: 64}),
		[]nn.Layer{nn.LastToken{}, nn.Linear{Name: "output", Out: 1}},
	)}, 1)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	step, err := nn.NewStep(ctx, m, 16, 4, nn.StepOptions{Loss: nn.MSE, Train: &nn.Training{
		Schedule: nn.Schedule{Rate: 3e-3, WarmUp: 20, Decay: nn.Cosine, Steps: 300},
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer step.Close()
	var values, targets []float32
	for row := range 16 {
		for tick := range 5 {
			v := float32(math.Sin(float64(row)/16*2*math.Pi + float64(tick)/2))
			if tick < 4 {
				values = append(values, v)
			} else {
				targets = append(targets, v)
			}
		}
	}
	for t, list := range map[*tensor.Tensor][]float32{step.Values: values, step.TargetValues: targets} {
		host, err := tensor.Of(list, t.Shape()...)
		if err == nil {
			err = device.Copy(ctx, t, host)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	for range 300 {
		if err := step.Run(device.Queue()); err != nil {
			log.Fatal(err)
		}
	}
	p, err := step.Progress(ctx, device.Queue())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(p.Step, "steps,", m.Count(), "parameters; learned:", p.Losses[0] > 0.1 && p.Losses[299] < 1e-3)
	// Output: 300 steps, 8769 parameters; learned: true
}
