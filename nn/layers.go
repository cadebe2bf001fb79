package nn

import (
	"cmp"
	"fmt"
	"math"

	"github.com/robocache/robocache/ops/backend"
)

// Layer is a part of a network. Only types in this package implement it, for example [Linear].
type Layer interface {
	// add adds the layer after a value and returns the layer's result.
	add(n *network, x *value) (*value, error)
}

// Activation is a function that a layer applies to each element.
type Activation = backend.Activation

// The activations: none, max(x, 0), and x·Φ(x) with the normal distribution's Φ.
const (
	NoActivation = backend.ActivationNone
	ReLU         = backend.ActivationReLU
	GELU         = backend.ActivationGELU
)

// Linear is x·Wᵀ + b, then an activation and dropout. It is torch.nn.Linear, with the parameters Name.weight [Out, in] and
// Name.bias [Out]. If it has an activation, another Linear must follow.
type Linear struct {
	Name   string
	Out    int
	NoBias bool
	// Zero initialises weight and bias with 0, so that an untrained network predicts 0, which is the mean of normalised targets.
	Zero       bool
	Activation Activation
	Dropout    float32 // the fraction of elements that training sets to 0, at least 0 and below 1
}

func (l Linear) add(n *network, x *value) (*value, error) {
	if err := widths(l.Name, "Out", l.Out); err != nil {
		return nil, err
	}
	if err := chance(l.Name, l.Dropout); err != nil {
		return nil, err
	}
	if l.Activation > GELU {
		return nil, option(l.Name, "Activation", l.Activation, "NoActivation, ReLU or GELU")
	}
	init := uniform(1 / math.Sqrt(float64(x.width)))
	if l.Zero {
		init = constant(0)
	}
	p := &product{in: x, activation: l.Activation, dropout: l.Dropout}
	p.weight = n.parameter(l.Name+".weight", init, l.Out, x.width)
	if !l.NoBias {
		p.bias = n.parameter(l.Name+".bias", init, l.Out)
	}
	return n.product(l.Name, p), nil
}

// LayerNorm is (x-mean)/sqrt(variance+eps)*weight+bias for each token. It is torch.nn.LayerNorm, with the parameters Name.weight
// and Name.bias. Its width must be a multiple of 16. If Eps is 0, eps is 1e-5.
type LayerNorm struct {
	Name string
	Eps  float32
}

func (l LayerNorm) add(n *network, x *value) (*value, error) {
	eps := l.Eps
	switch {
	case x.from == nil:
		return nil, option(l.Name, orderOfLayers, "the network's first layer", "a Linear before it")
	case x.width%16 != 0:
		return nil, option(l.Name, "width", x.width, "a multiple of 16")
	case !(eps >= 0 && finite(eps)):
		return nil, option(l.Name, "Eps", eps, "0 or more")
	case eps == 0:
		eps = 1e-5
	}
	return n.norm(l.Name, x, eps), nil
}

// Positions adds a trained vector to each token, by the token's position in its row. The parameter is Name.weight [Count, width],
// as in torch.nn.Embedding, initialised from a normal distribution. It must follow a Linear without an activation.
type Positions struct {
	Name  string
	Count int     // the largest number of tokens
	Std   float64 // the standard deviation of the initial values; torch's is 1
}

func (l Positions) add(n *network, x *value) (*value, error) {
	p, err := tabled(l.Name, l.Count, l.Std, x)
	if err != nil {
		return nil, err
	}
	if p.position != nil {
		return nil, option(l.Name, orderOfLayers, "a second position table", "one")
	}
	p.position = n.parameter(l.Name+".weight", normal(l.Std), l.Count, x.width)
	return x, nil
}

// Embedding adds a trained vector to each token, by the token's row in the batch: row StepOptions.IDs[b] of a table. Example: an
// ID for the task or the robot. Its parameter is like that of [Positions].
type Embedding struct {
	Name  string
	Count int
	Std   float64
}

func (l Embedding) add(n *network, x *value) (*value, error) {
	p, err := tabled(l.Name, l.Count, l.Std, x)
	if err != nil {
		return nil, err
	}
	if p.embedding != nil || n.ids > 0 {
		return nil, option(l.Name, orderOfLayers, "a second Embedding", "one")
	}
	p.embedding, n.ids = n.parameter(l.Name+".weight", normal(l.Std), l.Count, x.width), l.Count
	return x, nil
}

// tabled returns the product with a result to which a table's rows are added.
func tabled(name string, count int, std float64, x *value) (*product, error) {
	p, ok := x.from.(*product)
	switch {
	case !ok || p.activation != NoActivation || x.used() || p.residual != nil:
		return nil, option(name, orderOfLayers, "behind "+x.layer, "behind a Linear without an activation")
	case x.width%16 != 0:
		return nil, option(name, "width", x.width, "a multiple of 16")
	case !(std >= 0) || math.IsInf(std, 0):
		return nil, option(name, "Std", std, "0 or more")
	}
	return p, widths(name, "Count", count)
}

// MultiHeadAttention is attention between the tokens of a row. It is torch.nn.MultiheadAttention with batch_first, with the
// parameters Name.in_proj_weight [3*width, width], Name.in_proj_bias, Name.out_proj.weight and Name.out_proj.bias. The width must
// be 32 or 64 times Heads.
type MultiHeadAttention struct {
	Name    string
	Heads   int
	Causal  bool    // a token attends only to itself and to earlier tokens
	Dropout float32 // the fraction of attention probabilities that training sets to 0
	Cross   bool    // the keys and values are of the tokens in [Memory], and Causal must be false
}

func (l MultiHeadAttention) add(n *network, x *value) (*value, error) { return l.attend(n, x, 0) }

// attend adds attention, with dropout of its result.
func (l MultiHeadAttention) attend(n *network, x *value, dropout float32) (*value, error) {
	switch d := x.width; {
	case l.Cross && (l.Causal || n.memory == nil || n.memory.width != d):
		return nil, option(l.Name, "Cross", "causal attention, or no Memory of the same width before it", "neither")
	case l.Heads < 1 || d%l.Heads != 0:
		return nil, option(l.Name, "Heads", fmt.Sprintf("%d for a width of %d", l.Heads, d), "heads that divide the width")
	case d/l.Heads != 32 && d/l.Heads != 64:
		return nil, option(l.Name, "Heads", fmt.Sprintf("%d of %d columns each", l.Heads, d/l.Heads), "heads with 32 or 64 columns")
	}
	if err := chance(l.Name, l.Dropout); err != nil {
		return nil, err
	}
	d := x.width
	weight := n.parameter(l.Name+".in_proj_weight", uniform(math.Sqrt(6/float64(4*d))), 3*d, d) // xavier
	bias := n.parameter(l.Name+".in_proj_bias", constant(0), 3*d)
	in := func(x *value, from, to int) *value {
		return n.product(l.Name+".in_proj", &product{in: x, weight: n.part(weight, from*d, (to-from)*d), bias: n.part(bias, from*d, (to-from)*d)})
	}
	a := &attention{heads: l.Heads, causal: l.Causal, dropout: l.Dropout}
	if l.Cross {
		a.memory, a.in = in(n.memory, 1, 3), in(x, 0, 1)
	} else {
		a.in = in(x, 0, 3)
	}
	out := &product{in: n.attention(l.Name, d, a), dropout: dropout}
	out.weight = n.parameter(l.Name+".out_proj.weight", uniform(1/math.Sqrt(float64(d))), d, d)
	out.bias = n.parameter(l.Name+".out_proj.bias", constant(0), d)
	return n.product(l.Name+".out_proj", out), nil
}

// TransformerEncoderLayer is torch.nn.TransformerEncoderLayer with batch_first and torch's parameter names. By default it applies
// each norm after its sublayer and uses ReLU. By default the same dropout applies at all four places, as in torch.
type TransformerEncoderLayer struct {
	Name       string
	Heads, FFN int
	PreNorm    bool       // norms come before their sublayers: torch's norm_first
	Activation Activation // ReLU or GELU; by default ReLU
	Dropout    float32    // by default 0; torch's default is 0.1
	// AttentionDropout is the dropout of the attention probabilities; 0 is Dropout.
	AttentionDropout float32
	Causal           bool
	Eps              float32 // the LayerNorms' eps; 0 is 1e-5
}

func (l TransformerEncoderLayer) add(n *network, x *value) (*value, error) {
	return l.sublayers(n, x, false)
}

// sublayers adds attention, also to the memory if cross is set, and two Linear layers, each with its norm and residual.
func (l TransformerEncoderLayer) sublayers(n *network, x *value, cross bool) (_ *value, err error) {
	name := func(s string) string { return dotted(l.Name, s) }
	attend := func(s string, causal, cross bool) func(h *value) (*value, error) {
		a := MultiHeadAttention{name(s), l.Heads, causal, cmp.Or(l.AttentionDropout, l.Dropout), cross}
		return func(h *value) (*value, error) { return a.attend(n, h, l.Dropout) }
	}
	if l.Activation == NoActivation {
		l.Activation = ReLU
	}
	list := []func(h *value) (*value, error){attend("self_attn", l.Causal, false)}
	if cross {
		list = append(list, attend("multihead_attn", false, true))
	}
	ffn := []Layer{
		Linear{Name: name("linear1"), Out: l.FFN, Activation: l.Activation, Dropout: l.Dropout}, Linear{Name: name("linear2"), Out: x.width, Dropout: l.Dropout},
	}
	list = append(list, func(h *value) (*value, error) { return n.layers(ffn, h) })
	for i, add := range list {
		norm, h, y := LayerNorm{name(fmt.Sprint("norm", i+1)), l.Eps}, x, x
		if l.PreNorm {
			if h, err = norm.add(n, x); err != nil {
				return nil, err
			}
		}
		if y, err = add(h); err != nil {
			return nil, err
		}
		y.from.(*product).rests(x)
		if x = y; !l.PreNorm {
			if x, err = norm.add(n, y); err != nil {
				return nil, err
			}
		}
	}
	return x, nil
}

// TransformerDecoderLayer is torch.nn.TransformerDecoderLayer with batch_first and torch's parameter names. It has attention to the
// tokens in [Memory] between a TransformerEncoderLayer's two parts, and the same fields.
type TransformerDecoderLayer TransformerEncoderLayer

func (l TransformerDecoderLayer) add(n *network, x *value) (*value, error) {
	return TransformerEncoderLayer(l).sublayers(n, x, true)
}

// Memory gives a network a memory for cross-attention: the result of Layers on the first Tokens tokens in each row. It is the
// network's first layer. The layers after it have all tokens, but their self-attention does not see the first ones. The prediction for
// these has no meaning, so their targets should have weight 0, as with StepOptions.Denoise. StepOptions.Pad must be nil.
// Example: Memory{Tokens: 2, Layers: []Layer{Linear{Name: "memory", Out: 256}}}.
type Memory struct {
	Tokens int
	Layers []Layer
}

func (l Memory) add(n *network, x *value) (_ *value, err error) {
	if x.from != nil || n.tokens > 0 || l.Tokens < 1 || len(l.Layers) == 0 {
		return nil, option(x.layer, orderOfLayers, "Memory without tokens or layers, or behind a layer", "it as the first layer, with both")
	}
	n.tokens, n.first = l.Tokens, n.value(x.layer, x.width, ofMemory, nil)
	n.memory, err = n.layers(l.Layers, n.first)
	return x, err
}

// Encoder returns count encoder layers with the names that torch.nn.TransformerEncoder uses: Name.layers.0 and so on. If PreNorm
// is set, a LayerNorm named Name.norm follows them, as is usual in torch.
func Encoder(name string, count int, l TransformerEncoderLayer) []Layer {
	var list []Layer
	for i := range count {
		l.Name = dotted(name, fmt.Sprintf("layers.%d", i))
		list = append(list, l)
	}
	if l.PreNorm {
		list = append(list, LayerNorm{Name: dotted(name, "norm"), Eps: l.Eps})
	}
	return list
}

// Decoder returns count decoder layers with the names that torch.nn.TransformerDecoder uses, and the norm that [Encoder] adds.
func Decoder(name string, count int, l TransformerDecoderLayer) []Layer {
	list := Encoder(name, count, TransformerEncoderLayer(l))
	for i := range count {
		list[i] = TransformerDecoderLayer(list[i].(TransformerEncoderLayer))
	}
	return list
}

func dotted(a, b string) string {
	if a == "" {
		return b
	}
	return a + "." + b
}

// Residual is x + f(x), where f is Layers. The last of them is attention or a Linear without an activation, and must be as wide
// as x.
type Residual struct {
	Layers []Layer
}

func (l Residual) add(n *network, x *value) (*value, error) {
	y, err := n.layers(l.Layers, x)
	if err != nil {
		return nil, err
	}
	p, ok := y.from.(*product)
	switch {
	case !ok || y == x || p.activation != NoActivation || p.residual != nil || p.position != nil || p.embedding != nil:
		return nil, option(y.layer, orderOfLayers, "the last layer of a Residual", "a Linear without an activation or anything added, or attention")
	case y.width != x.width || y.rows != x.rows:
		return nil, option(y.layer, "width", fmt.Sprintf("%d columns to add to %d", y.width, x.width), "as many columns and tokens")
	}
	p.rests(x)
	return y, nil
}

// LastToken passes only the last token of each row in the batch to the following layers, which must be Linear.
type LastToken struct{}

func (LastToken) add(n *network, x *value) (*value, error) {
	if x.rows != ofTokens || x.from == nil {
		return nil, option(x.layer, orderOfLayers, "LastToken as the first layer, after another one, or in Memory", "token layers before it")
	}
	return n.cut(x, 0), nil
}

// Flatten passes all tokens of a row in the batch side by side, as one vector, to the following layers, which must be Linear.
// Every batch must have exactly Tokens tokens in a row. The width of a token must be a multiple of 16.
type Flatten struct{ Tokens int }

func (l Flatten) add(n *network, x *value) (*value, error) {
	switch {
	case x.rows != ofTokens || x.from == nil:
		return nil, option(x.layer, orderOfLayers, "Flatten as the first layer, after another one, or in Memory", "token layers before it")
	case x.width%16 != 0:
		return nil, option(x.layer, "width", x.width, "a multiple of 16 for Flatten")
	case l.Tokens < 1 || l.Tokens > maxWidth/x.width:
		return nil, option(x.layer, "Tokens", l.Tokens, fmt.Sprintf("1 to %d", maxWidth/x.width))
	}
	return n.cut(x, l.Tokens), nil
}

func widths(name, arg string, got int) error {
	if got < 1 || got > maxWidth {
		return option(name, arg, got, fmt.Sprintf("1 to %d", maxWidth))
	}
	return nil
}

func chance(name string, p float32) error {
	if !(p >= 0 && p < 1) {
		return option(name, "Dropout", p, "at least 0 and below 1")
	}
	return nil
}

// maxWidth limits the width of a layer, so that 32 bits can count a matrix's elements.
const maxWidth = 1 << 15
