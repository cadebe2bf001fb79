package view

import (
	"math"

	"github.com/robocache/robocache/tensor"
)

// fan is the number of blocks in one block on the next level.
const fan = 16

// table is a stream's values [S,D].
type table interface {
	at(row, column int) float64
	// extremes sets each column's least and greatest finite value in rows from to to-1, or +Inf and -Inf if a column has none.
	extremes(from, to int, low, high []float64)
}

// blocks is a table with the extremes of 16, 256, ... rows.
type blocks[F float32 | float64] struct {
	data   []F
	d      int
	levels []level[F]
}

type level[F float32 | float64] struct{ low, high []F } // [blocks,D]

func newBlocks[F float32 | float64](values *tensor.Tensor) (table, error) {
	data, err := tensor.Packed[F](values)
	if err != nil {
		return nil, err
	}
	b := &blocks[F]{data: data, d: values.Dim(1)}
	if b.d == 0 {
		return b, nil
	}
	low, high := data, data
	for rows := values.Dim(0) / fan; rows > 0; rows /= fan { // a level's last block is left out unless it is full
		var next level[F]
		next.low, next.high = make([]F, rows*b.d), make([]F, rows*b.d)
		for i := range rows {
			lo, hi := next.low[i*b.d:(i+1)*b.d], next.high[i*b.d:(i+1)*b.d]
			for k := range lo {
				lo[k], hi[k] = F(math.Inf(1)), F(math.Inf(-1))
			}
			for j := i * fan; j < (i+1)*fan; j++ {
				widen(lo, hi, low[j*b.d:(j+1)*b.d], high[j*b.d:(j+1)*b.d])
			}
		}
		b.levels = append(b.levels, next)
		low, high = next.low, next.high
	}
	return b, nil
}

// widen updates extremes by a row or a block. It ignores values that are not finite, because an empty block's extremes are infinite,
// too.
func widen[F, T float32 | float64](lo, hi []T, low, high []F) {
	hi, low, high = hi[:len(lo)], low[:len(lo)], high[:len(lo)]
	least, most := F(math.Inf(-1)), F(math.Inf(1))
	for k := range lo {
		if v := low[k]; T(v) < lo[k] && v > least {
			lo[k] = T(v)
		}
		if v := high[k]; T(v) > hi[k] && v < most {
			hi[k] = T(v)
		}
	}
}

func (b *blocks[F]) at(row, column int) float64 { return float64(b.data[row*b.d+column]) }

func (b *blocks[F]) extremes(from, to int, low, high []float64) {
	for k := range low {
		low[k], high[k] = math.Inf(1), math.Inf(-1)
	}
	if b.d > 0 {
		b.take(-1, from, to, low, high)
	}
}

// take updates the extremes low and high by level at's blocks with the indexes from to to-1, or by rows if at is -1. It uses full
// blocks on the next level if possible.
func (b *blocks[F]) take(at, from, to int, low, high []float64) {
	lows, highs := b.data, b.data
	if at >= 0 {
		lows, highs = b.levels[at].low, b.levels[at].high
	}
	one := func(i int) { widen(low, high, lows[i*b.d:(i+1)*b.d], highs[i*b.d:(i+1)*b.d]) }
	if at+1 < len(b.levels) {
		above := len(b.levels[at+1].low) / b.d
		if first, last := (from+fan-1)/fan, min(to/fan, above); first < last {
			for ; from < first*fan; from++ {
				one(from)
			}
			b.take(at+1, first, last, low, high)
			from = last * fan
		}
	}
	for ; from < to; from++ {
		one(from)
	}
}
