// Package nn trains networks: layers, losses and AdamW over plans of package ops, with the parameters in one arena and a step that is one graph.
//
//	m, err := nn.NewModel(ctx, device, nn.Config{In: 54, Layers: slices.Concat(
//		[]nn.Layer{nn.Linear{Name: "input", Out: 256}, nn.Positions{Name: "position", Count: 250}},
//		nn.Encoder("encoder", 4, nn.TransformerEncoderLayer{Heads: 8, FFN: 1024}),
//		[]nn.Layer{nn.Linear{Name: "output", Out: 26}},
//	)}, seed)
//	step, err := nn.NewStep(ctx, m, 32, 250, nn.StepOptions{Loss: nn.MSE, Train: &nn.Training{Schedule: nn.Schedule{Rate: 1e-4}}})
//	for range steps {
//		err = step.Run(queue)                      // one launch, nothing allocated
//	}
//	progress, err := step.Progress(ctx, queue)     // losses; a value that is not finite is an error
//	err = m.SaveFile(ctx, "policy.safetensors", nil) // torch's names and shapes
//
// A network is a list of layers on tokens [B,T,In]; its prediction is what its last layer, a Linear, gives for each token, or for the last one behind
// [LastToken], or for all of them together behind [Flatten]. Layers, their parameters' names and their defaults are torch's; [NewModel] initialises
// them as torch does, from a generator of our own, so with other numbers than torch's.
//
// Parameters are float32, in one flat space, with Adam's moments and, where the device computes in bfloat16, a copy of them beside. A weight has its
// rows padded to a multiple of 16 columns and 16 rows in it, which are 0 and stay 0; files are without.
//
// A step is compiled for a batch's shape. What follows a product is in its launch: bias, activation, dropout, the residual, a LayerNorm; of the way
// back the activation's gradient, the residual's and the LayerNorm's. The gradients of all weights are one launch. All of a step is one graph, with
// what makes the batch in front of it if the caller says so.
//
// A [Group] trains on several devices of one machine.
//
// Sums have one order, so that a step gives the same bits every time, and the same on "cpu:exact", the simulated device and a GPU; "cpu" computes in
// float32 and is the fast way where there is no GPU.
package nn
