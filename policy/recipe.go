package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/robocache/robocache/nn"
)

// Kind is the name of the only kind of policy.
const Kind = "bc-transformer"

// Sizes are the names of the recipes. The first is the default.
var Sizes = []string{"small", "seed"}

// Recipe is the shape of a network and the settings that train it. Its JSON names are a contract.
type Recipe struct {
	Size string `json:"size"`
	// History is the number of ticks that the network reads. Each is a token, and the anchor's tick is the last. Chunk is the
	// number of actions that it predicts, from the anchor on.
	History int `json:"history"`
	Chunk   int `json:"chunk"`
	// PerToken is set if each token predicts the action in its own tick and reads only earlier tokens. Otherwise all tokens
	// together predict the chunk.
	PerToken bool `json:"per_token"`
	// Differences is set if past actions are inputs too, and if states and actions are relative to the last action. See Column.
	Differences bool `json:"differences"`

	Width  int `json:"width"`
	Layers int `json:"layers"`
	Heads  int `json:"heads"`
	FFN    int `json:"ffn"`
	// PreNorm puts each norm before its layer and none after the last layer, so the states have a linear path to the output.
	PreNorm bool    `json:"pre_norm"`
	Dropout float64 `json:"dropout"`

	Batch int `json:"batch"` // the number of windows in a batch, on each device
	Steps int `json:"steps"`
	// Rate is the highest learning rate. The rate rises linearly over WarmUp steps, then falls by half a cosine to 0 at Steps.
	Rate        float64 `json:"lr"`
	WarmUp      int     `json:"warm_up"`
	WeightDecay float64 `json:"weight_decay"`
	// Accumulate is the number of batches in a step; 0 is 1. See nn.Training.Batches.
	Accumulate int `json:"accumulate,omitempty"`
	// EMA is the power in the decay of the weights' moving average, which the policy then has as its weights; 0 is no average. See
	// nn.Training.EMA.
	EMA float64 `json:"ema,omitempty"`
}

// recipes are the sizes. "small" is for recordings of minutes and was chosen on the G1's: see docs/train.md. "seed" has the shape that
// training benchmarks use.
var recipes = map[string]Recipe{
	"small": {Size: "small", History: 5, Chunk: 30, Differences: true, Width: 64, Layers: 1, Heads: 2, FFN: 128, PreNorm: true, Dropout: 0.3,
		Batch: 16, Steps: 1000, Rate: 1e-3, WarmUp: 100, WeightDecay: 4},
	"seed": {Size: "seed", History: 250, Chunk: 1, PerToken: true, Width: 256, Layers: 4, Heads: 8, FFN: 1024,
		Batch: 32, Steps: 2000, Rate: 1e-4, WarmUp: 100, WeightDecay: 1e-2},
}

// RecipeOf returns the recipe with a name from Sizes. Another name is an *OptionError.
func RecipeOf(size string) (Recipe, error) {
	r, ok := recipes[size]
	if !ok {
		return r, refuse("Size", strconv.Quote(size), fmt.Sprintf("one of %q", Sizes))
	}
	return r, nil
}

// check returns an *OptionError for an invalid setting.
func (r *Recipe) check() error {
	for _, n := range []struct {
		name      string
		got, most int
	}{{"Steps", r.Steps, 1 << 24}, {"Batch", r.Batch, 1 << 20}, {"History", r.History, 4096}, {"Chunk", r.Chunk, 4096}} {
		if n.got < 1 || n.got > n.most {
			return refuse(n.name, strconv.Itoa(n.got), fmt.Sprintf("1 to %d", n.most))
		}
	}
	if !(r.Rate > 0 && r.Rate <= 1) {
		return refuse("Rate", fmt.Sprint(r.Rate), "above 0, at most 1")
	}
	if r.Accumulate < 0 || r.Accumulate > 256 {
		return refuse("Accumulate", strconv.Itoa(r.Accumulate), "0 to 256")
	}
	if !(r.EMA >= 0 && r.EMA <= 1) {
		return refuse("EMA", fmt.Sprint(r.EMA), "0 to 1")
	}
	return nil
}

// layers returns the network's layers, for actions with the given number of columns.
func (r *Recipe) layers(actions int) []nn.Layer {
	layer := nn.TransformerEncoderLayer{Heads: r.Heads, FFN: r.FFN, PreNorm: r.PreNorm, Dropout: float32(r.Dropout), Causal: r.PerToken}
	list := []nn.Layer{nn.Linear{Name: "input", Out: r.Width}, nn.Positions{Name: "position", Count: r.History, Std: 0.02}}
	for i := range r.Layers {
		layer.Name = fmt.Sprintf("encoder.layers.%d", i)
		list = append(list, layer)
	}
	if r.PerToken {
		return append(list, nn.Linear{Name: "output", Out: actions, Zero: true})
	}
	return append(list, nn.Flatten{Tokens: r.History}, nn.Linear{Name: "output", Out: r.Chunk * actions, Zero: true})
}

// training returns the settings for a training step.
func (r *Recipe) training(seed uint64) *nn.Training {
	return &nn.Training{Schedule: nn.Schedule{Rate: r.Rate, WarmUp: r.WarmUp, Decay: nn.Cosine, Steps: r.Steps}, WeightDecay: r.WeightDecay, Seed: seed,
		EMA: r.EMA, Batches: r.Accumulate}
}

// weights returns the number of weights in matrices and in the table of positions. It is a float64, because a recipe from a file may
// overflow.
func (r *Recipe) weights(inputs, actions int) float64 {
	tokens, out := r.products(inputs, actions)
	return tokens + out + float64(r.History)*float64(r.Width)
}

// products returns the number of weights that each token is multiplied by, and the number in the last layer.
func (r *Recipe) products(inputs, actions int) (tokens, out float64) {
	width, ffn := float64(r.Width), float64(r.FFN)
	tokens, out = float64(inputs)*width+float64(r.Layers)*(4*width*width+2*width*ffn), width*float64(actions)
	if !r.PerToken {
		out *= float64(r.History) * float64(r.Chunk)
	}
	return tokens, out
}

// Windows returns the number of windows in a step on each device.
func (r *Recipe) Windows() int { return r.Batch * max(r.Accumulate, 1) }

// override sets the settings that the options give.
func (r *Recipe) override(o *Options) {
	r.Steps, r.Batch, r.Rate = cmp.Or(o.Steps, r.Steps), cmp.Or(o.Batch, r.Batch), cmp.Or(o.Rate, r.Rate)
	r.Accumulate, r.EMA = cmp.Or(o.Accumulate, r.Accumulate), cmp.Or(o.EMA, r.EMA)
}

// FLOP returns the number of floating-point operations in a step on each device. Each weight costs six for each token that it
// multiplies: a product and a sum, in the forward pass once and in the backward pass twice.
func (r *Recipe) FLOP(inputs, actions int) float64 {
	tokens, out := r.products(inputs, actions)
	if r.PerToken {
		out *= float64(r.History)
	}
	return 6 * float64(r.Windows()) * (tokens*float64(r.History) + out)
}

// Horizons returns the ticks at which the skill is reported: a third, two thirds and all of the chunk. Example: 10, 20 and 30.
func (r *Recipe) Horizons() []int {
	return slices.Compact([]int{max(1, r.Chunk/3), max(1, 2*r.Chunk/3), r.Chunk})
}
