package cpu

import (
	"errors"

	"github.com/robocache/robocache/ops/backend"
)

// The float32 product packs the second factor into panels: 16 columns, stored row after row. A piece of work is some rows of the
// result. Each element is summed by ascending k in any piece, so the bits do not depend on the thread count.
const panel = 16

// few is the multiplication count up to which the calling goroutine works alone. Waking other workers would take longer.
const few = 1 << 17

// fastMatMul is a float32 MatMul.
type fastMatMul struct {
	*epilogue[float32]
	a, b          matrix[float32]
	panels        []float32 // B as panels: [N/16][K][16]
	rows          int       // rows per piece: a divisor of NormRows
	dgamma, dbeta []float32 // per block, for quarters
	workers       []fastMatMulScratch
}

type fastMatMulScratch struct {
	epilogueScratch
	rows []float32 // rows of the product, N elements apart
}

func (b *Backend) fastMatMul(job *backend.MatMulJob) (backend.Plan, error) {
	var errs []error
	p := &fastMatMul{epilogue: newEpilogue[float32](job, &errs), a: matrixOf[float32](job.A, &errs), b: matrixOf[float32](job.B, &errs),
		panels: make([]float32, job.N*job.K), rows: b.rowsOfPieces(job.M), workers: make([]fastMatMulScratch, b.workers)}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i := range p.workers {
		p.workers[i] = fastMatMulScratch{newEpilogueScratch(job), make([]float32, p.rows*job.N)}
	}
	plan := &nnPlan{boundPlan: boundPlan{bound: job.Bound()}, backend: b, begin: p.begin}
	if job.NormBack != nil {
		blocks := pieces(job.M, backend.NormRows)
		p.dgamma, p.dbeta = make([]float32, blocks*4*job.N), make([]float32, blocks*4*job.N)
		plan.end = p.end
	}
	plan.tasks = []*task{b.unlessFew(job.N*job.K*8, job.N/panel, p.pack), b.unlessFew(job.M*job.N*job.K, pieces(job.M, p.rows), p.piece)}
	return plan, nil
}

// pieces counts the pieces with n elements that cover all elements.
func pieces(all, n int) int { return (all + n - 1) / n }

// rowsOfPieces returns the rows per piece for m rows, chosen so that all threads get work.
func (b *Backend) rowsOfPieces(m int) int {
	rows := backend.NormRows
	for rows > backend.NormRows/4 && pieces(m, rows) < 4*b.workers {
		rows /= 2
	}
	return rows
}

// unlessFew returns a task for all threads, or for one thread if there is so little work that one thread is faster.
func (b *Backend) unlessFew(work, pieces int, do func(piece, worker int)) *task {
	if work > few || b.workers == 1 {
		return &task{pieces: pieces, do: do}
	}
	return &task{pieces: 1, do: func(_, worker int) {
		for i := range pieces {
			do(i, worker)
		}
	}}
}

// pack packs panel n of B.
func (p *fastMatMul) pack(n, _ int) {
	k := p.job.K
	to := p.panels[n*panel*k:][:panel*k]
	if !p.job.Plain {
		fast.transpose(to, p.b.data[n*panel*p.b.stride:], p.b.stride, k)
		return
	}
	fast.pack(to, p.b.data[n*panel:], p.b.stride, k)
}

func (p *fastMatMul) piece(piece, worker int) {
	w, n, k := &p.workers[worker], p.job.N, p.job.K
	m := piece * p.rows
	rows := min(p.rows, p.job.M-m)
	for c := 0; c < n; c += panel {
		fast.product(w.rows[c:], n, p.a.data[m*p.a.stride:], p.a.stride, 1, p.panels[c*k:], panel, k, rows, false)
	}
	if p.dgamma != nil {
		w.epilogueScratch.dgamma, w.epilogueScratch.dbeta = p.quarters(m / backend.NormRows)
	}
	for r := range rows {
		w.v = w.rows[r*n : (r+1)*n]
		p.row(m+r, &w.epilogueScratch)
	}
}

// quarters returns the quarters for a block.
func (p *fastMatMul) quarters(block int) (dgamma, dbeta quarters) {
	n := p.job.N
	return quarters{p.dgamma[block*4*n:][:4*n], n}, quarters{p.dbeta[block*4*n:][:4*n], n}
}

// end calls ended for all blocks, because a piece may be smaller than a block.
func (p *fastMatMul) end() error {
	var s epilogueScratch
	for block := range pieces(p.job.M, backend.NormRows) {
		s.dgamma, s.dbeta = p.quarters(block)
		p.ended(block, &s)
	}
	return nil
}
