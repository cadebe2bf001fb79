package nn

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/robocache/robocache/ops/backend"
)

// network is layers taken apart into products, norms and attention over values, in the order in which they are computed. It knows no batch.
type network struct {
	parameters []*parameter
	values     []*value
	ids        int // rows of the Embedding; 0 without one
	sites      uint32
}

// parameter is a weight [rows, columns], or a vector, for which columns is 0, at an offset of the arena.
type parameter struct {
	name          string
	rows, columns int
	init          initial
	offset        int
}

// padded is how many rows and columns it has in the arena.
func (p *parameter) padded() (rows, columns int) { return pad(p.rows), pad(p.columns) }

// size is how many elements it takes there.
func (p *parameter) size() int {
	rows, columns := p.padded()
	return rows * max(columns, 1)
}

func pad(n int) int { return (n + 15) &^ 15 }

// initial gives the elements of a parameter, one after the other.
type initial func(r *rand.Rand) float32

func uniform(bound float64) initial {
	return func(r *rand.Rand) float32 { return float32((2*r.Float64() - 1) * bound) }
}

func normal(std float64) initial {
	if std == 0 {
		std = 1
	}
	return func(r *rand.Rand) float32 { return float32(r.NormFloat64() * std) }
}

func constant(v float32) initial { return func(*rand.Rand) float32 { return v } }

// value is a matrix of activations, a row a token; or a row a batch row if it is that of the last token, or of all tokens side by side.
type value struct {
	layer string // of the layer that gives it
	width int
	last  bool
	flat  int // tokens side by side; 0 if it is that of the last one
	from  any // *product, *norm, *attention, *value of which it is the last token, or all of them, or nil: the input

	// Who uses it.
	products  []*product
	residuals []*product
	norms     []*norm
	attention *attention
	cut       *value
}

func (v *value) used() bool {
	return len(v.products)+len(v.residuals)+len(v.norms) > 0 || v.attention != nil || v.cut != nil
}

// product is in·weightᵀ and what follows it up to a norm.
type product struct {
	in, out             *value
	weight, bias        *parameter
	activation          backend.Activation
	dropout             float32
	site                uint32
	residual            *value
	position, embedding *parameter
}

// norm is a LayerNorm.
type norm struct {
	in, out     *value
	gamma, beta *parameter
	eps         float32
}

// attention is that of in, which has queries, keys and values side by side.
type attention struct {
	in, out *value
	heads   int
	causal  bool
	dropout float32
	site    uint32
}

func (n *network) value(layer string, width int, last bool, from any) *value {
	v := &value{layer: layer, width: width, last: last, from: from}
	n.values = append(n.values, v)
	return v
}

func (n *network) parameter(name string, init initial, shape ...int) *parameter {
	p := &parameter{name: name, rows: shape[0], init: init}
	if len(shape) > 1 {
		p.columns = shape[1]
	}
	n.parameters = append(n.parameters, p)
	return p
}

// site is a place of dropout, of which each has its own number.
func (n *network) site() uint32 {
	n.sites++
	return n.sites - 1
}

func (n *network) product(layer string, p *product) *value {
	p.in.products = append(p.in.products, p)
	if p.residual != nil {
		p.rests(p.residual)
	}
	p.site = n.site()
	p.out = n.value(layer, p.weight.rows, p.in.last, p)
	return p.out
}

// rests says what is added to the product.
func (p *product) rests(on *value) {
	p.residual = on
	on.residuals = append(on.residuals, p)
}

func (n *network) norm(layer string, x *value, eps float32) *value {
	o := &norm{in: x, eps: eps}
	o.gamma = n.parameter(layer+".weight", constant(1), x.width)
	o.beta = n.parameter(layer+".bias", constant(0), x.width)
	x.norms = append(x.norms, o)
	o.out = n.value(layer, x.width, x.last, o)
	return o.out
}

func (n *network) attention(layer string, a *attention) *value {
	a.in.attention = a
	a.site = n.site()
	a.out = n.value(layer, a.in.width/3, a.in.last, a)
	return a.out
}

// cut is the last token of x, or so many tokens side by side.
func (n *network) cut(x *value, tokens int) *value {
	v := n.value(x.layer, x.width*max(tokens, 1), true, x)
	v.flat, x.cut = tokens, v
	return v
}

// check finds what the jobs cannot do, layer by layer.
func (n *network) check() error {
	names := map[string]bool{}
	for _, p := range n.parameters {
		if strings.HasPrefix(p.name, ".") {
			return option("", "Name", "none for a layer with the parameter "+p.name[1:], "a name: its parameters have it in files")
		}
		if names[p.name] {
			return option(p.name, "Name", "a name that another parameter has", "their own names")
		}
		names[p.name] = true
	}
	end := n.values[len(n.values)-1]
	p, ok := end.from.(*product)
	if !ok || end.used() || p.activation != NoActivation || p.dropout != 0 || p.residual != nil || p.position != nil || p.embedding != nil {
		return option(end.layer, orderOfLayers, "the network's last layer", "a Linear without activation, dropout or anything added")
	}
	for _, v := range n.values[:len(n.values)-1] {
		if err := v.check(); err != nil {
			return err
		}
	}
	return nil
}

// check finds uses of a value of which the gradient would not be one launch's.
func (v *value) check() error {
	fail := func(got, want string) error { return option(v.layer, orderOfLayers, got, want) }
	p, _ := v.from.(*product)
	_, attended := v.from.(*attention)
	_, normed := v.from.(*norm)
	alone := len(v.residuals)+len(v.norms) == 0 && v.cut == nil && v.attention == nil
	switch {
	case v.from == nil && (!alone || len(v.products) == 0):
		return fail("the input, used by another layer than a Linear", "a Linear first")
	case p != nil && p.activation != NoActivation && (!alone || len(v.products) != 1 || p.residual != nil || p.position != nil || p.embedding != nil):
		return fail("a Linear with an activation", "one Linear behind it, and nothing added to it")
	case attended && (!alone || len(v.products) != 1):
		return fail("attention", "its out_proj behind it")
	case v.attention != nil:
		return nil
	case len(v.norms) > 0 && (len(v.norms) > 1 || len(v.products) > 0 || v.cut != nil || len(v.residuals) > 1):
		return fail("a value that a LayerNorm takes and others do too", "a residual at most beside it")
	case v.cut != nil && (len(v.products)+len(v.residuals) > 0 || len(v.cut.products) != 1 || !onlyProducts(v.cut)):
		return fail("LastToken or Flatten", "a Linear behind it, and no other use of the tokens")
	case v.cut != nil && v.cut.flat == 0 && !normed && p != nil && p.dropout > 0:
		return fail("LastToken behind a Linear with dropout", "a LayerNorm between them")
	case len(v.products) == 0 && len(v.norms) == 0 && v.cut == nil:
		return fail("a layer that only a residual uses", "a Linear or a LayerNorm behind it")
	case len(v.residuals) > 1:
		return fail("a value that is added twice", "once")
	}
	return nil
}

func onlyProducts(v *value) bool {
	return len(v.residuals)+len(v.norms) == 0 && v.cut == nil && v.attention == nil
}

// finite reports whether a setting is a number that can be computed with.
func finite(v float32) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }
