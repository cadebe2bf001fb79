package cpu

import (
	"errors"
	"math"

	"github.com/robocache/robocache/internal/fp32"
	"github.com/robocache/robocache/internal/tensorcore"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// Reference values for scores: see backend.AttentionJob.
const (
	unseenScore    = -0x1p120
	firstReference = -0x1p100
	mostAbove      = 8
)

const log2E = float32(math.Log2E)

// attention is an exact (bfloat16) Attention, computed one head at a time. AttentionBackward shares it.
type attention struct {
	job        *backend.AttentionJob
	q, k, v, o matrix[tensor.BFloat16]
	pad        matrix[uint8]
	logSum     []float32
	dropout    dropout
	a          float32
	ones       [16]tensorcore.Decoded
	keys       int // TK, rounded up to a whole block
	workers    []attentionScratch
}

// attentionScratch is one worker's memory.
type attentionScratch struct {
	words         []uint16
	k, v, vt      []tensorcore.Decoded // keys and values, [keys,Width], and values [Width,keys]
	q             []tensorcore.Decoded // a query
	s, sums       []float32
	all, kept     []tensorcore.Decoded // the probabilities in a block
	maskOfDropout []bool
}

func newAttention(job *backend.AttentionJob, workers int) (*attention, error) {
	var errs []error
	w, keys := job.Width, roundUp(job.TK, backend.AttentionBlock)
	p := &attention{job: job, keys: keys, a: float32(job.Scale * log2E), dropout: dropoutOf(job.Dropout, &errs),
		q: matrixOf[tensor.BFloat16](job.Q, &errs), k: matrixOf[tensor.BFloat16](job.K, &errs), v: matrixOf[tensor.BFloat16](job.V, &errs), o: matrixOf[tensor.BFloat16](job.O, &errs),
		pad: matrixOf[uint8](job.Pad, &errs), logSum: elementsOf[float32](job.LogSum, &errs), workers: make([]attentionScratch, workers)}
	for i := range p.ones {
		decode(p.ones[i:i+1], []uint16{0x3f80})
	}
	list := func(n int) []tensorcore.Decoded { return make([]tensorcore.Decoded, n) }
	for i := range p.workers {
		p.workers[i] = attentionScratch{words: make([]uint16, max(keys, w)), k: list(keys * w), v: list(keys * w), vt: list(w * keys), q: list(w), s: make([]float32, keys), sums: make([]float32, w),
			all: list(backend.AttentionBlock), kept: list(backend.AttentionBlock), maskOfDropout: make([]bool, keys)}
	}
	return p, errors.Join(errs...)
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

func decode(dst []tensorcore.Decoded, src []uint16) { tensorcore.Decode(tensorcore.BFloat16, dst, src) }

// plan returns a plan with one piece for each head.
func (p *attention) plan(b *Backend, bound backend.Bound, do func(head, worker int)) backend.Plan {
	plan := &nnPlan{boundPlan: boundPlan{bound: bound}, backend: b, begin: p.dropout.begin}
	plan.tasks = []*task{{pieces: p.job.B * p.job.Heads, do: do}}
	return plan
}

// Attention plans softmax attention over the heads in a batch.
func (b *Backend) Attention(job *backend.AttentionJob) (backend.Plan, error) {
	if !b.exact {
		return b.fastAttention(job)
	}
	p, err := newAttention(job, b.workers)
	if err != nil {
		return nil, err
	}
	return p.plan(b, job.Bound(), p.head), nil
}

// head computes one head in a batch row.
func (p *attention) head(head, worker int) {
	j, w := p.job, &p.workers[worker]
	row, column := head/j.Heads, head%j.Heads*j.Width
	p.take(w, row, column)
	transpose(w.vt, w.v, p.keys, j.Width)
	for t := range j.TQ {
		p.scores(w, row, column, t)
		l, ref := float32(0), float32(firstReference)
		clear(w.sums)
		p.dropped(w, head, t)
		for at := 0; at < p.keys; at += backend.AttentionBlock {
			l, ref = p.block(w, at, l, ref)
		}
		out, f := p.o.row(row*j.TQ+t, column+j.Width)[column:], float32(0)
		log := float32(math.Inf(1))
		if l != 0 {
			f, log = p.dropout.factor()/l, ref+fp32.Log2(l)
		}
		for i, s := range w.sums {
			out[i] = tensor.BF16FromF32(float32(s * f))
		}
		p.logSum[head*j.TQ+t] = log
	}
}

// block adds a block of keys to a query's sums. The scores are in w.s.
func (p *attention) block(w *attentionScratch, at int, l, ref float32) (float32, float32) {
	s, words := w.s[at:][:backend.AttentionBlock], w.words[:backend.AttentionBlock]
	most := s[0]
	for _, x := range s[1:] {
		most = max(most, x) // NaN, if any score is
	}
	if y := float32(most * p.a); !(y <= ref+mostAbove) {
		f := fp32.Exp2Down(ref - y)
		l = float32(l * f)
		for i := range w.sums {
			w.sums[i] = float32(w.sums[i] * f)
		}
		ref = y
	}
	for i, x := range s {
		words[i] = uint16(tensor.BF16FromF32(fp32.Exp2Down(fp32.FMA(x, p.a, -ref))))
	}
	decode(w.all, words)
	l = tensorcore.Hopper.Dot(tensorcore.Hopper.Dot(l, w.all[:16], p.ones[:]), w.all[16:], p.ones[:])
	for i, out := range w.maskOfDropout[at:][:backend.AttentionBlock] {
		if out {
			words[i] = 0
		}
	}
	decode(w.kept, words)
	for i := range w.sums {
		w.sums[i] = tensorcore.Hopper.Dot(w.sums[i], w.kept, w.vt[i*p.keys+at:][:backend.AttentionBlock])
	}
	return l, ref
}

// take decodes a head's keys and values. Keys that no query sees become zeros.
func (p *attention) take(w *attentionScratch, row, column int) {
	for k := range p.keys {
		takeRow(w.k[k*p.job.Width:], p.k, row*p.job.TK+k, column, w.words[:p.job.Width], p.there(row, k))
		takeRow(w.v[k*p.job.Width:], p.v, row*p.job.TK+k, column, w.words[:p.job.Width], p.there(row, k))
	}
}

// takeRow decodes one matrix row from the given column, as many elements as len(words). If there is false, it writes zeros.
func takeRow(to []tensorcore.Decoded, from matrix[tensor.BFloat16], row, column int, words []uint16, there bool) {
	clear(words)
	if there {
		for i, x := range from.row(row, column+len(words))[column:] {
			words[i] = uint16(x)
		}
	}
	decode(to, words)
}

// there reports whether any query may see key k.
func (p *attention) there(row, k int) bool {
	return k < p.job.TK && (!p.pad.there() || p.pad.row(row, p.job.TK)[k] == 0)
}

// scores computes query t's scores in w.s.
func (p *attention) scores(w *attentionScratch, row, column, t int) {
	takeRow(w.q, p.q, row*p.job.TQ+t, column, w.words[:p.job.Width], true)
	for k := range w.s {
		w.s[k] = unseenScore
		if p.there(row, k) && !(p.job.Causal && k > t) {
			w.s[k] = tensorcore.Hopper.Dot(0, w.q, w.k[k*p.job.Width:][:p.job.Width])
		}
	}
}

// dropped records which of query t's probabilities are dropped.
func (p *attention) dropped(w *attentionScratch, head, t int) {
	if p.dropout.state == nil {
		return
	}
	first := (uint64(head)*uint64(p.job.TQ) + uint64(t)) * uint64(p.job.TK)
	for k := range p.job.TK {
		n := first + uint64(k)
		w.maskOfDropout[k] = fp32.Words(p.dropout.seed, p.dropout.step, p.dropout.site, n/4)[n%4] < p.dropout.threshold
	}
}

// factor returns the multiplier for elements that are not dropped.
func (d *dropout) factor() float32 {
	if d.state == nil {
		return 1
	}
	return d.scale
}

// transpose writes a matrix [rows,columns] as [columns,rows].
func transpose(to, from []tensorcore.Decoded, rows, columns int) {
	for i := range rows {
		for j := range columns {
			to[j*rows+i] = from[i*columns+j]
		}
	}
}
