package nn

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/robocache/robocache/ops/backend"
)

// network is the layers as products, norms and attention over values, in the order of their computation. It does not depend on a
// batch.
type network struct {
	parameters []*parameter
	parts      []*parameter // rows of parameters
	values     []*value
	ids        int // rows in the Embedding; 0 without one
	sites      uint32

	memory *value // the result of Memory, or nil
	first  *value // its input: the first tokens in each row
	tokens int    // the number of tokens in a row of the memory
}

// parameter is a weight [rows, columns], or a vector, with columns 0, at an offset in the arena.
type parameter struct {
	name          string
	rows, columns int
	init          initial
	offset        int
	whole         *parameter // for a part of a parameter: the whole, and the part's first row
	first         int
}

// padded returns the number of rows and columns in the arena.
func (p *parameter) padded() (rows, columns int) { return pad(p.rows), pad(p.columns) }

// size returns the number of elements in the arena.
func (p *parameter) size() int {
	rows, columns := p.padded()
	return rows * max(columns, 1)
}

func pad(n int) int { return (n + 15) &^ 15 }

// initial returns the next element of a parameter.
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

// value is a matrix of activations. It has a row for each token. After LastToken or Flatten it has a row for each batch row.
type value struct {
	layer string // the layer that computes it
	width int
	rows
	flat int // tokens side by side after Flatten; 0 after LastToken
	from any // origin: a *product, *norm or *attention; a *value after LastToken or Flatten; nil for the input

	// The uses of the value.
	products  []*product
	residuals []*product
	norms     []*norm
	attention *attention
	cut       *value
}

// rows are the rows of a value: a row for each batch row, for each of the memory's tokens, or for each token.
type rows uint8

const (
	ofTokens rows = iota
	ofMemory
	ofBatch
)

func (v *value) used() bool {
	return len(v.products)+len(v.residuals)+len(v.norms) > 0 || v.attention != nil || v.cut != nil
}

// product is in·weightᵀ and the operations after it, up to a norm.
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

// attention is attention with the queries in the first columns of in. The keys and values are in the next columns of in, or alone in
// memory, side by side.
type attention struct {
	in, memory, out *value
	heads           int
	causal          bool
	dropout         float32
	site            uint32
}

func (n *network) value(layer string, width int, of rows, from any) *value {
	v := &value{layer: layer, width: width, rows: of, from: from}
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

// part returns some rows of a parameter. Their number is a multiple of 16.
func (n *network) part(p *parameter, first, rows int) *parameter {
	q := &parameter{name: p.name, rows: rows, columns: p.columns, whole: p, first: first}
	n.parts = append(n.parts, q)
	return q
}

// site returns the number of a new place with dropout.
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
	p.out = n.value(layer, p.weight.rows, p.in.rows, p)
	return p.out
}

// rests sets the value that is added to the product.
func (p *product) rests(on *value) {
	p.residual = on
	on.residuals = append(on.residuals, p)
}

func (n *network) norm(layer string, x *value, eps float32) *value {
	o := &norm{in: x, eps: eps}
	o.gamma = n.parameter(layer+".weight", constant(1), x.width)
	o.beta = n.parameter(layer+".bias", constant(0), x.width)
	x.norms = append(x.norms, o)
	o.out = n.value(layer, x.width, x.rows, o)
	return o.out
}

func (n *network) attention(layer string, width int, a *attention) *value {
	a.in.attention = a
	if a.memory != nil {
		a.memory.attention = a
	}
	a.site = n.site()
	a.out = n.value(layer, width, a.in.rows, a)
	return a.out
}

// layers adds layers after a value and returns the last one's result.
func (n *network) layers(list []Layer, x *value) (*value, error) {
	for _, l := range list {
		if l == nil {
			return nil, option("", "Layers", "nil", "layers of this package")
		}
		var err error
		if x, err = l.add(n, x); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// cut returns the last token of x, or the given number of tokens side by side.
func (n *network) cut(x *value, tokens int) *value {
	v := n.value(x.layer, x.width*max(tokens, 1), ofBatch, x)
	v.flat, x.cut = tokens, v
	return v
}

// check returns an *Error if a layer cannot be computed.
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

// check returns an *Error if the value's gradient would need more than one launch.
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

// finite reports whether a setting is neither NaN nor infinite.
func finite(v float32) bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }
