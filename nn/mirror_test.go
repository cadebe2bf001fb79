package nn

import (
	"cmp"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/fp32"
	"github.com/robocache/robocache/internal/test/reference"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// mirror computes a network in float64, layer by layer, from the layers' own description.
type mirror struct {
	reference.Tape
	params  map[string]*reference.Matrix
	b, t    int
	ids     []int
	pad     func(b, k int) bool
	dropped func(site uint32, rate float32) func(i int) float64 // nil without dropout
	site    uint32

	memory *reference.Matrix
}

func (m *mirror) drop(x *reference.Matrix, rate float32, site uint32) *reference.Matrix {
	if m.dropped == nil || rate == 0 {
		return x
	}
	factor, n := m.dropped(site, rate), x.Columns
	return m.Times(x, func(i int) float64 { return factor(i/n*pad(n) + i%n) })
}

// next is the number of a place, in the order in which package nn counts them.
func (m *mirror) next() uint32 {
	m.site++
	return m.site - 1
}

func (m *mirror) linear(x *reference.Matrix, name string, a Activation, rate float32) *reference.Matrix {
	y := m.Linear(x, m.params[name+".weight"], m.params[name+".bias"])
	switch a {
	case ReLU:
		y = m.ReLU(y)
	case GELU:
		y = m.GELU(y)
	}
	return m.drop(y, rate, m.next())
}

func (m *mirror) norm(x *reference.Matrix, name string, eps float32) *reference.Matrix {
	if eps == 0 {
		eps = 1e-5
	}
	return m.Norm(x, m.params[name+".weight"], m.params[name+".bias"], float64(eps))
}

func (m *mirror) attend(x *reference.Matrix, l MultiHeadAttention, rate float32) *reference.Matrix {
	in := func(x *reference.Matrix, from, to int) *reference.Matrix {
		w, b := m.params[l.Name+".in_proj_weight"], m.params[l.Name+".in_proj_bias"]
		m.next()
		return m.Linear(x, rowsOf(w, from, to), rowsOf(b, from, to))
	}
	h := reference.Heads{B: m.b, Heads: l.Heads, Causal: l.Causal, Pad: m.pad}
	var q, kv *reference.Matrix
	if l.Cross {
		kv = in(m.memory, 1, 3)
		q, h.Pad = in(x, 0, 1), nil
	} else {
		q = in(x, 0, 3)
		kv = q
	}
	if site := m.next(); m.dropped != nil && l.Dropout > 0 {
		h.Factor = m.dropped(site, l.Dropout)
	}
	return m.linear(m.Attention(q, kv, h), l.Name+".out_proj", NoActivation, rate)
}

// rowsOf is some thirds of a matrix with three parts, or of a vector.
func rowsOf(m *reference.Matrix, from, to int) *reference.Matrix {
	n := len(m.V) / 3
	part := reference.Of(m.Rows/3*(to-from), m.Columns, m.V[from*n:to*n])
	if m.Rows == 1 {
		part.Rows, part.Columns = 1, (to-from)*n
	}
	part.G = m.G[from*n : to*n]
	return part
}

func (m *mirror) layers(x *reference.Matrix, list []Layer) *reference.Matrix {
	for _, l := range list {
		switch l := l.(type) {
		case Linear:
			x = m.linear(x, l.Name, l.Activation, l.Dropout)
		case LayerNorm:
			x = m.norm(x, l.Name, l.Eps)
		case Positions:
			p, t := m.params[l.Name+".weight"], m.t
			x = m.AddRows(x, p, func(i int) int { return i % t })
		case Embedding:
			x = m.AddRows(x, m.params[l.Name+".weight"], func(i int) int { return m.ids[i/m.t] })
		case MultiHeadAttention:
			x = m.attend(x, l, 0)
		case TransformerEncoderLayer:
			x = m.encoder(x, l, false)
		case TransformerDecoderLayer:
			x = m.encoder(x, TransformerEncoderLayer(l), true)
		case Memory:
			first := reference.New(m.b*l.Tokens, x.Columns)
			for i := range first.Rows {
				copy(first.V[i*x.Columns:][:x.Columns], x.V[(i/l.Tokens*m.t+i%l.Tokens)*x.Columns:])
			}
			t := m.t
			m.t = l.Tokens
			m.memory = m.layers(first, l.Layers)
			m.t, m.pad = t, func(_, k int) bool { return k < l.Tokens }
		case Residual:
			x = m.Add(m.layers(x, l.Layers), x)
		case Flatten:
			x = m.Flatten(x, l.Tokens)
		case LastToken:
			x = m.Last(x, m.t)
		}
	}
	return x
}

func (m *mirror) encoder(x *reference.Matrix, l TransformerEncoderLayer, decoder bool) *reference.Matrix {
	attn := MultiHeadAttention{l.Name + ".self_attn", l.Heads, l.Causal, cmp.Or(l.AttentionDropout, l.Dropout), false}
	cross := MultiHeadAttention{l.Name + ".multihead_attn", l.Heads, false, attn.Dropout, true}
	if l.Activation == NoActivation {
		l.Activation = ReLU
	}
	ffn := func(x *reference.Matrix) *reference.Matrix {
		return m.linear(m.linear(x, l.Name+".linear1", l.Activation, l.Dropout), l.Name+".linear2", NoActivation, l.Dropout)
	}
	last := l.Name + ".norm2"
	if decoder {
		last = l.Name + ".norm3"
	}
	if l.PreNorm {
		x = m.Add(m.attend(m.norm(x, l.Name+".norm1", l.Eps), attn, l.Dropout), x)
		if decoder {
			x = m.Add(m.attend(m.norm(x, l.Name+".norm2", l.Eps), cross, l.Dropout), x)
		}
		return m.Add(ffn(m.norm(x, last, l.Eps)), x)
	}
	x = m.norm(m.Add(m.attend(x, attn, l.Dropout), x), l.Name+".norm1", l.Eps)
	if decoder {
		x = m.norm(m.Add(m.attend(x, cross, l.Dropout), x), l.Name+".norm2", l.Eps)
	}
	return m.norm(m.Add(ffn(x), x), last, l.Eps)
}

// rig is a network, a step and a batch of its own on a device.
type rig struct {
	testing.TB
	device *ops.Device
	model  *Model
	step   *Step
	config Config
	values []float64 // [B,T,In]
	target []float64
	opts   StepOptions
	ids    []int
	pads   []uint8
}

// open opens a device that is closed with the test.
func open(t testing.TB, name string) *ops.Device {
	t.Helper()
	d, err := ops.Open(name)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// newRig makes a network, with parameters that are not quite as it initialises them so that biases and norms matter, and a batch of normal numbers.
func newRig(t *testing.T, d *ops.Device, c Config, b, tokens int, opts StepOptions, pad bool) *rig {
	t.Helper()
	ctx := t.Context()
	r := &rig{TB: t, device: d, config: c}
	var err error
	r.model, err = NewModel(ctx, d, c, 7)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.model.Close()) })
	random := rand.New(rand.NewPCG(3, 4))
	for _, l := range c.Layers {
		if e, ok := l.(Embedding); ok {
			for range b {
				r.ids = append(r.ids, random.IntN(e.Count))
			}
		}
	}
	if r.ids != nil {
		ids := make([]int32, b)
		for i, id := range r.ids {
			ids[i] = int32(id)
		}
		opts.IDs = r.upload(tensor.Must(tensor.Of(ids, b)))
	}
	if pad {
		r.pads = make([]uint8, b*tokens)
		for i := range r.pads {
			if (i+i/tokens)%3 == 0 { // every third token, the first of the first row among them
				r.pads[i] = 1
			}
		}
		opts.Pad = r.upload(tensor.Must(tensor.Of(r.pads, b, tokens)))
	}
	r.opts = opts
	r.step, err = NewStep(ctx, r.model, b, tokens, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.step.Close()) })
	r.values = r.fill(r.step.Values, random)
	if r.step.TargetValues != nil {
		r.target = r.fill(r.step.TargetValues, random)
	}
	r.shake(random)
	return r
}

func (r *rig) upload(host *tensor.Tensor) *tensor.Tensor {
	on, err := r.device.Upload(r.Context(), host)
	require.NoError(r, err)
	r.Cleanup(func() { require.NoError(r, on.Close()) })
	return on
}

// fill writes normal numbers that bfloat16 holds.
func (r *rig) fill(to *tensor.Tensor, random *rand.Rand) []float64 {
	data, list := make([]float32, to.Len()), make([]float64, to.Len())
	for i := range data {
		list[i] = float64(tensor.BF16FromF64(random.NormFloat64()).F32())
		data[i] = float32(list[i])
	}
	require.NoError(r, upload(r.Context(), r.device, to, data))
	return list
}

// shake adds a little to every parameter, so that none is 0 or 1.
func (r *rig) shake(random *rand.Rand) {
	host := tensor.Must(tensor.New(tensor.F32, r.model.size))
	require.NoError(r, r.device.Copy(r.Context(), host, r.model.params))
	data, err := tensor.Data[float32](host)
	require.NoError(r, err)
	for _, p := range r.model.Parameters() {
		p.each(func(_, at int) { data[at] = tensor.BF16FromF64(float64(data[at]) + 0.1*random.NormFloat64()).F32() })
	}
	require.NoError(r, r.model.write(r.Context(), host))
}

// each calls f with the number of each element of a parameter, and where it is in the arena.
func (p Parameter) each(f func(i, at int)) {
	columns := 1
	if len(p.Shape) == 2 {
		columns = p.Shape[1]
	}
	for i := range p.Shape[0] * columns {
		f(i, p.Offset+i/columns*p.Stride+i%columns)
	}
}

// parameters reads the model's parameters as matrices.
func (r *rig) parameters() map[string]*reference.Matrix {
	data, err := download[float32](r.Context(), r.device, r.model.params)
	require.NoError(r, err)
	params := map[string]*reference.Matrix{}
	for _, p := range r.model.Parameters() {
		m := reference.New(1, p.Shape[0])
		if len(p.Shape) == 2 {
			m = reference.New(p.Shape[0], p.Shape[1])
		}
		p.each(func(i, at int) { m.V[i] = float64(data[at]) })
		params[p.Name] = m
	}
	return params
}

// wanted computes the prediction, the loss and the gradients of step number step in float64.
func (r *rig) wanted(step uint32) (m *mirror, prediction *reference.Matrix, loss float64) {
	b, t := r.step.b, r.step.t
	m = &mirror{params: r.parameters(), b: b, t: t, ids: r.ids}
	if r.pads != nil {
		m.pad = func(b, k int) bool { return r.pads[b*t+k] != 0 }
	}
	if train := r.opts.Train; train != nil {
		m.dropped = func(site uint32, rate float32) func(i int) float64 {
			return func(i int) float64 {
				if fp32.Dropped(train.Seed, step, site, uint64(i), rate) {
					return 0
				}
				return 1 / (1 - float64(rate))
			}
		}
	}
	prediction = m.layers(reference.Of(b*t, r.config.In, r.values), r.config.Layers)
	switch r.opts.Loss {
	case MSE:
		loss = m.MSE(prediction, r.target, nil)
	case L1:
		loss = m.L1(prediction, r.target, nil)
	}
	m.Backward()
	return m, prediction, loss
}

// gradients reads what WeightGradient has added up, by parameter, and wants none of padding.
func (r *rig) gradients() map[string][]float64 {
	list, err := r.step.Gradients(r.Context())
	require.NoError(r, err)
	got := map[string][]float64{}
	used := make([]bool, r.model.size)
	for _, p := range r.model.Parameters() {
		assert.Equal(r, p.Shape, list[p.Name].Shape())
		got[p.Name], err = tensor.Floats(list[p.Name])
		require.NoError(r, err)
		p.each(func(_, at int) { used[at] = true })
	}
	parts, err := download[float32](r.Context(), r.device, r.step.sum)
	require.NoError(r, err)
	for i, v := range parts {
		if !used[i] {
			require.Zero(r, v, "the gradient of padding, element %d", i)
		}
	}
	return got
}

// predicted reads the prediction.
func (r *rig) predicted() []float64 {
	p := r.step.Prediction
	rows, width, stride := p.Dim(0), p.Dim(1), p.Stride(0)
	all, err := p.AsStrided([]int{(rows-1)*stride + width}, []int{1}, 0)
	require.NoError(r, err)
	data, err := download[float32](r.Context(), r.device, all)
	require.NoError(r, err)
	var list []float64
	for i := range rows {
		for j := range width {
			list = append(list, float64(data[i*stride+j]))
		}
	}
	return list
}

// run runs a step and returns what it left.
func (r *rig) run() Progress {
	require.NoError(r, r.step.Run(r.device.Queue()))
	p, err := r.step.Progress(r.Context(), r.device.Queue())
	require.NoError(r, err)
	return p
}

// apart is the distance of two vectors, as a share of the length of the second.
func apart(got, want []float64) float64 {
	difference, length := 0.0, 0.0
	for i := range want {
		difference += (got[i] - want[i]) * (got[i] - want[i])
		length += want[i] * want[i]
	}
	return math.Sqrt(difference / max(length, math.SmallestNonzeroFloat64))
}

// working is the dtype that a device computes networks in.
func working(d *ops.Device) tensor.DType {
	nn, err := d.NN()
	if err != nil {
		return 0
	}
	return nn.Working()
}
