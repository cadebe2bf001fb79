package cpu

import (
	"errors"

	"github.com/robocache/robocache/internal/tensorcore"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// A piece of a product covers gradientColumns columns of DY, and decodes gradientRows rows at a time.
const (
	gradientColumns = 64
	gradientRows    = 4 * backend.GradientRows
)

// weightGradient is an exact (bfloat16) WeightGradient.
type weightGradient struct {
	job      *backend.WeightGradientJob
	gradient []float32
	products []productGradient
	sums     []matrix[float32]
	pieces   []gradientPiece
	workers  []gradientScratch
}

type productGradient struct {
	*backend.ProductGradient
	dy, x matrix[tensor.BFloat16]
}

// gradientPiece is a piece of work: the columns of DY from first on, or a whole column sum.
type gradientPiece struct {
	product *productGradient // nil for a column sum
	sum     int
	first   int
}

// gradientScratch is one worker's memory: decoded columns of DY, panels with eight decoded columns each for all of X, and the sums
// for each split.
type gradientScratch struct {
	words   []uint16
	apart   []tensorcore.Decoded
	dy      []tensorcore.Decoded
	x       [][8]tensorcore.Decoded
	ones    []tensorcore.Decoded
	sums    [][]float32 // for each split and each column of DY: the sums for X's columns, and the column's own sum
	columns columnSums
}

// WeightGradient plans a MatMul's gradient with respect to its weights.
func (b *Backend) WeightGradient(job *backend.WeightGradientJob) (backend.Plan, error) {
	if !b.exact {
		return b.fastWeightGradient(job)
	}
	var errs []error
	p := &weightGradient{job: job, gradient: elementsOf[float32](job.Gradient, &errs), workers: make([]gradientScratch, b.workers)}
	widest := 0
	for i := range job.Products {
		g := &job.Products[i]
		p.products = append(p.products, productGradient{g, matrixOf[tensor.BFloat16](g.DY, &errs), matrixOf[tensor.BFloat16](g.X, &errs)})
		widest = max(widest, g.K)
	}
	for i, s := range job.Sums {
		p.sums = append(p.sums, matrixOf[float32](s.X, &errs))
		p.pieces = append(p.pieces, gradientPiece{sum: i})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for i := range p.products {
		for n := 0; n < p.products[i].N; n += gradientColumns {
			p.pieces = append(p.pieces, gradientPiece{product: &p.products[i], first: n})
		}
	}
	for i := range p.workers {
		w := &p.workers[i]
		w.words, w.apart = make([]uint16, max(widest, gradientColumns)), make([]tensorcore.Decoded, max(widest, gradientColumns))
		w.dy, w.x = make([]tensorcore.Decoded, gradientColumns*gradientRows), make([][8]tensorcore.Decoded, widest/8*gradientRows)
		w.ones, w.sums = make([]tensorcore.Decoded, gradientRows), make([][]float32, job.Splits)
		for s := range w.sums {
			w.sums[s] = make([]float32, gradientColumns*(widest+1))
		}
		one := []uint16{uint16(tensor.BF16FromF32(1))}
		for r := range w.ones {
			tensorcore.Decode(tensorcore.BFloat16, w.ones[r:r+1], one)
		}
	}
	return &nnPlan{boundPlan: boundPlan{bound: job.Bound()}, backend: b, tasks: []*task{{pieces: len(p.pieces), do: p.piece}}}, nil
}

func (p *weightGradient) piece(i, worker int) {
	piece := &p.pieces[i]
	if g := piece.product; g != nil {
		w, columns, per := &p.workers[worker], min(gradientColumns, g.N-piece.first), backend.SplitRows(g.M, p.job.Splits)
		splits := (g.M + per - 1) / per
		for s := range splits {
			w.split(g, w.sums[s], piece.first, columns, s*per, min((s+1)*per, g.M))
		}
		for step := 1; step < splits; step *= 2 {
			for s := 0; s+step < splits; s += 2 * step {
				for i, x := range w.sums[s+step][:columns*(g.K+1)] {
					w.sums[s][i] += x
				}
			}
		}
		p.put(g, piece.first, columns, w.sums[0])
		return
	}
	sum := &p.job.Sums[piece.sum]
	sumColumns(p.gradient[sum.Offset:][:sum.N], p.sums[piece.sum], sum.R, &p.workers[worker].columns)
}

// split computes the sums over a split's rows, first to end-1, for some columns of DY.
func (w *gradientScratch) split(g *productGradient, all []float32, column, columns, first, end int) {
	clear(all)
	for ; first < end; first += gradientRows {
		rows := min(gradientRows, (end-first+backend.GradientRows-1)/backend.GradientRows*backend.GradientRows)
		for r := range rows {
			for i, d := range w.row(g.dy, column, columns, first+r, end) {
				w.dy[i*gradientRows+r] = d
			}
			for i, d := range w.row(g.x, 0, g.K, first+r, end) {
				w.x[i/8*gradientRows+r][i%8] = d
			}
		}
		for n := range columns {
			dy, sums := w.dy[n*gradientRows:][:rows], all[n*(g.K+1):][:g.K+1]
			for k := 0; k < g.K; k += 8 {
				tensorcore.Hopper.Dot8((*[8]float32)(sums[k:]), dy, w.x[k/8*gradientRows:][:rows])
			}
			if g.BiasOffset >= 0 {
				sums[g.K] = tensorcore.Hopper.Dot(sums[g.K], dy, w.ones[:rows])
			}
		}
	}
}

// put writes the sums for some columns of DY.
func (p *weightGradient) put(g *productGradient, column, columns int, sums []float32) {
	for n := range columns {
		own := sums[n*(g.K+1):][:g.K+1]
		copy(p.gradient[g.Offset+(column+n)*g.Stride:], own[:g.K])
		if g.BiasOffset >= 0 {
			p.gradient[g.BiasOffset+column+n] = own[g.K]
		}
	}
}

// row decodes n elements of a row, starting at a column. Rows from end on are zero.
func (w *gradientScratch) row(m matrix[tensor.BFloat16], column, n, row, end int) []tensorcore.Decoded {
	words, apart := w.words[:n], w.apart[:n]
	clear(words)
	if row < end {
		for i, x := range m.row(row, column+n)[column:] {
			words[i] = uint16(x)
		}
	}
	tensorcore.Decode(tensorcore.BFloat16, apart, words)
	return apart
}

// columnSums holds four partial sums for up to 256 columns of a ColumnSum.
type columnSums [4][256]float32

// sumColumns adds the r rows of a matrix. It first adds every fourth row separately, and then the four sums.
func sumColumns(out []float32, m matrix[float32], r int, sums *columnSums) {
	for first := 0; first < len(out); first += len(sums[0]) {
		n := min(len(sums[0]), len(out)-first)
		for i := range sums {
			clear(sums[i][:n])
		}
		for row := range r {
			addTo(sums[row%4][:n], m.row(row, first+n)[first:])
		}
		for i := range n {
			out[first+i] = sums[0][i] + sums[1][i] + sums[2][i] + sums[3][i]
		}
	}
}

// addTo adds a row to another. The length need not be a multiple of 16.
func addTo(out, x []float32) {
	whole := len(out) / panel * panel
	fast.add(out[:whole], x[:whole])
	plain.add(out[whole:], x[whole:])
}
