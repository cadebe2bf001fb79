package view

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/doctor"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/tensor"
)

// curve is a stream prepared for drawing: its samples in time order, with the extremes in each block.
type curve struct {
	times  []int64 // ns, ascending
	width  int     // columns
	rows   lazy[table]
	source *tensor.Tensor
	gaps   []dataset.Span
	limit  int64 // a longer step breaks the line; 0 if none does
	core   cover.Cover
	stats  dataset.Stats
	back   int // steps back in time before the samples were sorted
	lost   int // samples with an invalid timestamp
	held   bool
}

// newCurve prepares a stream, either recorded or resampled. It returns nil if the stream has no samples.
func newCurve(s *dataset.Stream, recorded bool) (*curve, error) {
	c := &curve{stats: s.Stats(), width: len(s.Columns)}
	if recorded && cover.Disorder(s) != nil {
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

// values returns the values' table. The first call computes the extremes.
func (c *curve) values() (table, error) {
	return c.rows.get(func() (table, error) {
		switch c.source.DType() {
		case tensor.F64:
			return newBlocks[float64](c.source)
		case tensor.F32:
			return newBlocks[float32](c.source)
		}
		list, err := tensor.Floats(c.source)
		if err != nil {
			return nil, err
		}
		values, err := tensor.Of(list, c.source.Shape()...)
		if err != nil {
			return nil, err
		}
		return newBlocks[float64](values)
	})
}

// points are a line's points. A NaN value breaks the line.
type points struct {
	times  []int64
	values [][]float64 // by requested column
	rows   int         // samples in the range
	each   bool        // the points are the samples themselves, not extremes
}

// draw returns the points of columns between two times, ns, for a width in pixels. If there are few samples, these are the points, with one
// more beyond each end. Otherwise the points are the least and the greatest value in each pixel, half a pixel apart.
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
	// In float64, because a time plus a range may overflow int64.
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

// samples adds rows from to to-1 unchanged, with a break in each gap.
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

// add adds a point, or a break if row is nil.
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

func (p *points) appendTo(b []byte, start int64) []byte {
	b = fmt.Appendf(b, `"samples":%d,"each":%t,"t":`, p.rows, p.each)
	b = append(appendTimes(b, start, p.times...), `,"v":[`...)
	for i, v := range p.values {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNumbers(b, v)
	}
	return append(b, ']')
}

// spans returns the gaps that touch a range. Gaps less than a pixel apart are joined.
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

// extent returns the least and the greatest number in a list, without NaN; +Inf and -Inf if there is none.
func extent(list []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range list {
		if v == v {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high
}
