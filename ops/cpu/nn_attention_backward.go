package cpu

import (
	"errors"

	"github.com/robocache/robocache/internal/fp32"
	"github.com/robocache/robocache/internal/tensorcore"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// strip is how many queries a step processes when it sums over queries.
const strip = 16

// attentionBackward is an exact (bfloat16) AttentionBackward, computed one head at a time, in strips of queries.
type attentionBackward struct {
	*attention
	dO, dq, dk, dv matrix[tensor.BFloat16]
	workers        []attentionBackwardScratch
}

// attentionBackwardScratch is a worker's memory besides attentionScratch.
type attentionBackwardScratch struct {
	kt     []tensorcore.Decoded // keys, [Width,keys]
	q, o   []tensorcore.Decoded // queries, and rows of DO, [strip,Width]
	qt, ot []tensorcore.Decoded // the same, [Width,strip]
	p, d   []tensorcore.Decoded // [strip,keys]
	pt, dt []tensorcore.Decoded // [keys,strip]
	dk, dv []float32            // [keys,Width]
	words  []uint16             // two rows of keys
}

// AttentionBackward plans the gradients of Attention.
func (b *Backend) AttentionBackward(job *backend.AttentionBackwardJob) (backend.Plan, error) {
	if !b.exact {
		return b.fastAttentionBackward(job)
	}
	var errs []error
	common, err := newAttention(&job.AttentionJob, b.workers)
	errs = append(errs, err)
	p := &attentionBackward{attention: common, dO: matrixOf[tensor.BFloat16](job.DO, &errs), dq: matrixOf[tensor.BFloat16](job.DQ, &errs), dk: matrixOf[tensor.BFloat16](job.DK, &errs),
		dv: matrixOf[tensor.BFloat16](job.DV, &errs), workers: make([]attentionBackwardScratch, b.workers)}
	list := func(n int) []tensorcore.Decoded { return make([]tensorcore.Decoded, n) }
	for i := range p.workers {
		w, keys := job.Width, common.keys
		p.workers[i] = attentionBackwardScratch{list(w * keys), list(strip * w), list(strip * w), list(w * strip), list(w * strip), list(strip * keys), list(strip * keys),
			list(keys * strip), list(keys * strip), make([]float32, keys*w), make([]float32, keys*w), make([]uint16, 2*keys)}
	}
	return p.plan(b, job.Bound(), p.head), errors.Join(errs...)
}

func (p *attentionBackward) head(head, worker int) {
	j, w, own := p.job, &p.attention.workers[worker], &p.workers[worker]
	row, column := head/j.Heads, head%j.Heads*j.Width
	p.take(w, row, column)
	transpose(own.kt, w.k, p.keys, j.Width)
	clear(own.dk)
	clear(own.dv)
	for first := 0; first < j.TQ; first += strip {
		p.strip(w, own, head, first)
	}
	for k := range j.TK {
		dk, dv := p.dk.row(row*j.TK+k, column+j.Width)[column:], p.dv.row(row*j.TK+k, column+j.Width)[column:]
		for i := range dk {
			dk[i] = tensor.BF16FromF32(float32(own.dk[k*j.Width+i] * j.Scale))
			dv[i] = tensor.BF16FromF32(float32(own.dv[k*j.Width+i] * p.dropout.factor()))
		}
	}
}

// strip processes the queries from first on. It writes their DQ and adds to the sums for DK and DV.
func (p *attentionBackward) strip(w *attentionScratch, own *attentionBackwardScratch, head, first int) {
	j, width := p.job, p.job.Width
	row, column := head/j.Heads, head%j.Heads*j.Width
	for i := range strip {
		there := first+i < j.TQ
		takeRow(own.q[i*width:], p.q, row*j.TQ+first+i, column, w.words[:width], there)
		takeRow(own.o[i*width:], p.dO, row*j.TQ+first+i, column, w.words[:width], there)
		ps, ds := own.words[:p.keys], own.words[p.keys:]
		clear(own.words)
		if there {
			p.query(w, ps, ds, own.o[i*width:][:width], head, first+i)
		}
		decode(own.p[i*p.keys:], ps)
		decode(own.d[i*p.keys:], ds)
	}
	transpose(own.qt, own.q, strip, width)
	transpose(own.ot, own.o, strip, width)
	transpose(own.pt, own.p, strip, p.keys)
	transpose(own.dt, own.d, strip, p.keys)
	for i := range min(strip, j.TQ-first) {
		dq := p.dq.row(row*j.TQ+first+i, column+width)[column:]
		for c := range dq {
			dq[c] = tensor.BF16FromF32(float32(tensorcore.Hopper.Dot(0, own.d[i*p.keys:][:p.keys], own.kt[c*p.keys:][:p.keys]) * j.Scale))
		}
	}
	for k := range j.TK {
		for c := range width {
			dk, dv := &own.dk[k*width+c], &own.dv[k*width+c]
			*dk = tensorcore.Hopper.Dot(*dk, own.dt[k*strip:][:strip], own.qt[c*strip:][:strip])
			*dv = tensorcore.Hopper.Dot(*dv, own.pt[k*strip:][:strip], own.ot[c*strip:][:strip])
		}
	}
}

// query computes, for query t, the probabilities after dropout and the scores' gradients, both rounded. do is the query's row of DO.
func (p *attentionBackward) query(w *attentionScratch, ps, ds []uint16, do []tensorcore.Decoded, head, t int) {
	j := p.job
	row, column := head/j.Heads, head%j.Heads*j.Width
	p.scores(w, row, column, t)
	p.dropped(w, head, t)
	log, delta := p.logSum[head*j.TQ+t], p.delta(row*j.TQ+t, column)
	for k, s := range w.s {
		x := fp32.Exp2Down(fp32.FMA(s, p.a, -log))
		g := float32(tensorcore.Hopper.Dot(0, do, w.v[k*j.Width:][:j.Width]) * p.dropout.factor())
		if w.maskOfDropout[k] {
			g = 0
		} else {
			ps[k] = uint16(tensor.BF16FromF32(x))
		}
		ds[k] = uint16(tensor.BF16FromF32(float32(x * (g - delta))))
	}
}

// delta returns the sum of DO*O over a head's columns in a row. It first adds groups of 8 columns, and then neighbouring sums.
func (p *attentionBackward) delta(row, column int) float32 {
	var sums [8]float32
	n := p.job.Width / 8
	do, o := p.dO.row(row, column+p.job.Width)[column:], p.o.row(row, column+p.job.Width)[column:]
	for i := range do {
		sums[i/8] += float32(do[i].F32() * o[i].F32())
	}
	for ; n > 1; n /= 2 {
		for i := range n / 2 {
			sums[i] = sums[2*i] + sums[2*i+1]
		}
	}
	return sums[0]
}
