package nn

import (
	"slices"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// backward plans the gradient of a value after the gradients of all later values. For the result of a norm, it plans the gradient
// of the norm's input at the same time.
func (c *compiler) backward(v *value) {
	if c.err != nil {
		return
	}
	_, cut := v.from.(*value)
	o, _ := v.from.(*norm)
	switch {
	case v.from == nil, cut, o == nil && len(v.norms) > 0:
		return // no gradient is needed, or it comes with the tokens' or the norm's result
	case v.attention != nil:
		c.attentionBack(v.attention)
		return
	}
	to := v
	if o != nil {
		to = o.in
	}
	p, _ := to.from.(*product)
	r, zero := c.rooms[to], v.cut != nil && v.cut.flat == 0 && o == nil
	if !isNorm(to) {
		r.dWork = c.gradient(c.nn.Working(), to, zero)
	}
	if o != nil || p != nil && (p.residual != nil || p.position != nil || p.embedding != nil) {
		r.dSum = c.gradient(tensor.F32, to, zero)
	}
	c.products(v, o, p, r)
	c.done(c.summed(v)...)
	if o != nil {
		c.done(c.added(to)...)
	}
	if p != nil {
		c.tables(p)
	}
}

// gradient returns memory for a gradient. It has zeros if not all of it is written. Otherwise it may be the memory of a gradient
// that is no longer read, because that is still in the cache.
func (c *compiler) gradient(dtype tensor.DType, v *value, zero bool) *tensor.Tensor {
	if zero {
		return c.zeros(dtype, c.rows(v), pad(v.width))
	}
	for i, t := range c.spare {
		if t.DType() == dtype && t.Dim(0) == c.rows(v) && t.Dim(1) == pad(v.width) {
			c.spare = slices.Delete(c.spare, i, i+1)
			return t
		}
	}
	return c.matrix(dtype, v)
}

// done marks gradients that no later plan reads.
func (c *compiler) done(list ...*tensor.Tensor) {
	if c.err == nil {
		c.spare = append(c.spare, list...)
	}
}

// products plans the sum of v's gradient over the products that use v and over its gradients in F32. o is the norm that computed
// v, or nil. r is the room of v, or of the norm's input, and p the product that computed it.
func (c *compiler) products(v *value, o *norm, p *product, r *room) {
	before, after := c.summed(v), []*tensor.Tensor(nil)
	if o != nil {
		after = c.added(o.in)
	}
	var out backend.Dropout
	if p != nil && p.activation == NoActivation {
		out = c.dropout(p.dropout, p.site)
	}
	if v.cut != nil {
		before = c.cutBack(v, r, o != nil, out)
	}
	for i, q := range v.products {
		job := c.through(q)
		job.Residual, before = first(before)
		if i == len(v.products)-1 && (o == nil || v.width <= backend.MaxNormWidth) {
			switch {
			case o != nil:
				job.NormBack = c.rooms[v].stats
				job.DGamma, job.DBeta = c.normSums(o)
			case p != nil && p.activation != NoActivation:
				job.GateOf, job.Gate = p.activation, r.work
				if p.activation == GELU {
					job.Gate = r.pre
				}
				job.Dropout = c.dropout(p.dropout, p.site)
			}
			job.After, _ = first(append(before, after...))
			job.Sum, job.Out, job.OutDropout = r.dSum, r.dWork, out
			c.matMul(job)
			return
		}
		job.Sum = c.matrix(tensor.F32, v) // added to the following ones
		c.matMul(job)
		before = append(before, job.Sum)
	}
	if o != nil {
		job := backend.NormBackwardJob{M: c.rows(o.in), N: o.in.width, Norm: *c.rooms[o.out].stats, Sum: r.dSum, Out: r.dWork, OutDropout: out}
		job.DGamma, job.DBeta = c.normSums(o)
		job.G, _ = first(before)
		job.After, _ = first(after)
		if c.err == nil {
			c.plan(c.nn.NormBackward(&job))
		}
	}
}

func isNorm(v *value) bool {
	_, ok := v.from.(*norm)
	return ok
}

func first(list []*tensor.Tensor) (*tensor.Tensor, []*tensor.Tensor) {
	if len(list) == 0 {
		return nil, nil
	}
	return list[0], list[1:]
}

// added returns the gradients of the sums that a value was added to. They are terms of its own gradient.
func (c *compiler) added(v *value) (list []*tensor.Tensor) {
	for _, p := range v.residuals {
		list = append(list, c.rooms[p.out].dSum)
	}
	return list
}

// summed returns the terms of a value's gradient in F32: the gradients of the sums that it was added to. If a norm's result went
// into another norm, that norm's gradient already contains them, and is the only term.
func (c *compiler) summed(v *value) []*tensor.Tensor {
	if isNorm(v) && len(v.norms) > 0 {
		return []*tensor.Tensor{c.rooms[v].dSum}
	}
	return c.added(v)
}

// through returns the job for a product's gradient with respect to its input.
func (c *compiler) through(q *product) *backend.MatMulJob {
	return &backend.MatMulJob{A: c.rooms[q.out].dWork, B: c.weight(q.weight), Plain: true, M: c.rows(q.out), N: pad(q.in.width), K: pad(q.out.width)}
}

func (c *compiler) matMul(job *backend.MatMulJob) {
	if c.err == nil {
		c.plan(c.nn.MatMul(job))
	}
}

// cutBack plans the gradient of tokens before a LastToken or a Flatten. With LastToken it is 0 for the other tokens. If a norm
// computed the tokens, it returns the gradient, in F32, otherwise nil.
func (c *compiler) cutBack(v *value, r *room, normed bool, out backend.Dropout) []*tensor.Tensor {
	job := c.through(v.cut.products[0])
	if normed {
		g := c.gradient(tensor.F32, v, v.cut.flat == 0)
		job.Sum = c.cut(g, v.cut)
		c.matMul(job)
		return []*tensor.Tensor{g}
	}
	if r.dSum != nil {
		job.Sum = c.cut(r.dSum, v.cut)
	}
	job.Out, job.OutDropout = c.cut(r.dWork, v.cut), out // the elements have the same numbers in both layouts
	c.matMul(job)
	return nil
}

// normSums allocates memory for the gradients of a norm's parameters, and adds their sums to the job.
func (c *compiler) normSums(o *norm) (gamma, beta *tensor.Tensor) {
	blocks, n := (c.rows(o.in)+backend.NormRows-1)/backend.NormRows, o.in.width
	gamma, beta = c.alloc(tensor.F32, blocks, n), c.alloc(tensor.F32, blocks, n)
	c.jobs.Sums = append(c.jobs.Sums, backend.ColumnSum{X: gamma, R: blocks, N: n, Offset: o.gamma.offset},
		backend.ColumnSum{X: beta, R: blocks, N: n, Offset: o.beta.offset})
	return gamma, beta
}

// attentionBack plans the gradients of an attention's inputs from the gradient of its result. It does nothing if they are planned.
func (c *compiler) attentionBack(a *attention) {
	if c.rooms[a.in].dWork != nil {
		return
	}
	c.rooms[a.in].dWork = c.matrix(c.nn.Working(), a.in)
	if a.memory != nil {
		c.rooms[a.memory].dWork = c.matrix(c.nn.Working(), a.memory)
	}
	job := backend.AttentionBackwardJob{AttentionJob: c.attends(a), DO: c.rooms[a.out].dWork}
	job.DQ, job.DK, job.DV = c.columns(a, func(r *room) *tensor.Tensor { return r.dWork })
	if c.err == nil {
		c.plan(c.nn.AttentionBackward(&job))
		c.done(job.DO)
	}
}

// tables plans the gradients of the tables (Positions and Embedding) with rows that were added to a product.
func (c *compiler) tables(p *product) {
	g, t, n := c.rooms[p.out].dSum, c.perRow(p.out), p.out.width
	if p.position != nil {
		c.jobs.Sums = append(c.jobs.Sums, backend.ColumnSum{X: c.view(g, []int{c.b, t * n}, []int{t * n, 1}, 0), R: c.b, N: t * n, Offset: p.position.offset})
	}
	if p.embedding != nil {
		c.sums()
		job := backend.EmbedJob{M: c.rows(p.out), N: n, V: p.embedding.rows, T: t, ID: c.opts.IDs, Backward: true, G: g}
		job.DTable = c.view(c.jobs.Gradient, []int{p.embedding.rows, n}, []int{n, 1}, p.embedding.offset)
		if c.err == nil {
			c.plan(c.nn.Embed(&job))
		}
	}
}

// sums allocates the gradients and the sums of their squares. They are zeros, because padding is never written.
func (c *compiler) sums() {
	if c.sum == nil { // otherwise processes share the memory
		c.sum = c.zeros(tensor.F32, c.model.size)
		c.squares = c.zeros(tensor.F32, c.model.chunks())
	}
	if c.jobs.Gradient == nil {
		c.jobs.Splits, c.jobs.Gradient = splits(c.b*c.t), c.sum
		if c.batches() > 1 {
			c.jobs.Gradient = c.zeros(tensor.F32, c.model.size)
		}
	}
}

// splits returns the number of parts in which a batch's rows are added up, so that a GPU has enough work.
func splits(rows int) int { return max(1, min((rows+1023)/2048, 4)) }

// weights plans the gradients of all parameters.
func (c *compiler) weights() {
	c.sums()
	for _, v := range c.model.net.values {
		p, ok := v.from.(*product)
		if !ok {
			continue
		}
		g := backend.ProductGradient{
			DY: c.rooms[v].dWork, X: c.rooms[p.in].work, M: c.rows(v), N: pad(v.width), K: pad(p.in.width), Offset: p.weight.offset,
			Stride: pad(p.in.width), BiasOffset: -1,
		}
		if p.bias != nil {
			g.BiasOffset = p.bias.offset
		}
		c.jobs.Products = append(c.jobs.Products, g)
	}
	if c.err == nil {
		c.plan(c.nn.WeightGradient(&c.jobs))
	}
	if c.batches() > 1 {
		c.accumulate()
	}
}

// accumulate plans the sums over the batches' gradients, one after each batch. Two tensors have the sum so far in turn. The last plan
// writes the mean.
func (c *compiler) accumulate() {
	n := c.batches()
	var totals [2]*tensor.Tensor
	for i := range min(n-1, 2) {
		totals[i] = c.alloc(tensor.F32, c.model.size)
	}
	for i := range n {
		job := backend.GradientNormJob{Gradients: []*tensor.Tensor{c.jobs.Gradient}, To: c.model.size, Scale: 1, Sum: totals[i%2]}
		if i > 0 {
			job.Gradients = []*tensor.Tensor{totals[(i+1)%2], c.jobs.Gradient}
		}
		if i == n-1 {
			job.Sum, job.Scale = c.sum, 1/float32(n)
		}
		if c.err != nil {
			return
		}
		var p backend.Plan
		if p, c.err = c.nn.GradientNorm(&job); c.err == nil {
			c.adds = append(c.adds, p)
		}
	}
}
