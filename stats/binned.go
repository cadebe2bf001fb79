package stats

import (
	"slices"

	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/tensor"
)

// binned are quantiles as LeRobot has them: see Column.Binned.
type binned struct {
	Columns [][]float64 `json:",omitempty"` // of each column
	Broken  bool        `json:",omitempty"` // some episode has a value that is not finite, or extremes as far apart as T reaches
}

// bin takes an episode's values.
func (s *State) bin(own *stream, values *tensor.Tensor) error {
	if values.Len() == 0 {
		return nil
	}
	values, err := values.Contiguous()
	if err != nil {
		return err
	}
	var b binned
	if values.DType() == tensor.F64 {
		list, err := tensor.Data[float64](values)
		if err != nil {
			return err
		}
		b = binnedOf(list, values.Dim(1))
	} else {
		list, err := tensor.Floats(values)
		if err != nil {
			return err
		}
		narrow := make([]float32, len(list))
		for i, v := range list {
			narrow[i] = float32(v)
		}
		b = binnedOf(narrow, values.Dim(1))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	own.Binned.merge(&b)
	return nil
}

// binnedOf returns the quantiles of an episode.
func binnedOf[T summary.Float](rows []T, width int) (b binned) {
	if slices.ContainsFunc(rows, func(v T) bool { return v-v != 0 }) {
		return binned{Broken: true}
	}
	for _, c := range summary.Block(rows, width) {
		if slices.ContainsFunc(c.Quantiles[:], func(q float64) bool { return q-q != 0 }) { // the bins between such extremes have no width in T
			return binned{Broken: true}
		}
		b.Columns = append(b.Columns, slices.Clone(c.Quantiles[:]))
	}
	return b
}

// merge joins the quantiles of some episodes with those of others.
func (b *binned) merge(o *binned) {
	b.Broken = b.Broken || o.Broken
	switch {
	case b.Broken:
		b.Columns = nil
	case b.Columns == nil:
		b.Columns = o.Columns
	case o.Columns != nil:
		for c, list := range b.Columns {
			summary.MergeQuantiles(list, o.Columns[c])
		}
	}
}

// column returns the quantiles of a column, nil where they are not known.
func (b *binned) column(c int) []float64 {
	if c >= len(b.Columns) {
		return nil
	}
	return slices.Clone(b.Columns[c])
}

// fits reports whether the quantiles have width columns.
func (b *binned) fits(width int) bool {
	return b.Columns == nil || len(b.Columns) == width && !slices.ContainsFunc(b.Columns, func(list []float64) bool { return len(list) != len(summary.Quantiles) })
}
