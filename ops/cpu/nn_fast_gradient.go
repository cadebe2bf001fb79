package cpu

import (
	"errors"

	"github.com/robocache/robocache/ops/backend"
)

// fastWeightGradient is a float32 WeightGradient.
type fastWeightGradient struct {
	job      *backend.WeightGradientJob
	gradient []float32
	products []fastProduct
	sums     []matrix[float32]
	pieces   []fastGradientPiece
	workers  []fastGradientScratch
}

type fastProduct struct {
	*backend.ProductGradient
	dy, x matrix[float32]
}

// fastGradientPiece is a piece of work: gradientColumns columns of DY from first on, or a column sum if product is nil.
type fastGradientPiece struct {
	product    *fastProduct
	sum, first int
}

// fastGradientScratch is one worker's memory: panels with gradientRows rows, for the current columns of DY and for 16 columns of
// X.
type fastGradientScratch struct {
	dy      [gradientColumns * gradientRows]float32
	x       [panel * gradientRows]float32
	columns columnSums
}

func (b *Backend) fastWeightGradient(job *backend.WeightGradientJob) (backend.Plan, error) {
	var errs []error
	p := &fastWeightGradient{job: job, gradient: elementsOf[float32](job.Gradient, &errs), products: make([]fastProduct, len(job.Products)), workers: make([]fastGradientScratch, b.workers)}
	work := 0
	for i := range job.Products {
		g := &job.Products[i]
		p.products[i] = fastProduct{g, matrixOf[float32](g.DY, &errs), matrixOf[float32](g.X, &errs)}
		work += g.M * g.N * g.K
		for n := 0; n < g.N; n += gradientColumns {
			p.pieces = append(p.pieces, fastGradientPiece{&p.products[i], 0, n})
		}
	}
	for i, s := range job.Sums {
		p.sums = append(p.sums, matrixOf[float32](s.X, &errs))
		work += s.R * s.N
		p.pieces = append(p.pieces, fastGradientPiece{sum: i})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &nnPlan{boundPlan: boundPlan{bound: job.Bound()}, backend: b, tasks: []*task{b.unlessFew(work, len(p.pieces), p.piece)}}, nil
}

func (p *fastWeightGradient) piece(i, worker int) {
	piece := &p.pieces[i]
	if piece.product != nil {
		p.product(p.gradient, piece, &p.workers[worker])
	} else {
		sum := &p.job.Sums[piece.sum]
		sumColumns(p.gradient[sum.Offset:][:sum.N], p.sums[piece.sum], sum.R, &p.workers[worker].columns)
	}
}

// product computes the sums for one piece of a product, rows ascending.
func (p *fastWeightGradient) product(out []float32, piece *fastGradientPiece, w *fastGradientScratch) {
	g := piece.product
	columns := min(gradientColumns, g.N-piece.first)
	var bias []float32
	if g.BiasOffset >= 0 {
		bias = out[g.BiasOffset+piece.first:][:columns]
		clear(bias)
	}
	for m := 0; m < g.M; m += gradientRows {
		rows := min(gradientRows, g.M-m)
		for n := 0; n < columns; n += panel {
			fast.pack(w.dy[n*gradientRows:], g.dy.data[m*g.dy.stride+piece.first+n:], g.dy.stride, rows)
			if bias != nil {
				fast.addRows(bias[n:], w.dy[n*gradientRows:], panel, rows)
			}
		}
		for k := 0; k < g.K; k += panel {
			fast.pack(w.x[:], g.x.data[m*g.x.stride+k:], g.x.stride, rows)
			for n := 0; n < columns; n += panel {
				c := out[g.Offset+(piece.first+n)*g.Stride+k:]
				fast.product(c, g.Stride, w.dy[n*gradientRows:], 1, panel, w.x[:], panel, rows, panel, m > 0)
			}
		}
	}
}
