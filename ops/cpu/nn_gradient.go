package cpu

import (
	"errors"

	"github.com/robocache/robocache/internal/tensorcore"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// Of a product a piece has so many columns of DY, and takes so many rows apart at a time.
const (
	gradientColumns = 64
	gradientRows    = 8 * backend.GradientRows
)

// weightGradient is a WeightGradient in the exact way.
type weightGradient struct {
	job      *backend.WeightGradientJob
	partials matrix[float32]
	products []productGradient
	sums     []matrix[float32]
	pieces   []gradientPiece
	workers  []gradientScratch
}

type productGradient struct {
	*backend.ProductGradient
	dy, x matrix[tensor.BFloat16]
}

// gradientPiece is a part of an item's split: the columns of DY from first on, or all of a column sum.
type gradientPiece struct {
	product *productGradient // or nil, then
	sum     int
	split   int
	first   int
}

// gradientScratch has columns of DY, and panels of eight columns of all of X, taken apart.
type gradientScratch struct {
	words []uint16
	apart []tensorcore.Decoded
	dy    []tensorcore.Decoded
	x     [][8]tensorcore.Decoded
	ones  []tensorcore.Decoded
}

func (b *Backend) WeightGradient(job *backend.WeightGradientJob) (backend.Plan, error) {
	if !b.exact {
		return b.fastWeightGradient(job)
	}
	var errs []error
	p := &weightGradient{job: job, partials: matrixOf[float32](job.Partials, &errs), workers: make([]gradientScratch, b.workers)}
	widest := 0
	for i := range job.Products {
		g := &job.Products[i]
		p.products = append(p.products, productGradient{g, matrixOf[tensor.BFloat16](g.DY, &errs), matrixOf[tensor.BFloat16](g.X, &errs)})
		widest = max(widest, g.K)
	}
	for _, s := range job.Sums {
		p.sums = append(p.sums, matrixOf[float32](s.X, &errs))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for split := range job.Splits {
		for i := range p.products {
			for n := 0; n < p.products[i].N; n += gradientColumns {
				p.pieces = append(p.pieces, gradientPiece{&p.products[i], 0, split, n})
			}
		}
		for i := range p.sums {
			p.pieces = append(p.pieces, gradientPiece{nil, i, split, 0})
		}
	}
	for i := range p.workers {
		w := &p.workers[i]
		w.words, w.apart = make([]uint16, max(widest, gradientColumns)), make([]tensorcore.Decoded, max(widest, gradientColumns))
		w.dy, w.x = make([]tensorcore.Decoded, gradientColumns*gradientRows), make([][8]tensorcore.Decoded, widest/8*gradientRows)
		w.ones = make([]tensorcore.Decoded, gradientRows)
		one := []uint16{uint16(tensor.BF16FromF32(1))}
		for r := range w.ones {
			tensorcore.Decode(tensorcore.BFloat16, w.ones[r:r+1], one)
		}
	}
	return &nnPlan{boundPlan: boundPlan{bound: job.Bound()}, backend: b, tasks: []*task{{pieces: len(p.pieces), do: p.piece}}}, nil
}

func (p *weightGradient) piece(i, worker int) {
	piece := &p.pieces[i]
	if out := p.partials.row(piece.split, p.job.Partials.Dim(1)); piece.product != nil {
		p.product(out, piece, &p.workers[worker])
	} else {
		sum := &p.job.Sums[piece.sum]
		sumColumns(out[sum.Offset:][:sum.N], p.sums[piece.sum], sum.R, p.job.Splits, piece.split)
	}
}

// product makes the sums of a piece of a product.
func (p *weightGradient) product(out []float32, piece *gradientPiece, w *gradientScratch) {
	g := piece.product
	columns, per := min(gradientColumns, g.N-piece.first), backend.SplitRows(g.M, p.job.Splits)
	end := min((piece.split+1)*per, g.M)
	for n := range columns {
		clear(out[g.Offset+(piece.first+n)*g.Stride:][:g.K])
		if g.BiasOffset >= 0 {
			out[g.BiasOffset+piece.first+n] = 0
		}
	}
	for first := piece.split * per; first < end; first += gradientRows {
		rows := min(gradientRows, (end-first+backend.GradientRows-1)/backend.GradientRows*backend.GradientRows)
		for r := range rows {
			for i, d := range w.row(g.dy, piece.first, columns, first+r, end) {
				w.dy[i*gradientRows+r] = d
			}
			for i, d := range w.row(g.x, 0, g.K, first+r, end) {
				w.x[i/8*gradientRows+r][i%8] = d
			}
		}
		for n := range columns {
			dy := w.dy[n*gradientRows:][:rows]
			at := out[g.Offset+(piece.first+n)*g.Stride:][:g.K]
			for k := 0; k < g.K; k += 8 {
				tensorcore.Hopper.Dot8((*[8]float32)(at[k:]), dy, w.x[k/8*gradientRows:][:rows])
			}
			if g.BiasOffset >= 0 {
				at := &out[g.BiasOffset+piece.first+n]
				*at = tensorcore.Hopper.Dot(*at, dy, w.ones[:rows])
			}
		}
	}
}

// row takes n elements of a row apart, from a column on; those of a row from end on are zero.
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

// sumColumns adds the rows of a split of a matrix of r rows.
func sumColumns(out []float32, m matrix[float32], r, splits, split int) {
	clear(out)
	per := (r + splits - 1) / splits
	for row := split * per; row < min((split+1)*per, r); row++ {
		addTo(out, m.row(row, len(out)))
	}
}

// addTo adds a row of any length to another.
func addTo(out, x []float32) {
	whole := len(out) / panel * panel
	fast.add(out[:whole], x[:whole])
	plain.add(out[whole:], x[whole:])
}
