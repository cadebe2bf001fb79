// Package nn trains neural networks on a GPU or the CPU: layers, losses and AdamW. Most programs need three calls:
//
//	m, err := nn.NewModel(ctx, device, nn.Config{In: 54, Layers: []nn.Layer{
//		nn.Linear{Name: "hidden", Out: 256, Activation: nn.ReLU}, nn.Linear{Name: "output", Out: 26},
//	}}, seed)
//	step, err := nn.NewStep(ctx, m, 32, 250, nn.StepOptions{Loss: nn.MSE, Train: &nn.Training{Schedule: nn.Schedule{Rate: 1e-4}}})
//	for range steps {
//		err = step.Run(queue) // one launch, which allocates nothing
//	}
//
// step.Progress returns the losses, and an error if a value is not finite. m.SaveFile writes the parameters with torch's names
// and shapes.
//
// A network is a list of layers that work on tokens [B,T,In]: B rows in a batch, T tokens in a row, In columns. [Encoder] returns
// the layers of a transformer, and [Decoder] those of one with cross-attention to a [Memory]. The last layer is a Linear, and its
// result is the prediction: one for each token, or one for each row after [LastToken] or [Flatten]. Layers, parameter names and
// defaults are torch's. [NewModel] initialises parameters by torch's distributions, but from another random generator, so the numbers
// differ from torch's.
//
// Parameters are float32 in one array, the arena, next to Adam's moments. If the device computes in bfloat16, there is a bfloat16
// copy too. A weight matrix is padded with zeros to multiples of 16 rows and columns. Files do not contain the padding.
//
// A step is compiled for one batch shape and captured as one graph, together with the work that makes the batch, if
// StepOptions.Before is set. Small operations run in the launch of the matrix product before them: bias, activation, dropout,
// residual and LayerNorm, and their gradients in the backward pass. One launch computes the gradients of all weights.
//
// A [Group] trains on several devices of one machine.
//
// Every sum has a fixed order. A step therefore returns the same bits in every run, and on "cpu:exact", the simulated device and
// a GPU. "cpu" computes in float32 and is the fast choice without a GPU.
package nn
