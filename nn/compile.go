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

// compiler makes the plans of a step: the forward pass in the network's order of values, and the backward pass in the opposite
// order.
type compiler struct {
	*Step
	ctx   context.Context
	nn    backend.NN
	rooms map[*value]*room
	spare []*tensor.Tensor // gradients that no later plan reads, so their memory can be used again
	jobs  backend.WeightGradientJob
	err   error          // the first error
	bytes int64          // allocated so far
	room  int64          // bytes available if the tensors are in host memory, because the system grants more than it has
	pad   *tensor.Tensor // [B,T] u8, 1 for the tokens that self-attention ignores; nil if there are none

	chunk   backend.Chunks // of a step that samples, with samples [B*C,A] F32
	samples *tensor.Tensor
}

// room has the tensors that one value of the network needs in a step.
type room struct {
	work, sum   *tensor.Tensor     // [M, padded width] in the working dtype, and in F32 if needed
	pre         *tensor.Tensor     // the value before a GELU
	logSum      *tensor.Tensor     // from attention, for its backward pass
	stats       *backend.NormStats // from a LayerNorm, for its backward pass
	dWork, dSum *tensor.Tensor     // gradients: in the working dtype, before the product's dropout, and in F32
}

// available returns the host's free memory in bytes; tests replace it.
var available = tensor.Available

// compile makes the step's plans and allocates their tensors.
func (s *Step) compile(ctx context.Context) error {
	c := &compiler{Step: s, ctx: ctx, nn: s.model.nn, rooms: map[*value]*room{}, room: math.MaxInt64, pad: s.opts.Pad}
	if s.model.params.OnHost() {
		c.room = available()
	}
	for _, v := range s.model.net.values {
		c.rooms[v] = &room{}
	}
	if s.opts.Train != nil {
		if err := s.model.moments(ctx, s.opts.Train); err != nil {
			return err
		}
		s.state = s.model.state
		words, err := download[int64](ctx, s.model.device, s.state)
		if err != nil {
			return err
		}
		if s.first, err = s.steps("NewStep", words); err != nil {
			return err
		}
	} else {
		s.state = c.zeros(tensor.I64, backend.StateWords)
	}
	c.begin()
	begun := 0
	for _, memory := range []bool{true, false} { // a sample computes the memory once
		for _, v := range s.model.net.values[1:] {
			if memory == (v.rows == ofMemory) {
				c.forward(v)
			}
		}
		if memory {
			begun = len(c.plans)
		}
	}
	if s.opts.Denoise != nil && s.opts.Predict {
		c.sample(begun)
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

// plan appends the plan of a job.
func (c *compiler) plan(p backend.Plan, err error) {
	if err != nil {
		c.err = errors.Join(c.err, err)
		return
	}
	c.plans = append(c.plans, p)
}

// alloc allocates a tensor with unspecified contents. After an error it returns nil, and no plan is made.
func (c *compiler) alloc(dtype tensor.DType, shape ...int) *tensor.Tensor {
	if c.fits(dtype, shape); c.err != nil {
		return nil
	}
	t, err := c.held.alloc(c.model.device, dtype, shape...)
	c.err = err
	return t
}

// fits adds a tensor to bytes, and sets an *ops.MemoryError if the sum exceeds room.
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

// view returns a strided view into a tensor. offset is in elements. After an error it returns nil.
func (c *compiler) view(t *tensor.Tensor, shape, strides []int, offset int) *tensor.Tensor {
	if c.err != nil || t == nil {
		return nil
	}
	v, err := t.AsStrided(shape, strides, offset)
	c.err = err
	return v
}

// weight returns a weight matrix in the working dtype. vector and table return a vector and a table of rows in F32.
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

// rows returns the number of rows in a value.
func (c *compiler) rows(v *value) int {
	return c.b * c.perRow(v)
}

// perRow returns the number of rows that a value has for a batch row.
func (s *Step) perRow(v *value) int {
	return [...]int{ofTokens: s.t, ofMemory: s.model.net.tokens, ofBatch: 1}[v.rows]
}

func (c *compiler) matrix(dtype tensor.DType, v *value) *tensor.Tensor {
	return c.alloc(dtype, c.rows(v), pad(v.width))
}

// dropout returns the dropout at a site.
func (c *compiler) dropout(rate float32, site uint32) backend.Dropout {
	if c.opts.Train == nil || rate == 0 {
		return backend.Dropout{}
	}
	return backend.Dropout{Rate: rate, Seed: c.opts.Train.Seed, Site: site, State: c.state}
}

// begin allocates the input and the targets, and plans the job that fills them.
func (c *compiler) begin() {
	in := c.model.net.values[0]
	rows, ticks, d := c.targets()
	clean := ticks
	if c.opts.Denoise != nil {
		clean = c.opts.Denoise.Chunk
	}
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
			c.TargetValues = c.zeros(tensor.F32, c.b, clean, d)
			job.Target = &backend.TokenSource{Values: c.TargetValues, Ticks: clean, D: d}
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
		if c.opts.Denoise != nil {
			job.Targets, job.Weights = c.alloc(tensor.F32, c.b*clean, d), c.alloc(tensor.F32, c.b*clean)
		}
	}
	if c.opts.Loss == CrossEntropy && !c.opts.Predict {
		c.Classes = c.zeros(tensor.I32, rows)
	}
	if c.err == nil {
		c.plan(c.nn.Tokens(&job))
	}
	if c.opts.Denoise != nil {
		c.noise(&job)
	}
	if v := c.model.net.first; v != nil && c.err == nil {
		in := c.zeros(c.nn.Working(), c.rows(v), pad(v.width))
		c.rooms[v].work = in
		of := backend.TokensJob{
			B: c.b, T: c.model.net.tokens, Sources: job.Sources, Width: job.Width, Scale: job.Scale, Shift: job.Shift, Relative: job.Relative,
			Reference: job.Reference, Input: in, State: c.zeros(tensor.I64, backend.StateWords), // its own state, because the step has begun
		}
		if c.err == nil {
			c.plan(c.nn.Tokens(&of))
		}
	}
}

// relative sets an error unless the numbers are -1 or column indices of the reference.
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

// identity returns a scale and a shift for n columns that change nothing.
func (c *compiler) identity(n int) (scale, shift *tensor.Tensor) {
	ones := make([]float32, n)
	for i := range ones {
		ones[i] = 1
	}
	return c.upload(tensor.Of(ones, n)), c.zeros(tensor.F32, n)
}

// forward plans the computation of a value. It does nothing if an earlier plan computes the value too.
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

// cut returns the part of a token matrix that a value consists of: the last token in each batch row, or all tokens side by side.
func (c *compiler) cut(t *tensor.Tensor, v *value) *tensor.Tensor {
	w := pad(v.width)
	if v.flat > 0 {
		return c.view(t, []int{c.b, w}, []int{w, 1}, 0)
	}
	return c.view(t, []int{c.b, w}, []int{c.t * w, 1}, (c.t-1)*w)
}

// sums reports whether a value is needed in F32 too.
func (v *value) sums() bool {
	_, normed := v.from.(*norm)
	return !v.used() || len(v.norms) > 0 || len(v.residuals) > 0 && !normed // as a residual, a norm's result is computed again
}

// works reports whether a value is needed in the working dtype.
func (v *value) works() bool { return len(v.products) > 0 || v.attention != nil || v.cut != nil }

// fused returns the LayerNorm that the value's product computes in the same launch, or nil.
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
		Still: true, Bias: c.vector(p.bias), Activation: p.activation, Dropout: c.dropout(p.dropout, p.site),
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

// stats allocates the statistics that a norm keeps for the backward pass.
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

// attends returns the job of an attention.
func (c *compiler) attends(a *attention) backend.AttentionJob {
	d, r := a.out.width, c.rooms[a.out]
	job := backend.AttentionJob{
		B: c.b, Heads: a.heads, Width: d / a.heads, TQ: c.perRow(a.in), TK: c.perRow(a.in), Scale: float32(1 / math.Sqrt(float64(d/a.heads))), Causal: a.causal,
		O: r.work, LogSum: r.logSum, Dropout: c.dropout(a.dropout, a.site),
	}
	if a.memory != nil {
		job.TK = c.perRow(a.memory)
	} else if a.in.rows == ofTokens {
		job.Pad = c.ignored()
	}
	job.Q, job.K, job.V = c.columns(a, func(r *room) *tensor.Tensor { return r.work })
	return job
}

// columns returns an attention's queries, keys and values, or their gradients, in the matrices that of returns.
func (c *compiler) columns(a *attention, of func(r *room) *tensor.Tensor) (q, k, v *tensor.Tensor) {
	part := func(in *value, i int) *tensor.Tensor {
		return c.view(of(c.rooms[in]), []int{c.rows(in), a.out.width}, []int{in.width, 1}, i*a.out.width)
	}
	if a.memory != nil {
		return part(a.in, 0), part(a.memory, 0), part(a.memory, 1)
	}
	return part(a.in, 0), part(a.in, 1), part(a.in, 2)
}

// ignored returns the flags [B,T] of the tokens that self-attention does not see, or nil: StepOptions.Pad, or the memory's tokens.
func (c *compiler) ignored() *tensor.Tensor {
	if n := c.model.net.tokens; c.pad == nil && n > 0 {
		flags := make([]uint8, c.b*c.t)
		for i := range flags {
			if i%c.t < n {
				flags[i] = 1
			}
		}
		c.pad = c.upload(tensor.Of(flags, c.b, c.t))
	}
	return c.pad
}

func (c *compiler) attention(a *attention) {
	r := c.rooms[a.out]
	r.work = c.matrix(c.nn.Working(), a.out)
	r.logSum = c.alloc(tensor.F32, c.b, a.heads, c.perRow(a.in))
	job := c.attends(a)
	if c.err == nil {
		c.plan(c.nn.Attention(&job))
	}
}

// loss plans the comparison of the prediction with the targets.
func (c *compiler) loss() {
	end := c.model.net.values[len(c.model.net.values)-1]
	r := c.rooms[end]
	m, _, _ := c.targets()
	if c.Prediction == nil { // otherwise it is a sample
		c.Prediction = c.view(r.sum, []int{m, end.width}, []int{pad(end.width), 1}, 0)
	}
	if c.opts.Predict {
		return
	}
	c.ring = c.zeros(tensor.F32, c.opts.Ring*c.batches())
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
