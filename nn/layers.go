package nn

import (
	"fmt"
	"math"

	"github.com/robocache/robocache/ops/backend"
)

// Layer is a part of a network: one of the types of this package that have the method.
type Layer interface {
	// add adds the layer behind a value and returns what it gives.
	add(n *network, x *value) (*value, error)
}

// Activation is a function of each element.
type Activation = backend.Activation

// The activations.
const (
	NoActivation = backend.ActivationNone
	ReLU         = backend.ActivationReLU
	GELU         = backend.ActivationGELU
)

// Linear is x·Wᵀ + b, then an activation and dropout: torch.nn.Linear, parameters Name.weight [Out, in] and Name.bias [Out]. One with an activation
// is followed by another Linear.
type Linear struct {
	Name       string
	Out        int
	NoBias     bool
	Zero       bool // weight and bias begin as 0: of a network that is to begin with its mean
	Activation Activation
	Dropout    float32 // the share of elements left out in training, at least 0 and below 1
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

// LayerNorm is (x-mean)/sqrt(variance+eps)*weight+bias of each token: torch.nn.LayerNorm, parameters Name.weight and Name.bias. Its width is a
// multiple of 16. Eps 0 is 1e-5.
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

// Positions adds to each token a row of a table that is learned: parameter Name.weight [Count, width], as torch.nn.Embedding has it, drawn from a
// normal distribution. It follows a Linear.
type Positions struct {
	Name  string
	Count int     // the most tokens
	Std   float64 // of the distribution; 1 unless given, as torch has it
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

// Embedding adds to each token the row of a learned table that StepOptions.IDs names for its batch row: which task, which robot. It is a parameter
// like that of Positions.
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

// tabled returns the product to whose result a row of a table is added.
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

// MultiHeadAttention is the attention of tokens to each other: torch.nn.MultiheadAttention with batch_first, parameters Name.in_proj_weight
// [3*width, width], Name.in_proj_bias, Name.out_proj.weight and Name.out_proj.bias. The width is 32 or 64 times Heads.
type MultiHeadAttention struct {
	Name    string
	Heads   int
	Causal  bool    // a token sees those up to itself
	Dropout float32 // of the probabilities
}

func (l MultiHeadAttention) add(n *network, x *value) (*value, error) {
	return attend(n, x, nil, l, 0)
}

// attend adds attention whose result has dropout and a residual.
func attend(n *network, x, residual *value, l MultiHeadAttention, dropout float32) (*value, error) {
	switch d := x.width; {
	case l.Heads < 1 || d%l.Heads != 0:
		return nil, option(l.Name, "Heads", fmt.Sprintf("%d for a width of %d", l.Heads, d), "heads that divide the width")
	case d/l.Heads != 32 && d/l.Heads != 64:
		return nil, option(l.Name, "Heads", fmt.Sprintf("%d of %d columns each", l.Heads, d/l.Heads), "heads with 32 or 64 columns")
	}
	if err := chance(l.Name, l.Dropout); err != nil {
		return nil, err
	}
	d := x.width
	in := &product{in: x}
	in.weight = n.parameter(l.Name+".in_proj_weight", uniform(math.Sqrt(6/float64(4*d))), 3*d, d) // xavier
	in.bias = n.parameter(l.Name+".in_proj_bias", constant(0), 3*d)
	o := n.attention(l.Name, &attention{in: n.product(l.Name+".in_proj", in), heads: l.Heads, causal: l.Causal, dropout: l.Dropout})
	out := &product{in: o, residual: residual, dropout: dropout}
	out.weight = n.parameter(l.Name+".out_proj.weight", uniform(1/math.Sqrt(float64(d))), d, d)
	out.bias = n.parameter(l.Name+".out_proj.bias", constant(0), d)
	return n.product(l.Name+".out_proj", out), nil
}

// TransformerEncoderLayer is torch.nn.TransformerEncoderLayer with batch_first, with its parameters' names: post-norm and ReLU unless said otherwise,
// and as much dropout at its four places.
type TransformerEncoderLayer struct {
	Name       string
	Heads, FFN int
	PreNorm    bool       // norm_first
	Activation Activation // ReLU or GELU; ReLU unless given
	Dropout    float32    // none unless given, where torch has 0.1
	Causal     bool
	Eps        float32 // of the LayerNorms; 1e-5 unless given
}

func (l TransformerEncoderLayer) add(n *network, x *value) (y *value, err error) {
	name := func(s string) string { return dotted(l.Name, s) }
	norm := func(s string, x *value) (*value, error) { return LayerNorm{name(s), l.Eps}.add(n, x) }
	attn := MultiHeadAttention{name("self_attn"), l.Heads, l.Causal, l.Dropout}
	if l.Activation == NoActivation {
		l.Activation = ReLU
	}
	h := x
	if l.PreNorm {
		if h, err = norm("norm1", x); err != nil {
			return nil, err
		}
	}
	if y, err = attend(n, h, x, attn, l.Dropout); err != nil {
		return nil, err
	}
	if h, err = norm([2]string{"norm1", "norm2"}[index(l.PreNorm)], y); err != nil {
		return nil, err
	}
	x = h
	if l.PreNorm {
		x = y
	}
	if h, err = (Linear{Name: name("linear1"), Out: l.FFN, Activation: l.Activation, Dropout: l.Dropout}).add(n, h); err != nil {
		return nil, err
	}
	if y, err = (Linear{Name: name("linear2"), Out: x.width, Dropout: l.Dropout}).add(n, h); err != nil {
		return nil, err
	}
	y.from.(*product).rests(x)
	if l.PreNorm {
		return y, nil
	}
	return norm("norm2", y)
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Encoder is a stack of encoder layers, named as torch.nn.TransformerEncoder names its own: Name.layers.0 and so on. A stack of pre-norm layers is
// followed by a LayerNorm, Name.norm, as it is there by custom.
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

func dotted(a, b string) string {
	if a == "" {
		return b
	}
	return a + "." + b
}

// Residual is x + f(x), where f is layers of which the last is a Linear without an activation, or attention, as wide as x.
type Residual struct {
	Layers []Layer
}

func (l Residual) add(n *network, x *value) (*value, error) {
	y := x
	for _, f := range l.Layers {
		var err error
		if y, err = f.add(n, y); err != nil {
			return nil, err
		}
	}
	p, ok := y.from.(*product)
	switch {
	case !ok || y == x || p.activation != NoActivation || p.residual != nil || p.position != nil || p.embedding != nil:
		return nil, option(y.layer, orderOfLayers, "the last layer of a Residual", "a Linear without an activation or anything added, or attention")
	case y.width != x.width || y.last != x.last:
		return nil, option(y.layer, "width", fmt.Sprintf("%d columns to add to %d", y.width, x.width), "as many columns and tokens")
	}
	p.rests(x)
	return y, nil
}

// LastToken leaves only the last token of each row of the batch to the layers behind it, which are Linear.
type LastToken struct{}

func (LastToken) add(n *network, x *value) (*value, error) {
	if x.last || x.from == nil {
		return nil, option(x.layer, orderOfLayers, "LastToken as the first layer, or after another one", "token layers before it")
	}
	return n.cut(x, 0), nil
}

// Flatten gives the layers behind it, which are Linear, all tokens of a row of the batch side by side: so many, which all batches have. Their width
// is a multiple of 16.
type Flatten struct{ Tokens int }

func (l Flatten) add(n *network, x *value) (*value, error) {
	switch {
	case x.last || x.from == nil:
		return nil, option(x.layer, orderOfLayers, "Flatten as the first layer, or after another one", "token layers before it")
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

// maxWidth is the greatest width of a layer: its matrices' elements can be counted in 32 bits.
const maxWidth = 1 << 15
