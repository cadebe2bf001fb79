package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"github.com/robocache/robocache/nn"
)

// Kinds. Kind is the default. It predicts actions by regression, so it predicts their mean if demonstrations differ. Flow and
// Diffusion draw a chunk as a demonstrator might: by flow matching, or by diffusion (Chi et al., "Diffusion policy", 2023).
const (
	Kind      = "bc-transformer"
	Flow      = "flow"
	Diffusion = "diffusion"
)

// Kinds lists all kinds.
var Kinds = []string{Kind, Flow, Diffusion}

// Samplers: Euler for Flow, DDIM or DDPM for Diffusion.
const (
	Euler = "euler"
	DDIM  = "ddim"
	DDPM  = "ddpm"
)

// Conditions: how a network with a Sampler sees the states. With Prefix, the default, they are the first tokens of one causal
// transformer. With Cross, a decoder's cross-attention sees them, as in the transformer of Chi et al.
const (
	Prefix = "prefix"
	Cross  = "cross"
)

// samplers lists each kind's samplers. The first is the default.
var samplers = map[string][]string{Kind: {""}, Flow: {Euler}, Diffusion: {DDIM, DDPM}}

// Sizes returns the names that a kind's recipes have. The first is the default.
func Sizes(kind string) []string {
	if kind == Kind {
		return []string{"small", "seed"}
	}
	return []string{"base", "tiny"}
}

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
	// GELU is set if the activation is GELU; else it is ReLU.
	GELU bool `json:"gelu,omitempty"`
	// PreNorm puts each norm before its layer and none after the last layer, so the states have a linear path to the output.
	PreNorm bool    `json:"pre_norm"`
	Dropout float64 `json:"dropout"`
	// AttentionDropout is the dropout of the attention probabilities; 0 is Dropout.
	AttentionDropout float64 `json:"attention_dropout,omitempty"`

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

	// Sampler makes a chunk from noise: Euler, DDIM or DDPM. The network then reads History tokens with states and Chunk tokens with
	// noisy actions, and each token reads only earlier tokens. If Sampler is empty, the network predicts the chunk itself.
	Sampler string `json:"sampler,omitempty"`
	// Condition is Cross, or empty for Prefix.
	Condition string `json:"condition,omitempty"`
	// SampleSteps is how often the network is evaluated for a chunk.
	SampleSteps int `json:"sample_steps,omitempty"`
	// Execute is how many actions in a chunk are executed before the next prediction; 0 in old checkpoints.
	Execute int `json:"execute,omitempty"`
}

// recipes are the sizes. "small" is for recordings of minutes and was chosen on the G1's: see docs/train.md. "seed" has the shape that
// training benchmarks use.
var recipes = map[string]Recipe{
	"small": {Size: "small", History: 5, Chunk: 30, Differences: true, Width: 64, Layers: 1, Heads: 2, FFN: 128, PreNorm: true, Dropout: 0.3,
		Batch: 16, Steps: 1000, Rate: 1e-3, WarmUp: 100, WeightDecay: 4},
	"seed": {Size: "seed", History: 250, Chunk: 1, PerToken: true, Width: 256, Layers: 4, Heads: 8, FFN: 1024,
		Batch: 32, Steps: 2000, Rate: 1e-4, WarmUp: 100, WeightDecay: 1e-2},
	"base": {Size: "base", History: 2, Chunk: 16, Execute: 8, Width: 256, Layers: 8, Heads: 4, FFN: 1024, GELU: true, PreNorm: true,
		Batch: 256, Steps: 10000, Rate: 1e-4, WarmUp: 1000, WeightDecay: 1e-3, EMA: 0.75},
	"tiny": {Size: "tiny", History: 2, Chunk: 16, Execute: 8, Width: 128, Layers: 3, Heads: 2, FFN: 512, PreNorm: true,
		Batch: 64, Steps: 10000, Rate: 5e-4, WarmUp: 200, WeightDecay: 1e-3, EMA: 0.75},
}

// sampleSteps has each sampler's default for SampleSteps.
var sampleSteps = map[string]int{Euler: 10, DDIM: 16, DDPM: 100}

// RecipeOf returns the recipe for a kind in Kinds and a size in Sizes. An empty size is the default. Other names are an
// *OptionError.
func RecipeOf(kind, size string) (Recipe, error) {
	if !slices.Contains(Kinds, kind) {
		return Recipe{}, refuse("Policy", strconv.Quote(kind), fmt.Sprintf("one of %q", Kinds))
	}
	sizes := Sizes(kind)
	size = cmp.Or(size, sizes[0])
	if !slices.Contains(sizes, size) {
		return Recipe{}, refuse("Size", strconv.Quote(size), fmt.Sprintf("one of %q", sizes))
	}
	r := recipes[size]
	r.Sampler = samplers[kind][0]
	r.SampleSteps = sampleSteps[r.Sampler]
	return r, nil
}

// sampled sets the options about samples, and returns an *OptionError if they do not fit the kind.
func (r *Recipe) sampled(kind string, o *Options) error {
	if o.Sampler != "" {
		r.Sampler, r.SampleSteps = o.Sampler, sampleSteps[o.Sampler]
	}
	if r.Condition = cmp.Or(o.Condition, r.Condition); r.Condition == Prefix {
		r.Condition = ""
	}
	r.SampleSteps, r.Execute = cmp.Or(o.SampleSteps, r.SampleSteps), cmp.Or(o.Execute, min(r.Execute, r.Chunk))
	return r.fits(kind)
}

// fits returns an *OptionError if the sampler does not fit a kind.
func (r *Recipe) fits(kind string) error {
	list, most := samplers[kind], map[string]int{Euler: 1000, DDIM: 100, DDPM: 100}[r.Sampler]
	least := min(most, 1)
	if r.Sampler == DDPM {
		least = most
	}
	switch {
	case !slices.Contains(list, r.Sampler):
		return refuse("Sampler", strconv.Quote(r.Sampler), fmt.Sprintf("one of %q, as %s has", list, kind))
	case r.Condition != "" && (r.Condition != Cross || r.Sampler == ""):
		return refuse("Condition", strconv.Quote(r.Condition), fmt.Sprintf("%q, or %q for %q", Prefix, Cross, Kinds[1:]))
	case r.SampleSteps < least || r.SampleSteps > most:
		return refuse("SampleSteps", strconv.Itoa(r.SampleSteps), fmt.Sprintf("%d to %d", least, most))
	case r.Execute < 0 || r.Execute > r.Chunk:
		return refuse("Execute", strconv.Itoa(r.Execute), fmt.Sprintf("1 to %d, the chunk", r.Chunk))
	}
	return nil
}

// embedded counts the columns with the noise level.
const embedded = 64

// denoise returns the settings for removing noise, or nil without a sampler. The seed is for the noise in samples.
func (r *Recipe) denoise(seed uint64) *nn.Denoise {
	var d nn.Denoise
	switch r.Sampler {
	case "":
		return nil
	case Euler:
		d = nn.Flow(r.SampleSteps)
	case DDIM:
		d = nn.Diffusion(r.SampleSteps)
	case DDPM:
		d = nn.Diffusion(0)
	}
	d.Chunk, d.Embed, d.Seed = r.Chunk, embedded, seed
	return &d
}

// tokens returns how many tokens the network reads.
func (r *Recipe) tokens() int {
	if r.Sampler == "" {
		return r.History
	}
	return r.History + r.Chunk
}

// columns returns how many columns a token has.
func (r *Recipe) columns(inputs, actions int) int {
	if r.Sampler == "" {
		return inputs
	}
	return inputs + actions + embedded
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
	if !(r.AttentionDropout >= 0 && r.AttentionDropout < 1) {
		return refuse("Dropout", fmt.Sprint(r.AttentionDropout), "at least 0 and below 1")
	}
	if !(r.EMA >= 0 && r.EMA <= 1) {
		return refuse("EMA", fmt.Sprint(r.EMA), "0 to 1")
	}
	return nil
}

// layers returns the network's layers, for actions with the given number of columns.
func (r *Recipe) layers(actions int) []nn.Layer {
	layer := nn.TransformerEncoderLayer{
		Heads: r.Heads, FFN: r.FFN, PreNorm: r.PreNorm, Dropout: float32(r.Dropout), AttentionDropout: float32(r.AttentionDropout),
		Causal: r.PerToken || r.Sampler != "",
	}
	if r.GELU {
		layer.Activation = nn.GELU
	}
	embed := func(name string, tokens int) []nn.Layer {
		return []nn.Layer{nn.Linear{Name: name + "input", Out: r.Width}, nn.Positions{Name: name + "position", Count: tokens, Std: 0.02}}
	}
	list := embed("", r.tokens())
	if r.Condition == Cross {
		memory := append(embed("memory.", r.History), nn.Linear{Name: "memory.linear1", Out: r.FFN, Activation: cmp.Or(layer.Activation, nn.ReLU), Dropout: layer.Dropout},
			nn.Linear{Name: "memory.linear2", Out: r.Width, Dropout: layer.Dropout})
		list = append([]nn.Layer{nn.Memory{Tokens: r.History, Layers: memory}}, list...)
		list = append(list, nn.Decoder("decoder", r.Layers, nn.TransformerDecoderLayer(layer))...)
	} else {
		for i := range r.Layers {
			layer.Name = fmt.Sprintf("encoder.layers.%d", i)
			list = append(list, layer)
		}
		if r.Sampler != "" {
			list = append(list, nn.LayerNorm{Name: "encoder.norm"})
		}
	}
	if r.PerToken || r.Sampler != "" {
		return append(list, nn.Linear{Name: "output", Out: actions, Zero: true})
	}
	return append(list, nn.Flatten{Tokens: r.History}, nn.Linear{Name: "output", Out: r.Chunk * actions, Zero: true})
}

// training returns the settings for a training step.
func (r *Recipe) training(seed uint64) *nn.Training {
	t := &nn.Training{Schedule: nn.Schedule{Rate: r.Rate, WarmUp: r.WarmUp, Decay: nn.Cosine, Steps: r.Steps}, WeightDecay: r.WeightDecay, Seed: seed,
		EMA: r.EMA, Batches: r.Accumulate}
	if r.Sampler != "" {
		t.Beta2 = 0.95
	}
	return t
}

// weights returns the number of weights in matrices and in the table of positions. It is a float64, because a recipe from a file may
// overflow.
func (r *Recipe) weights(inputs, actions int) float64 {
	tokens, memory, out := r.products(inputs, actions)
	return tokens + memory + out + float64(r.tokens())*float64(r.Width)
}

// products returns the number of weights that each token is multiplied by, that each token with states is multiplied by for the
// memory, and in the last layer.
func (r *Recipe) products(inputs, actions int) (tokens, memory, out float64) {
	width, ffn, layers, input := float64(r.Width), float64(r.FFN), float64(r.Layers), float64(r.columns(inputs, actions))*float64(r.Width)
	tokens, out = input+layers*(4*width*width+2*width*ffn), width*float64(actions)
	if r.Condition == Cross {
		tokens, memory = tokens+layers*2*width*width, input+2*width*ffn+layers*2*width*width
	}
	if !r.PerToken && r.Sampler == "" {
		out *= float64(r.History) * float64(r.Chunk)
	}
	return tokens, memory, out
}

// Windows returns the number of windows in a step on each device.
func (r *Recipe) Windows() int { return r.Batch * max(r.Accumulate, 1) }

// override sets the settings that the options give.
func (r *Recipe) override(o *Options) {
	r.Steps, r.Batch, r.Rate = cmp.Or(o.Steps, r.Steps), cmp.Or(o.Batch, r.Batch), cmp.Or(o.Rate, r.Rate)
	r.Accumulate = cmp.Or(o.Accumulate, r.Accumulate)
	if o.EMA != nil {
		r.EMA = *o.EMA
	}
	if o.Dropout != nil {
		r.Dropout, r.AttentionDropout = *o.Dropout/3, *o.Dropout
	}
}

// FLOP returns the number of floating-point operations in a step on each device. Each weight costs six for each token that it
// multiplies: a product and a sum, in the forward pass once and in the backward pass twice.
func (r *Recipe) FLOP(inputs, actions int) float64 {
	tokens, memory, out := r.products(inputs, actions)
	if r.PerToken || r.Sampler != "" {
		out *= float64(r.tokens())
	}
	return 6 * float64(r.Windows()) * (tokens*float64(r.tokens()) + memory*float64(r.History) + out)
}

// Horizons returns the ticks at which the skill is reported: a third, two thirds and all of the chunk. Example: 10, 20 and 30.
func (r *Recipe) Horizons() []int {
	return slices.Compact([]int{max(1, r.Chunk/3), max(1, 2*r.Chunk/3), r.Chunk})
}
