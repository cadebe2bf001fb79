package nn

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// compiler makes the plans of a step: of the way there, value by value in the network's order, and of the way back in the other.
type compiler struct {
	*Step
	ctx   context.Context
	nn    backend.NN
	rooms map[*value]*room
	spare []*tensor.Tensor // gradients that no plan to come reads
	jobs  backend.WeightGradientJob
	err   error // the first
	bytes int64 // allocated so far
	room  int64 // how many there were, where memory is the host's: the system promises more than it has
}

// room is the memory of a value.
type room struct {
	work, sum   *tensor.Tensor     // [M, padded width] Working, and F32 if anyone wants it
	pre         *tensor.Tensor     // before a GELU
	logSum      *tensor.Tensor     // of attention
	stats       *backend.NormStats // of a norm's result: what it was made of
	dWork, dSum *tensor.Tensor     // gradients: Working of what a product made before dropout, and F32
}

// available is how many bytes the host has; tests have less.
var available = tensor.Available

// compile makes the plans.
func (s *Step) compile(ctx context.Context) error {
	c := &compiler{Step: s, ctx: ctx, nn: s.model.nn, rooms: map[*value]*room{}, room: math.MaxInt64}
	if s.model.params.OnHost() {
		c.room = available()
	}
	for _, v := range s.model.net.values {
		c.rooms[v] = &room{}
	}
	if s.opts.Train != nil {
		if err := s.model.moments(ctx); err != nil {
			return err
		}
		s.state = s.model.state
		words, err := download[int64](ctx, s.model.device, s.state)
		if err != nil {
			return err
		}
		s.first = words[backend.StateStep]
	} else {
		s.state = c.zeros(tensor.I64, backend.StateWords)
	}
	c.begin()
	for _, v := range s.model.net.values[1:] {
		c.forward(v)
	}
	c.loss()
	if s.opts.Train != nil {
		values := s.model.net.values
		for i := len(values) - 2; i >= 0; i-- {
			c.backward(values[i])
		}
		c.weights()
	}
	return c.err
}

// plan keeps a job's plan.
func (c *compiler) plan(p backend.Plan, err error) {
	if err != nil {
		c.err = errors.Join(c.err, err)
		return
	}
	c.plans = append(c.plans, p)
}

// alloc makes a tensor with unspecified contents, and nil after an error, of which there are no plans then.
func (c *compiler) alloc(dtype tensor.DType, shape ...int) *tensor.Tensor {
	if c.fits(dtype, shape); c.err != nil {
		return nil
	}
	t, err := c.held.alloc(c.model.device, dtype, shape...)
	c.err = err
	return t
}

// fits counts a tensor.
func (c *compiler) fits(dtype tensor.DType, shape []int) {
	n, err := tensor.NumElements(shape...)
	if c.err == nil {
		c.err = err
	}
	if c.bytes += int64(n * dtype.Size()); c.err == nil && c.bytes > c.room {
		c.err = &ops.MemoryError{Device: "host", What: "a step of " + tensor.FormatShape([]int{c.b, c.t}) + " tokens", Bytes: c.bytes, Err: errors.New("more than there is")}
	}
}

func (c *compiler) zeros(dtype tensor.DType, shape ...int) *tensor.Tensor {
	if c.fits(dtype, shape); c.err != nil {
		return nil
	}
	t, err := c.held.zeros(c.ctx, c.model.device, dtype, shape...)
	c.err = err
	return t
}

func (c *compiler) upload(host *tensor.Tensor, err error) *tensor.Tensor {
	if c.err == nil {
		c.err = err
	}
	if c.err != nil {
		return nil
	}
	t, err := c.held.upload(c.ctx, c.model.device, host)
	c.err = err
	return t
}

// view is part of a tensor.
func (c *compiler) view(t *tensor.Tensor, shape, strides []int, offset int) *tensor.Tensor {
	if c.err != nil || t == nil {
		return nil
	}
	v, err := t.AsStrided(shape, strides, offset)
	c.err = err
	return v
}

// weight is a weight's Working copy, and vector a vector, or a table of rows, in F32.
func (c *compiler) weight(p *parameter) *tensor.Tensor {
	rows, columns := p.padded()
	return c.view(c.model.working, []int{rows, columns}, []int{columns, 1}, p.offset)
}

func (c *compiler) vector(p *parameter) *tensor.Tensor {
	if p == nil {
		return nil
	}
	return c.view(c.model.params, []int{pad(p.rows)}, []int{1}, p.offset)
}

func (c *compiler) table(p *parameter, rows int) *tensor.Tensor {
	return c.view(c.model.params, []int{rows, p.columns}, []int{p.columns, 1}, p.offset)
}

// rows is how many rows a value has.
func (c *compiler) rows(v *value) int {
	if v.last {
		return c.b
	}
	return c.b * c.t
}

func (c *compiler) matrix(dtype tensor.DType, v *value) *tensor.Tensor {
	return c.alloc(dtype, c.rows(v), pad(v.width))
}

// dropout is that of a place.
func (c *compiler) dropout(rate float32, site uint32) backend.Dropout {
	if c.opts.Train == nil || rate == 0 {
		return backend.Dropout{}
	}
	return backend.Dropout{Rate: rate, Seed: c.opts.Train.Seed, Site: site, State: c.state}
}

// begin makes the input and the targets.
func (c *compiler) begin() {
	in := c.model.net.values[0]
	rows, ticks, d := c.targets()
	job := backend.TokensJob{}
	compared := !c.opts.Predict && c.opts.Loss != CrossEntropy
	if c.opts.Tokens != nil {
		job = *c.opts.Tokens
		c.relative("Relative", job.Relative, job.Reference)
		c.relative("TargetRelative", job.TargetRelative, job.Reference)
	} else {
		c.Values = c.zeros(tensor.F32, c.b, c.t, in.width)
		job.Sources = []backend.TokenSource{{Values: c.Values, Ticks: c.t, D: in.width}}
		job.Width = in.width
		job.Scale, job.Shift = c.identity(in.width)
		if compared {
			c.TargetValues = c.zeros(tensor.F32, c.b, ticks, d)
			job.Target = &backend.TokenSource{Values: c.TargetValues, Ticks: ticks, D: d}
			job.TargetScale, job.TargetShift = c.identity(d)
		}
	}
	c.Input = c.zeros(c.nn.Working(), c.b*c.t, pad(in.width))
	c.rooms[in].work = c.Input
	job.B, job.T, job.Input, job.State = c.b, c.t, c.Input, c.state
	if compared {
		c.Targets = c.zeros(tensor.F32, c.b*ticks, d)
		c.Weights = c.zeros(tensor.F32, c.b*ticks)
		job.Targets, job.Weights = c.Targets, c.Weights
	}
	if c.opts.Loss == CrossEntropy && !c.opts.Predict {
		c.Classes = c.zeros(tensor.I32, rows)
	}
	if c.err == nil {
		c.plan(c.nn.Tokens(&job))
	}
}

// relative wants numbers of columns that the reference has, or -1.
func (c *compiler) relative(arg string, list *tensor.Tensor, reference backend.Reference) {
	if c.err != nil || list == nil {
		return
	}
	numbers, err := download[int32](c.ctx, c.model.device, list)
	c.err = err
	d := 0
	if reference.Values != nil {
		d = reference.Values.Dim(2)
	}
	for i, r := range numbers {
		if r < -1 || int(r) >= d {
			c.err = &Error{Op: "NewStep", Arg: "Tokens." + arg, Kind: ops.ErrOption, Got: fmt.Sprintf("%d at column %d", r, i), Want: fmt.Sprintf("-1, or one of the reference's %d columns", d)}
			return
		}
	}
}

// identity is a scale and a shift that change nothing, for n columns.
func (c *compiler) identity(n int) (scale, shift *tensor.Tensor) {
	ones := make([]float32, n)
	for i := range ones {
		ones[i] = 1
	}
	return c.upload(tensor.Of(ones, n)), c.zeros(tensor.F32, n)
}

// forward makes what gives a value, if it has not been made with the one before.
func (c *compiler) forward(v *value) {
	if c.err != nil {
		return
	}
	r := c.rooms[v]
	switch from := v.from.(type) {
	case *product:
		c.product(from)
	case *norm:
		if r.stats == nil {
			c.norm(from)
		}
	case *attention:
		c.attention(from)
	case *value:
		r.work = c.cut(c.rooms[from].work, v)
	}
}

// cut is the part of a matrix of tokens that a value is which was cut from them: the last token of each batch row, or all of them in a row.
func (c *compiler) cut(t *tensor.Tensor, v *value) *tensor.Tensor {
	w := pad(v.width)
	if v.flat > 0 {
		return c.view(t, []int{c.b, w}, []int{w, 1}, 0)
	}
	return c.view(t, []int{c.b, w}, []int{c.t * w, 1}, (c.t-1)*w)
}

// sums reports whether a value is wanted in F32 too.
func (v *value) sums() bool {
	_, normed := v.from.(*norm)
	return !v.used() || len(v.norms) > 0 || len(v.residuals) > 0 && !normed // a norm's result is made anew as a residual
}

// works reports whether it is wanted in the working dtype.
func (v *value) works() bool { return len(v.products) > 0 || v.attention != nil || v.cut != nil }

// fused reports whether a LayerNorm of the value is made with it.
func (v *value) fused() *norm {
	if _, ok := v.from.(*product); ok && len(v.norms) == 1 && v.width <= backend.MaxNormWidth && !v.norms[0].out.sums() {
		return v.norms[0]
	}
	return nil
}

func (c *compiler) product(p *product) {
	v, r := p.out, c.rooms[p.out]
	job := backend.MatMulJob{
		A: c.rooms[p.in].work, B: c.weight(p.weight), M: c.rows(v), N: pad(v.width), K: pad(p.in.width),
		Bias: c.vector(p.bias), Activation: p.activation, Dropout: c.dropout(p.dropout, p.site),
	}
	if v.sums() {
		r.sum = c.matrix(tensor.F32, v)
		job.Sum = r.sum
	}
	if v.works() {
		r.work = c.matrix(c.nn.Working(), v)
		job.Out = r.work
	}
	if p.activation == GELU && c.opts.Train != nil {
		r.pre = c.matrix(c.nn.Working(), v)
		job.Pre = r.pre
	}
	switch {
	case p.embedding != nil:
		job.Residual = c.matrix(tensor.F32, v)
		embed := &backend.EmbedJob{M: job.M, N: job.N, V: p.embedding.rows, T: c.perRow(v), Table: c.table(p.embedding, p.embedding.rows), ID: c.opts.IDs, Out: job.Residual}
		if p.position != nil {
			embed.Position = c.table(p.position, embed.T)
		}
		if c.err == nil {
			c.plan(c.nn.Embed(embed))
		}
	case p.position != nil:
		job.Residual = c.table(p.position, c.perRow(v))
	case p.residual != nil && c.rooms[p.residual].stats != nil:
		job.ResidualNorm = c.rooms[p.residual].stats
		job.Residual = job.ResidualNorm.Z
	case p.residual != nil:
		job.Residual = c.rooms[p.residual].sum
	}
	if o := v.fused(); o != nil {
		job.Norm, job.Eps = c.stats(o, r.sum), o.eps
		c.rooms[o.out].work = c.matrix(c.nn.Working(), o.out)
		job.Out = c.rooms[o.out].work
	}
	if c.err == nil {
		c.plan(c.nn.MatMul(&job))
	}
}

// perRow is how many tokens of a value a batch row has.
func (c *compiler) perRow(v *value) int { return c.rows(v) / c.b }

// stats makes what a norm leaves behind.
func (c *compiler) stats(o *norm, z *tensor.Tensor) *backend.NormStats {
	m := c.rows(o.in)
	s := &backend.NormStats{Z: z, Mean: c.alloc(tensor.F32, m), Rstd: c.alloc(tensor.F32, m), Gamma: c.vector(o.gamma), Beta: c.vector(o.beta)}
	c.rooms[o.out].stats = s
	return s
}

func (c *compiler) norm(o *norm) {
	r := c.rooms[o.out]
	job := backend.NormJob{M: c.rows(o.in), N: o.in.width, Eps: o.eps, Norm: *c.stats(o, c.rooms[o.in].sum)}
	r.work = c.matrix(c.nn.Working(), o.out)
	job.Out = r.work
	if o.out.sums() {
		r.sum = c.matrix(tensor.F32, o.out)
		job.Sum = r.sum
	}
	if c.err == nil {
		c.plan(c.nn.Norm(&job))
	}
}

// attends is the job of an attention.
func (c *compiler) attends(a *attention) backend.AttentionJob {
	d, x, r := a.out.width, c.rooms[a.in], c.rooms[a.out]
	part := func(i int) *tensor.Tensor { return c.view(x.work, []int{c.b * c.t, d}, []int{3 * d, 1}, i*d) }
	return backend.AttentionJob{
		B: c.b, Heads: a.heads, Width: d / a.heads, TQ: c.t, TK: c.t, Scale: float32(1 / math.Sqrt(float64(d/a.heads))), Causal: a.causal,
		Q: part(0), K: part(1), V: part(2), O: r.work, Pad: c.opts.Pad, LogSum: r.logSum, Dropout: c.dropout(a.dropout, a.site),
	}
}

func (c *compiler) attention(a *attention) {
	r := c.rooms[a.out]
	r.work = c.matrix(c.nn.Working(), a.out)
	r.logSum = c.alloc(tensor.F32, c.b, a.heads, c.t)
	job := c.attends(a)
	if c.err == nil {
		c.plan(c.nn.Attention(&job))
	}
}

// loss compares the prediction.
func (c *compiler) loss() {
	end := c.model.net.values[len(c.model.net.values)-1]
	r := c.rooms[end]
	m, _, _ := c.targets()
	c.Prediction = c.view(r.sum, []int{m, end.width}, []int{pad(end.width), 1}, 0)
	if c.opts.Predict {
		return
	}
	c.ring = c.zeros(tensor.F32, c.opts.Ring)
	job := backend.LossJob{
		Kind: c.opts.Loss, M: m, N: end.width, Prediction: r.sum, Target: c.Targets, Class: c.Classes, RowsPerItem: c.opts.Chunk, Weights: c.Weights,
		Partials: c.alloc(tensor.F32, (m+backend.LossRows-1)/backend.LossRows), Losses: c.ring, State: c.state,
	}
	if c.Targets != nil {
		job.Target = c.view(c.Targets, []int{m, end.width}, []int{end.width, 1}, 0)
	}
	if c.opts.Train != nil {
		r.dWork = c.zeros(c.nn.Working(), m, pad(end.width))
		job.Grad = r.dWork
	}
	if c.err == nil {
		c.plan(c.nn.Loss(&job))
	}
}
