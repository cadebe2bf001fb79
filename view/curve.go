package view

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/doctor"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/tensor"
)

// fan is how many blocks make one of the next level.
const fan = 16

// curve is a stream as it is drawn: its samples in the order of their times, with the extremes of blocks of them.
type curve struct {
	times  []int64 // ns, ascending
	width  int     // columns
	rows   once[table]
	source *tensor.Tensor
	gaps   []dataset.Span
	limit  int64 // a line is broken where a step is longer; 0 for never
	core   cover.Cover
	stats  dataset.Stats
	back   int // steps back in time as recorded, over which the samples were sorted
	lost   int // samples whose timestamp is no time
	held   bool
}

// table is the values [S,D] of a stream.
type table interface {
	at(row, column int) float64
	// extremes sets the least and greatest finite value of each column over rows from to to-1: +Inf and -Inf where there is none.
	extremes(from, to int, low, high []float64)
}

// newCurve prepares a stream, recorded or made of one. One of which nothing can be drawn, as it has no samples, is nil.
func newCurve(s *dataset.Stream, recorded bool) (*curve, error) {
	c := &curve{stats: s.Stats(), width: len(s.Columns)}
	if recorded && align.Disorder(s) != nil {
		sorted, back, lost, err := s.Sorted()
		if err != nil {
			return nil, err
		}
		s, c.back, c.lost = &sorted, back, lost
	}
	c.times = s.Nanoseconds()
	if len(c.times) == 0 {
		return nil, nil
	}
	c.source = s.Values
	var err error
	if _, c.core, _, _, err = cover.Core(s); err != nil {
		return nil, fmt.Errorf("stream %s: %w", s.Name, err)
	}
	seconds := float64(c.core.Last-c.core.First) / 1e9
	c.held = s.AllInteger() && float64(len(c.times)) < seconds
	if recorded && !c.held && c.stats.Median > 0 {
		c.gaps, c.limit = doctor.Gaps(s.Name, c.times, c.stats)
	}
	return c, nil
}

// values returns the values, whose extremes are looked for the first time.
func (c *curve) values() (table, error) {
	return c.rows.get(func() (table, error) {
		values, err := c.source.Contiguous()
		if err != nil {
			return nil, err
		}
		switch values.DType() {
		case tensor.F64:
			return newBlocks[float64](values)
		case tensor.F32:
			return newBlocks[float32](values)
		}
		list, err := tensor.Floats(values)
		if err != nil {
			return nil, err
		}
		if values, err = tensor.Of(list, values.Shape()...); err != nil {
			return nil, err
		}
		return newBlocks[float64](values)
	})
}

// blocks is a table with the extremes of 16, 256, ... rows.
type blocks[F float32 | float64] struct {
	data   []F
	d      int
	levels []level[F]
}

type level[F float32 | float64] struct{ low, high []F } // [blocks,D]

func newBlocks[F float32 | float64](values *tensor.Tensor) (table, error) {
	data, err := tensor.Data[F](values)
	if err != nil {
		return nil, err
	}
	b := &blocks[F]{data: data, d: values.Dim(1)}
	if b.d == 0 {
		return b, nil
	}
	low, high := data, data
	for rows := values.Dim(0) / fan; rows > 0; rows /= fan { // a block that is not full is left to the level below
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

// widen takes a row into extremes. What is not finite is passed over: an empty block's extremes are infinite, too.
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

// take takes blocks from to to-1 of a level in, -1 for the rows themselves: those that fill blocks of the next level by these.
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

// points are what is drawn of a curve. Values are NaN where there is nothing, which breaks the line.
type points struct {
	times  []int64
	values [][]float64 // of each column that was asked for
	rows   int         // samples in the range
	each   bool        // the points are the samples themselves, not extremes
}

// draw returns what to draw of columns between two times in so many pixels: the samples and one beyond either end where they are few, else the least
// and greatest of each pixel, the second half a pixel after the first.
func (c *curve) draw(from, to int64, pixels int, columns []int) (points, error) {
	values, err := c.values()
	if err != nil {
		return points{}, err
	}
	first := sort.Search(len(c.times), func(i int) bool { return c.times[i] >= from })
	last := first + sort.Search(len(c.times)-first, func(i int) bool { return c.times[first+i] > to })
	p := points{values: make([][]float64, len(columns)), rows: last - first, each: last-first <= 2*pixels}
	if p.each {
		c.samples(&p, values, max(first-1, 0), min(last+1, len(c.times)), columns)
		return p, nil
	}
	// In float64: the sum of a time and a range may lie beyond int64.
	pixel := (float64(to) - float64(from)) / float64(pixels)
	low, high := make([]float64, c.width), make([]float64, c.width)
	before := int64(math.MaxInt64)
	for i := range pixels {
		end := last
		edge := float64(from) + float64(i+1)*pixel
		if i+1 < pixels {
			end = first + sort.Search(last-first, func(k int) bool { return float64(c.times[first+k]) >= edge })
		}
		if end == first {
			continue
		}
		values.extremes(first, end, low, high)
		at := int64(edge - pixel)
		if c.limit > 0 && before < c.times[first] && c.times[first]-before > c.limit {
			p.add(before, nil, columns)
		}
		p.add(at, low, columns)
		p.add(at+int64(pixel/2), high, columns)
		before, first = c.times[end-1], end
	}
	return p, nil
}

// samples adds rows as they are, with a break in each gap.
func (c *curve) samples(p *points, values table, from, to int, columns []int) {
	row := make([]float64, c.width)
	for i := from; i < to; i++ {
		if c.limit > 0 && i > from && c.times[i]-c.times[i-1] > c.limit {
			p.add(c.times[i-1], nil, columns)
		}
		for _, k := range columns {
			row[k] = values.at(i, k)
		}
		p.add(c.times[i], row, columns)
	}
}

// add adds a point; nil is a break of the line.
func (p *points) add(at int64, row []float64, columns []int) {
	p.times = append(p.times, at)
	for i, k := range columns {
		v := math.NaN()
		if row != nil && !math.IsInf(row[k], 0) {
			v = row[k]
		}
		p.values[i] = append(p.values[i], v)
	}
}

// spans returns the gaps that touch a range, those less than a pixel apart as one.
func spans(gaps []dataset.Span, from, to int64, pixels int) []dataset.Span {
	at, _ := slices.BinarySearchFunc(gaps, from, func(g dataset.Span, t int64) int {
		if g.To < t {
			return -1
		}
		return 1
	})
	pixel := (to - from) / int64(pixels)
	var list []dataset.Span
	for _, g := range gaps[at:] {
		if g.From > to {
			break
		}
		if n := len(list); n > 0 && g.From-list[n-1].To < pixel {
			list[n-1].To = g.To
			continue
		}
		list = append(list, g)
	}
	return list
}
