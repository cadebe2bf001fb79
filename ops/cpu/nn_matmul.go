package cpu

import (
	"errors"

	"github.com/robocache/robocache/internal/tensorcore"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// matMul is an exact (bfloat16) MatMul. It decodes B first, and then computes blocks of NormRows rows.
type matMul struct {
	*epilogue[tensor.BFloat16]
	a, b    matrix[tensor.BFloat16]
	factors []tensorcore.Decoded // B decoded, [N,K]
	workers []matMulScratch
}

// matMulScratch is one worker's memory.
type matMulScratch struct {
	epilogueScratch
	words   []uint16 // one row
	factors []tensorcore.Decoded
}

// MatMul plans a matrix product with its epilogue.
func (b *Backend) MatMul(job *backend.MatMulJob) (backend.Plan, error) {
	if !b.exact {
		return b.fastMatMul(job)
	}
	var errs []error
	p := &matMul{epilogue: newEpilogue[tensor.BFloat16](job, &errs), a: matrixOf[tensor.BFloat16](job.A, &errs), b: matrixOf[tensor.BFloat16](job.B, &errs),
		factors: make([]tensorcore.Decoded, job.N*job.K), workers: make([]matMulScratch, b.workers)}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i := range p.workers {
		p.workers[i] = matMulScratch{newEpilogueScratch(job), make([]uint16, job.K), make([]tensorcore.Decoded, job.K)}
	}
	plan := &nnPlan{boundPlan: boundPlan{bound: job.Bound()}, backend: b}
	plan.begin = p.begin
	plan.tasks = []*task{{pieces: job.N, do: p.decode}, {pieces: (job.M + backend.NormRows - 1) / backend.NormRows, do: p.block}}
	return plan, nil
}

// decode decodes row n of Bᵀ.
func (p *matMul) decode(n, worker int) {
	words := p.workers[worker].words
	for k := range words {
		if p.job.Plain {
			words[k] = uint16(p.b.row(k, p.job.N)[n])
		} else {
			words[k] = uint16(p.b.row(n, p.job.K)[k])
		}
	}
	tensorcore.Decode(tensorcore.BFloat16, p.factors[n*p.job.K:][:p.job.K], words)
}

func (p *matMul) block(block, worker int) {
	w := &p.workers[worker]
	for m := block * backend.NormRows; m < min((block+1)*backend.NormRows, p.job.M); m++ {
		for k, x := range p.a.row(m, p.job.K) {
			w.words[k] = uint16(x)
		}
		tensorcore.Decode(tensorcore.BFloat16, w.factors, w.words)
		for n := range w.v {
			w.v[n] = tensorcore.Hopper.Dot(0, w.factors, p.factors[n*p.job.K:][:p.job.K])
		}
		p.row(m, &w.epilogueScratch)
	}
	p.ended(block, &w.epilogueScratch)
}
