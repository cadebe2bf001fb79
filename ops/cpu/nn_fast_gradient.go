package cpu

import (
	"errors"

	"github.com/robocache/robocache/ops/backend"
)

// fastWeightGradient is a WeightGradient of float32.
type fastWeightGradient struct {
	job      *backend.WeightGradientJob
	partials matrix[float32]
	products []fastProduct
	sums     []matrix[float32]
	pieces   []fastGradientPiece
	workers  []fastGradientScratch
}

type fastProduct struct {
	*backend.ProductGradient
	dy, x matrix[float32]
}

// fastGradientPiece is a part of an item's split: gradientColumns of DY from first on; or, without a product, a column sum.
type fastGradientPiece struct {
	product           *fastProduct
	sum, split, first int
}

// fastGradientScratch has panels of gradientRows rows: of all columns of DY at hand, and of 16 of X.
type fastGradientScratch struct {
	dy [gradientColumns * gradientRows]float32
	x  [panel * gradientRows]float32
}

func (b *Backend) fastWeightGradient(job *backend.WeightGradientJob) (backend.Plan, error) {
	var errs []error
	p := &fastWeightGradient{job: job, partials: matrixOf[float32](job.Partials, &errs), products: make([]fastProduct, len(job.Products)), workers: make([]fastGradientScratch, b.workers)}
	work := 0
	for i := range job.Products {
		g := &job.Products[i]
		p.products[i] = fastProduct{g, matrixOf[float32](g.DY, &errs), matrixOf[float32](g.X, &errs)}
		work += g.M * g.N * g.K
		for split := range job.Splits {
			for n := 0; n < g.N; n += gradientColumns {
				p.pieces = append(p.pieces, fastGradientPiece{&p.products[i], 0, split, n})
			}
		}
	}
	for i, s := range job.Sums {
		p.sums = append(p.sums, matrixOf[float32](s.X, &errs))
		work += s.R * s.N
		for split := range job.Splits {
			p.pieces = append(p.pieces, fastGradientPiece{sum: i, split: split})
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &nnPlan{boundPlan: boundPlan{bound: job.Bound()}, backend: b, tasks: []*task{b.unlessFew(work, len(p.pieces), p.piece)}}, nil
}

func (p *fastWeightGradient) piece(i, worker int) {
	piece := &p.pieces[i]
	if out := p.partials.row(piece.split, p.job.Partials.Dim(1)); piece.product != nil {
		p.product(out, piece, &p.workers[worker])
	} else {
		sum := &p.job.Sums[piece.sum]
		sumColumns(out[sum.Offset:][:sum.N], p.sums[piece.sum], sum.R, p.job.Splits, piece.split)
	}
}

// product makes the sums of a piece of a product, rows ascending.
func (p *fastWeightGradient) product(out []float32, piece *fastGradientPiece, w *fastGradientScratch) {
	g := piece.product
	columns, per := min(gradientColumns, g.N-piece.first), backend.SplitRows(g.M, p.job.Splits)
	from, end := piece.split*per, min((piece.split+1)*per, g.M)
	var bias []float32
	if g.BiasOffset >= 0 {
		bias = out[g.BiasOffset+piece.first:][:columns]
		clear(bias)
	}
	if from >= end {
		for n := range columns {
			clear(out[g.Offset+(piece.first+n)*g.Stride:][:g.K])
		}
		return
	}
	for m := from; m < end; m += gradientRows {
		rows := min(gradientRows, end-m)
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
				fast.product(c, g.Stride, w.dy[n*gradientRows:], 1, panel, w.x[:], panel, rows, panel, m > from)
			}
		}
	}
}
