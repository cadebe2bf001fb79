package nn

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/tensor"
)

// networks are small ones of each layer and of each way to put them together. Widths are no multiples of 16 where they may be.
var networks = []struct {
	name string
	c    Config
	b, t int
	opts StepOptions
	pad  bool
}{
	{name: "linear", c: Config{5, []Layer{Linear{Name: "a", Out: 3}}}, b: 3, t: 7},
	{name: "linear without bias", c: Config{20, []Layer{Linear{Name: "a", Out: 33, NoBias: true}}}, b: 2, t: 4, opts: StepOptions{Loss: L1}},
	{name: "two linear", c: Config{5, []Layer{Linear{Name: "a", Out: 24}, Linear{Name: "b", Out: 3}}}, b: 3, t: 7},
	{name: "ReLU", c: Config{5, []Layer{Linear{Name: "a", Out: 24, Activation: ReLU}, Linear{Name: "b", Out: 3}}}, b: 3, t: 7},
	{name: "GELU", c: Config{5, []Layer{Linear{Name: "a", Out: 24, Activation: GELU}, Linear{Name: "b", Out: 3}}}, b: 3, t: 7},
	{name: "dropout", c: Config{5, []Layer{Linear{Name: "a", Out: 24, Activation: GELU, Dropout: 0.5}, Linear{Name: "b", Out: 20, Dropout: 0.25}, Linear{Name: "c", Out: 3}}}, b: 3, t: 7},
	{name: "chunk", c: Config{5, []Layer{Linear{Name: "a", Out: 12}}}, b: 3, t: 5, opts: StepOptions{Chunk: 4}},
	{name: "norm", c: Config{5, []Layer{Linear{Name: "a", Out: 48}, LayerNorm{Name: "n"}, Linear{Name: "b", Out: 3}}}, b: 3, t: 30},
	{name: "wide norm", c: Config{5, []Layer{Linear{Name: "a", Out: 528}, LayerNorm{Name: "n"}, Linear{Name: "b", Out: 3}}}, b: 3, t: 30},
	{name: "norm of a norm", c: Config{5, []Layer{Linear{Name: "a", Out: 48}, LayerNorm{Name: "n"}, LayerNorm{Name: "o", Eps: 0.1}, Linear{Name: "b", Out: 3}}}, b: 3, t: 30},
	{name: "norm of a norm, beside it", c: Config{5, []Layer{Linear{Name: "a", Out: 32}, LayerNorm{Name: "n"}, Residual{[]Layer{LayerNorm{Name: "o"}, Linear{Name: "b", Out: 32}}}, Linear{Name: "c", Out: 3}}}, b: 3, t: 7},
	{name: "pre-norm behind a norm", c: Config{5, []Layer{Linear{Name: "a", Out: 32}, LayerNorm{Name: "n"}, TransformerEncoderLayer{Name: "e", Heads: 1, FFN: 24, PreNorm: true, Activation: GELU},
		LayerNorm{Name: "o"}, Linear{Name: "c", Out: 3}}}, b: 3, t: 7},
	{name: "two residuals", c: Config{5, []Layer{Linear{Name: "a", Out: 32}, Residual{[]Layer{Linear{Name: "b", Out: 32}}}, Residual{[]Layer{Linear{Name: "c", Out: 16}, Linear{Name: "d", Out: 32}}}, Linear{Name: "e", Out: 3}}}, b: 3, t: 7},
	{name: "residual attention", c: Config{5, []Layer{Linear{Name: "a", Out: 32}, Residual{[]Layer{MultiHeadAttention{Name: "m", Heads: 1}}}, Residual{[]Layer{LayerNorm{Name: "n"}, MultiHeadAttention{Name: "o", Heads: 1}}},
		Linear{Name: "e", Out: 3}}}, b: 3, t: 7},
	{name: "positions", c: Config{5, []Layer{Linear{Name: "a", Out: 32}, Positions{Name: "p", Count: 9}, Linear{Name: "b", Out: 3}}}, b: 3, t: 7},
	{name: "ids", c: Config{5, []Layer{Linear{Name: "a", Out: 32}, Positions{Name: "p", Count: 9}, Embedding{Name: "e", Count: 3}, LayerNorm{Name: "n"}, Linear{Name: "b", Out: 3}}}, b: 4, t: 7},
	{name: "residual", c: Config{5, []Layer{Linear{Name: "a", Out: 32}, Residual{[]Layer{LayerNorm{Name: "n"}, Linear{Name: "b", Out: 40, Activation: ReLU}, Linear{Name: "c", Out: 32}}},
		Linear{Name: "d", Out: 3}}}, b: 3, t: 7},
	{name: "attention", c: Config{5, []Layer{Linear{Name: "a", Out: 64}, MultiHeadAttention{Name: "m", Heads: 2}, Linear{Name: "b", Out: 3}}}, b: 2, t: 9},
	{name: "attention, wide heads, causal", c: Config{5, []Layer{Linear{Name: "a", Out: 64}, MultiHeadAttention{Name: "m", Heads: 1, Causal: true, Dropout: 0.3}, Linear{Name: "b", Out: 3}}}, b: 2, t: 9},
	{name: "padding", c: Config{5, []Layer{Linear{Name: "a", Out: 64}, MultiHeadAttention{Name: "m", Heads: 2}, Linear{Name: "b", Out: 3}}}, b: 2, t: 9, pad: true},
	{name: "padding, causal", c: Config{5, []Layer{Linear{Name: "a", Out: 64}, MultiHeadAttention{Name: "m", Heads: 2, Causal: true}, Linear{Name: "b", Out: 3}}}, b: 2, t: 9, pad: true},
	{name: "encoder", c: encoder(TransformerEncoderLayer{Heads: 1, FFN: 40}), b: 2, t: 9},
	{name: "encoder with dropout", c: encoder(TransformerEncoderLayer{Heads: 1, FFN: 40, Dropout: 0.2}), b: 2, t: 9},
	{name: "pre-norm encoder, GELU", c: encoder(TransformerEncoderLayer{Heads: 1, FFN: 40, PreNorm: true, Activation: GELU, Dropout: 0.2, AttentionDropout: 0.6, Causal: true}), b: 2, t: 9},
	{name: "last token", c: last(encoder(TransformerEncoderLayer{Heads: 1, FFN: 40})), b: 3, t: 9},
	{name: "last token, pre-norm", c: last(encoder(TransformerEncoderLayer{Heads: 1, FFN: 40, PreNorm: true})), b: 3, t: 9, opts: StepOptions{Chunk: 3}},
	{name: "flat", c: flat(encoder(TransformerEncoderLayer{Heads: 1, FFN: 40}), 9), b: 3, t: 9, opts: StepOptions{Chunk: 3}},
	{name: "flat, a policy's", c: Config{5, []Layer{Linear{Name: "in", Out: 32}, Positions{Name: "position", Count: 5}, TransformerEncoderLayer{Name: "e", Heads: 1, FFN: 40, PreNorm: true, Dropout: 0.3},
		Flatten{5}, Linear{Name: "out", Out: 12, Zero: true}}}, b: 3, t: 5, opts: StepOptions{Chunk: 4}},
	{name: "cross-attention", c: Config{5, []Layer{Memory{3, []Layer{Linear{Name: "m", Out: 32}}}, Linear{Name: "a", Out: 32}, MultiHeadAttention{Name: "x", Heads: 1, Cross: true}, Linear{Name: "b", Out: 3}}}, b: 2, t: 9},
	{name: "cross-attention, wide heads, dropout", c: Config{5, []Layer{Memory{8, []Layer{Linear{Name: "m", Out: 64, Dropout: 0.2}}}, Linear{Name: "a", Out: 64},
		Residual{[]Layer{MultiHeadAttention{Name: "x", Heads: 1, Cross: true, Dropout: 0.3}}}, MultiHeadAttention{Name: "s", Heads: 2}, Linear{Name: "b", Out: 3}}}, b: 2, t: 9},
	{name: "decoder", c: decoder(TransformerDecoderLayer{Heads: 1, FFN: 40, Dropout: 0.2}), b: 2, t: 9},
	{name: "decoder, of the last token", c: last(decoder(TransformerDecoderLayer{Heads: 1, FFN: 40, PreNorm: true})), b: 2, t: 9, opts: StepOptions{Loss: L1}},
	{name: "pre-norm decoder, GELU", c: decoder(TransformerDecoderLayer{Heads: 1, FFN: 40, PreNorm: true, Activation: GELU, Dropout: 0.2, AttentionDropout: 0.6, Causal: true}), b: 2, t: 9},
	{name: "last token of a linear", c: Config{5, []Layer{Linear{Name: "a", Out: 32}, Positions{Name: "p", Count: 9}, LastToken{}, Linear{Name: "b", Out: 3}}}, b: 3, t: 7},
}

// encoder is a network of two encoder layers, 32 wide.
func encoder(l TransformerEncoderLayer) Config {
	return Config{5, slices.Concat([]Layer{Linear{Name: "in", Out: 32}, Positions{Name: "position", Count: 12}}, Encoder("encoder", 2, l), []Layer{Linear{Name: "out", Out: 3}})}
}

// decoder is a network of two decoder layers, with a memory of four tokens that an encoder layer makes.
func decoder(l TransformerDecoderLayer) Config {
	memory := []Layer{Linear{Name: "memory", Out: 32}, Positions{Name: "memory.position", Count: 4}, TransformerEncoderLayer{Name: "memory.encoder", Heads: 1, FFN: 24, PreNorm: l.PreNorm, Activation: GELU}}
	return Config{5, slices.Concat([]Layer{Memory{4, memory}, Linear{Name: "in", Out: 32}, Positions{Name: "position", Count: 12}}, Decoder("decoder", 2, l), []Layer{Linear{Name: "out", Out: 3}})}
}

// last is a network of which the last token alone predicts.
func last(c Config) Config {
	return Config{c.In, slices.Insert(slices.Clone(c.Layers), len(c.Layers)-1, Layer(LastToken{}))}
}

// flat is a network of which all tokens together predict.
func flat(c Config, tokens int) Config {
	return Config{c.In, slices.Insert(slices.Clone(c.Layers), len(c.Layers)-1, Layer(Flatten{tokens}))}
}

// bound is how far from float64 the prediction and the gradients may be, as a share of their length. Float32 rounds to 2^-24, in sums of up to 528.
// Bfloat16 rounds operands to 2^-9 of themselves, at about ten places one behind the other in the deepest of these networks, whose errors are
// independent; and where the input of a ReLU is within such an error of 0 it may let a gradient through or not: of one in 300 inputs, of which
// 2^-9*10*1.5 is the density, so that a gradient is off by sqrt(1/300), and by three times that in networks as small as these.
func bound(d tensor.DType, c Config) (prediction, gradients float64) {
	if d != tensor.BF16 {
		return 2e-5, 4e-5
	}
	for _, l := range c.Layers {
		e, ok := l.(TransformerEncoderLayer)
		if d, is := l.(TransformerDecoderLayer); is {
			e, ok = TransformerEncoderLayer(d), true
		}
		if ok && e.Activation != GELU {
			return 0.02, 0.18
		}
	}
	return 0.02, 0.04
}

// Training proof 1: each layer, and each way to put layers together, follows float64: prediction, loss and the gradients of all parameters.
func TestLayersFollowFloat64(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	for _, name := range []string{"cpu:exact", "cpu"} {
		for _, n := range networks {
			t.Run(name+"/"+n.name, func(t *testing.T) {
				d := open(t, name)
				opts := n.opts
				opts.Train = &Training{Schedule: Schedule{Rate: 1e-3}, Seed: 11}
				r := newRig(t, d, n.c, n.b, n.t, opts, n.pad)
				m, prediction, loss := r.wanted(1)
				most, slope := bound(working(d), n.c)
				p := r.run()
				assert.Less(t, apart(r.predicted(), prediction.V), most, "the prediction")
				require.Len(t, p.Losses, 1)
				assert.InEpsilon(t, loss, p.Losses[0], most, "the loss")
				for at, got := range r.gradients() {
					want := m.params[at].G
					if bias, ok := splitBias(at, want); ok {
						want, got = bias(want), bias(got)
					}
					assert.Less(t, apart(got, want), slope, at)
				}
			})
		}
	}
}

// splitBias leaves out the middle third of a bias of queries, keys and values: that of the keys changes no softmax, so its gradient is 0 but for
// rounding.
func splitBias(name string, g []float64) (func([]float64) []float64, bool) {
	n := len(g) / 3
	return func(g []float64) []float64 { return slices.Concat(g[:n], g[2*n:]) }, len(name) > 12 && name[len(name)-12:] == "in_proj_bias"
}

// A network says of each layer that cannot be what was given and what can be.
func TestNetworksThatCannotBe(t *testing.T) {
	d := open(t, "cpu")
	for want, layers := range map[string][]Layer{
		"heads that divide the width":                                     {Linear{Name: "a", Out: 64}, MultiHeadAttention{Name: "m", Heads: 3}, Linear{Name: "b", Out: 3}},
		"heads with 32 or 64 columns":                                     {Linear{Name: "a", Out: 64}, TransformerEncoderLayer{Name: "m", Heads: 4, FFN: 8}, Linear{Name: "b", Out: 3}},
		"a multiple of 16":                                                {Linear{Name: "a", Out: 20}, LayerNorm{Name: "n"}, Linear{Name: "b", Out: 3}},
		"a Linear before it":                                              {LayerNorm{Name: "n"}, Linear{Name: "b", Out: 3}},
		"at least 0 and below 1":                                          {Linear{Name: "a", Out: 20, Dropout: 1}, Linear{Name: "b", Out: 3}},
		"1 to 32768":                                                      {Linear{Name: "a"}},
		"their own names":                                                 {Linear{Name: "a", Out: 20}, Linear{Name: "a", Out: 20}},
		"a Linear without activation, dropout":                            {Linear{Name: "a", Out: 32}, LayerNorm{Name: "n"}},
		"one Linear behind it":                                            {Linear{Name: "a", Out: 32, Activation: ReLU}, LayerNorm{Name: "n"}, Linear{Name: "b", Out: 3}},
		"behind a Linear without an activation":                           {Linear{Name: "a", Out: 32, Activation: ReLU}, Positions{Name: "p", Count: 3}, Linear{Name: "b", Out: 3}},
		"as many columns and tokens":                                      {Linear{Name: "a", Out: 32}, Residual{[]Layer{Linear{Name: "b", Out: 48}}}, Linear{Name: "c", Out: 3}},
		"a Linear without an activation or anyth":                         {Linear{Name: "a", Out: 32}, Residual{}, Linear{Name: "c", Out: 3}},
		"a multiple of 16 for Flatten":                                    {Linear{Name: "a", Out: 20}, Flatten{3}, Linear{Name: "c", Out: 3}},
		"got 0, want 1 to 1024":                                           {Linear{Name: "a", Out: 32}, Flatten{}, Linear{Name: "c", Out: 3}},
		"token layers before it":                                          {LastToken{}, Linear{Name: "c", Out: 3}},
		"a LayerNorm between them":                                        {Linear{Name: "a", Out: 32, Dropout: 0.1}, LastToken{}, Linear{Name: "c", Out: 3}},
		"got a value that is added twice":                                 {Linear{Name: "a", Out: 32}, Residual{[]Layer{Residual{[]Layer{Linear{Name: "b", Out: 32}}}, Linear{Name: "c", Out: 32}}}, Linear{Name: "d", Out: 3}},
		"layers of this package":                                          {nil},
		"Cross: wrong option: got causal":                                 {Linear{Name: "a", Out: 32}, MultiHeadAttention{Name: "m", Heads: 1, Cross: true}, Linear{Name: "b", Out: 3}},
		"or no Memory of the same width":                                  {Memory{2, []Layer{Linear{Name: "m", Out: 64}}}, Linear{Name: "a", Out: 32}, TransformerDecoderLayer{Name: "d", Heads: 1, FFN: 8}, Linear{Name: "b", Out: 3}},
		"got causal attention, or no":                                     {Memory{2, []Layer{Linear{Name: "m", Out: 32}}}, Linear{Name: "a", Out: 32}, MultiHeadAttention{Name: "m", Heads: 1, Cross: true, Causal: true}, Linear{Name: "b", Out: 3}},
		"or behind a layer":                                               {Linear{Name: "a", Out: 32}, Memory{2, []Layer{Linear{Name: "m", Out: 32}}}, Linear{Name: "b", Out: 3}},
		"it as the first layer, with both":                                {Memory{2, nil}, Linear{Name: "b", Out: 3}},
		"as the first layer, with":                                        {Memory{2, []Layer{Memory{2, []Layer{Linear{Name: "m", Out: 32}}}}}, Linear{Name: "b", Out: 3}},
		"got Memory without tokens":                                       {Memory{0, []Layer{Linear{Name: "m", Out: 32}}}, Linear{Name: "b", Out: 3}},
		"after another one, or in Memory":                                 {Memory{2, []Layer{Linear{Name: "m", Out: 32}, LastToken{}}}, Linear{Name: "b", Out: 3}},
		"got a layer that only a residual uses":                           {Memory{2, []Layer{Linear{Name: "m", Out: 32}}}, Linear{Name: "b", Out: 3}},
		"ReLU or GELU":                                                    {Linear{Name: "a", Out: 32, Activation: 9}},
		"one or more, the last a Linear":                                  {},
		"the order of layers: wrong option: got the network's last layer": {Linear{Name: "a", Out: 32, Activation: ReLU}},
		"a layer with the parameter weight, want a name":                  {Linear{Out: 3}},
	} {
		m, err := NewModel(t.Context(), d, Config{5, layers}, 1)
		var e *Error
		if assert.ErrorAs(t, err, &e, want) {
			assert.Contains(t, err.Error(), want)
		}
		assert.Nil(t, m)
	}
	for _, in := range []int{0, -1, 1 << 20} {
		_, err := NewModel(t.Context(), d, Config{in, []Layer{Linear{Name: "a", Out: 3}}}, 1)
		assert.ErrorContains(t, err, fmt.Sprintf("nn.NewModel: In: wrong option: got %d", in))
	}
}
