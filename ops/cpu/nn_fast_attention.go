package cpu

import (
	"errors"
	"math"

	"github.com/robocache/robocache/ops/backend"
)

// queries is how many queries a worker processes together.
const queries = 48

// fastAttention is a float32 Attention, computed one head in a batch row at a time. fastAttentionBackward shares it.
type fastAttention struct {
	job        *backend.AttentionJob
	q, k, v, o matrix[float32]
	pad        matrix[uint8]
	logSum     []float32
	dropout    dropout
	a          float32 // factor that turns scores into exponents of 2
	keys       int     // TK, rounded up to a whole panel
	workers    []fastAttentionScratch
}

// fastAttentionScratch is one worker's memory. Keys that no query sees have zero rows.
type fastAttentionScratch struct {
	k, v   []float32 // [keys,Width]
	kt, vt []float32 // panels of 16 keys; vt and the fields below are for the gradient only
	p      []float32 // [queries,keys]: scores, then probabilities
	d      []float32 // gradients of p
	dk, dv []float32 // [keys,Width]
	seen   []bool    // [keys]: whether a key is visible
	kept   []float32 // dropout factors for probabilities, starting at element skip, TK per query
	skip   int
}

func (b *Backend) newFastAttention(job *backend.AttentionJob, backward bool) (*fastAttention, error) {
	var errs []error
	p := &fastAttention{job: job, keys: pieces(job.TK, panel) * panel, a: job.Scale * log2E, dropout: dropoutOf(job.Dropout, &errs),
		q: matrixOf[float32](job.Q, &errs), k: matrixOf[float32](job.K, &errs), v: matrixOf[float32](job.V, &errs), o: matrixOf[float32](job.O, &errs),
		pad: matrixOf[uint8](job.Pad, &errs), logSum: elementsOf[float32](job.LogSum, &errs), workers: make([]fastAttentionScratch, b.workers)}
	size, rows := p.keys*job.Width, min(queries, job.TQ)*p.keys
	for i := range p.workers {
		w := &p.workers[i]
		list := func(n int) []float32 { return make([]float32, n) }
		*w = fastAttentionScratch{k: list(size), v: list(size), kt: list(size), p: list(rows), seen: make([]bool, p.keys)}
		if p.dropout.state != nil {
			w.kept = list(min(queries, job.TQ)*job.TK + 3*panel)
		}
		if backward {
			w.vt, w.d, w.dk, w.dv = list(size), list(rows), list(size), list(size)
		}
	}
	return p, errors.Join(errs...)
}

// plan returns a plan with one piece for each head.
func (p *fastAttention) plan(b *Backend, bound backend.Bound, do func(head, worker int)) backend.Plan {
	j := p.job
	work := j.B * j.Heads * j.TQ * p.keys * j.Width * 2
	return &nnPlan{boundPlan: boundPlan{bound: bound}, backend: b, begin: p.dropout.begin, tasks: []*task{b.unlessFew(work, j.B*j.Heads, do)}}
}

func (b *Backend) fastAttention(job *backend.AttentionJob) (backend.Plan, error) {
	p, err := b.newFastAttention(job, false)
	if err != nil {
		return nil, err
	}
	return p.plan(b, job.Bound(), p.head), nil
}

// head computes one head in a batch row.
func (p *fastAttention) head(head, worker int) {
	j, w := p.job, &p.workers[worker]
	row, column := head/j.Heads, head%j.Heads*j.Width
	first := p.take(w, row, column)
	for q := 0; q < j.TQ; q += queries {
		n := min(queries, j.TQ-q)
		keys := p.upTo(q + n - 1)
		p.scores(w, row, column, q, n, keys)
		p.draw(w, head*j.TQ+q, n)
		o := p.o.data[(row*j.TQ+q)*p.o.stride+column:]
		for i := range n {
			at := head*j.TQ + q + i
			s := w.p[i*p.keys:][:pieces(keys, panel)*panel]
			if p.upTo(q+i) <= first {
				clear(s)
				p.logSum[at] = float32(math.Inf(1))
				continue
			}
			most := fast.max(s) * p.a
			sum := fast.exp2(s, p.a, most)
			p.logSum[at] = most + float32(math.Log2(float64(sum)))
			fast.scale(s, 1/sum)
			p.drop(w, s, i)
		}
		for c := 0; c < j.Width; c += panel {
			fast.product(o[c:], p.o.stride, w.p, p.keys, 1, w.v[c:], j.Width, keys, n, false)
		}
	}
}

// upTo counts the keys that query q sees if none is padding.
func (p *fastAttention) upTo(q int) int {
	if p.job.Causal {
		return min(q+1, p.job.TK)
	}
	return p.job.TK
}

// take copies a head's keys and values, and returns the first key that is not padding.
func (p *fastAttention) take(w *fastAttentionScratch, row, column int) (first int) {
	j := p.job
	first = p.keys
	for k := range p.keys {
		w.seen[k] = k < j.TK && (!p.pad.there() || p.pad.row(row, j.TK)[k] == 0)
		ks, vs := w.k[k*j.Width:][:j.Width], w.v[k*j.Width:][:j.Width]
		if !w.seen[k] {
			clear(ks)
			clear(vs)
			continue
		}
		first = min(first, k)
		copy(ks, p.k.data[(row*j.TK+k)*p.k.stride+column:])
		copy(vs, p.v.data[(row*j.TK+k)*p.v.stride+column:])
	}
	panels(w.kt, w.k, p.keys, j.Width)
	return first
}

// panels copies a matrix to panels of 16 rows.
func panels(to, from []float32, rows, width int) {
	for r := 0; r < rows; r += panel {
		fast.transpose(to[r*width:], from[r*width:], width, width)
	}
}

// scores computes the scores of n queries, starting at q, with the first keys keys. A key that a query does not see gets -Inf.
func (p *fastAttention) scores(w *fastAttentionScratch, row, column, q, n, keys int) {
	j := p.job
	rows := p.q.data[(row*j.TQ+q)*p.q.stride+column:]
	for k := 0; k < keys; k += panel {
		fast.product(w.p[k:], p.keys, rows, p.q.stride, 1, w.kt[k*j.Width:], panel, j.Width, n, false)
	}
	inf, all := float32(math.Inf(-1)), pieces(keys, panel)*panel
	for i := range n {
		s, up := w.p[i*p.keys:][:all], p.upTo(q+i)
		for k := range s[up:] {
			s[up+k] = inf
		}
		if p.pad.there() {
			for k, seen := range w.seen[:up] {
				if !seen {
					s[k] = inf
				}
			}
		}
	}
}

// draw computes the dropout factors for n queries. at is the first query's number over all heads.
func (p *fastAttention) draw(w *fastAttentionScratch, at, n int) {
	if p.dropout.state == nil {
		return
	}
	first := uint64(at) * uint64(p.job.TK)
	w.skip = int(first % 4)
	kept := w.kept[:pieces(w.skip+n*p.job.TK, panel)*panel]
	for i := range kept {
		kept[i] = 1
	}
	fast.dropout(kept, first/4, &p.dropout.dropoutNumbers)
}

// drop multiplies query i's probabilities, or their gradients, by the dropout factors from draw.
func (p *fastAttention) drop(w *fastAttentionScratch, s []float32, i int) {
	if p.dropout.state != nil {
		fast.mul(s, w.kept[w.skip+i*p.job.TK:])
	}
}

// fastAttentionBackward is a float32 AttentionBackward.
type fastAttentionBackward struct {
	*fastAttention
	dO, dq, dk, dv matrix[float32]
}

func (b *Backend) fastAttentionBackward(job *backend.AttentionBackwardJob) (backend.Plan, error) {
	common, err := b.newFastAttention(&job.AttentionJob, true)
	errs := []error{err}
	p := &fastAttentionBackward{common, matrixOf[float32](job.DO, &errs), matrixOf[float32](job.DQ, &errs), matrixOf[float32](job.DK, &errs), matrixOf[float32](job.DV, &errs)}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return p.plan(b, job.Bound(), p.head), nil
}

func (p *fastAttentionBackward) head(head, worker int) {
	j, w := p.job, &p.workers[worker]
	row, column, width := head/j.Heads, head%j.Heads*j.Width, j.Width
	p.take(w, row, column)
	panels(w.vt, w.v, p.keys, width)
	clear(w.dk)
	clear(w.dv)
	for q := 0; q < j.TQ; q += queries {
		n := min(queries, j.TQ-q)
		keys, at := p.upTo(q+n-1), row*j.TQ+q
		p.scores(w, row, column, q, n, keys)
		p.draw(w, head*j.TQ+q, n)
		dO := p.dO.data[at*p.dO.stride+column:]
		for k := 0; k < keys; k += panel {
			fast.product(w.d[k:], p.keys, dO, p.dO.stride, 1, w.vt[k*width:], panel, width, n, false)
		}
		for i := range n {
			p.query(w, head*j.TQ+q+i, i, pieces(keys, panel)*panel, fast.dot(dO[i*p.dO.stride:][:width], p.o.data[(at+i)*p.o.stride+column:][:width]))
		}
		qs, dq := p.q.data[at*p.q.stride+column:], p.dq.data[at*p.dq.stride+column:]
		for c := 0; c < width; c += panel {
			fast.product(dq[c:], p.dq.stride, w.d, p.keys, 1, w.k[c:], width, keys, n, false)
			fast.product(w.dk[c:], width, w.d, 1, p.keys, qs[c:], p.q.stride, n, keys, true)
			fast.product(w.dv[c:], width, w.p, 1, p.keys, dO[c:], p.dO.stride, n, keys, true)
		}
	}
	for k := range j.TK {
		copy(p.dk.data[(row*j.TK+k)*p.dk.stride+column:][:width], w.dk[k*width:])
		copy(p.dv.data[(row*j.TK+k)*p.dv.stride+column:][:width], w.dv[k*width:])
	}
}

// query computes, for row i in the current group of queries, the probabilities after dropout and the gradients of the query-key
// products. at is the query's number over all heads.
func (p *fastAttentionBackward) query(w *fastAttentionScratch, at, i, keys int, delta float32) {
	s, d := w.p[i*p.keys:][:keys], w.d[i*p.keys:][:keys]
	fast.exp2(s, p.a, p.logSum[at])
	p.drop(w, d, i)
	fast.softGrad(d, s, delta, p.job.Scale)
	p.drop(w, s, i)
}
