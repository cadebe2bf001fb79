package cpu

import (
	"errors"

	"github.com/robocache/robocache/ops/backend"
)

// The fast way makes products of panels: 16 columns of the second factor, one row of 16 after the other. A piece of work is some rows of the result,
// whatever the number of threads, and an element's sum goes by k ascending whichever piece it is in: so the bits are always the same.
const panel = 16

// few is up to how many multiplications the calling goroutine does alone: others would take longer to wake up.
const few = 1 << 17

// fastMatMul is a MatMul of float32.
type fastMatMul struct {
	*epilogue[float32]
	a, b          matrix[float32]
	panels        []float32 // of B: [N/16][K][16]
	rows          int       // of a piece: a divisor of NormRows
	dgamma, dbeta []float32 // of each block, for quarters
	workers       []fastMatMulScratch
}

type fastMatMulScratch struct {
	epilogueScratch
	rows []float32 // of the product, N apart
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

// pieces is how many pieces of n hold all.
func pieces(all, n int) int { return (all + n - 1) / n }

// rowsOfPieces is how many of m rows make a piece, such that all threads have some.
func (b *Backend) rowsOfPieces(m int) int {
	rows := backend.NormRows
	for rows > backend.NormRows/4 && pieces(m, rows) < 4*b.workers {
		rows /= 2
	}
	return rows
}

// unlessFew is a task for all threads, or one in a single piece if it is so little work that one thread does it sooner.
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

// pack makes panel n of B.
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

// quarters are those of a block.
func (p *fastMatMul) quarters(block int) (dgamma, dbeta quarters) {
	n := p.job.N
	return quarters{p.dgamma[block*4*n:][:4*n], n}, quarters{p.dbeta[block*4*n:][:4*n], n}
}

// end ends all blocks: a piece may be less than one.
func (p *fastMatMul) end() error {
	var s epilogueScratch
	for block := range pieces(p.job.M, backend.NormRows) {
		s.dgamma, s.dbeta = p.quarters(block)
		p.ended(block, &s)
	}
	return nil
}
