package stats

import (
	"slices"

	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/tensor"
)

// binned has the quantiles of some episodes as LeRobot computes them: see Column.Binned. If Broken is set, Columns is nil.
type binned struct {
	Columns [][]float64 `json:",omitempty"` // for each column, in the order of LeRobot's quantiles
	Broken  bool        `json:",omitempty"` // an episode has a value that is not finite, or extremes with a difference that overflows T
}

// bin computes an episode's quantiles and merges them into the stream's. It does nothing without values.
func (s *State) bin(own *stream, values *tensor.Tensor) error {
	if values.Len() == 0 {
		return nil
	}
	var b binned
	if values.DType() == tensor.F64 {
		list, err := tensor.Packed[float64](values)
		if err != nil {
			return err
		}
		b = binnedOf(list, values.Dim(1))
	} else {
		list, err := tensor.Floats(values)
		if err != nil {
			return err
		}
		b = binnedOf(tensor.Cast[float32](list), values.Dim(1))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	own.Binned.merge(&b)
	return nil
}

// binnedOf returns an episode's quantiles for each column.
func binnedOf[T summary.Float](rows []T, width int) (b binned) {
	if slices.ContainsFunc(rows, func(v T) bool { return v-v != 0 }) {
		return binned{Broken: true}
	}
	for _, c := range summary.Block(rows, width) {
		if slices.ContainsFunc(c.Quantiles[:], func(q float64) bool { return q-q != 0 }) { // the bins have no finite width in T
			return binned{Broken: true}
		}
		b.Columns = append(b.Columns, slices.Clone(c.Quantiles[:]))
	}
	return b
}

// merge combines the quantiles with those of other episodes, as Column.Binned describes.
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

// column returns a copy of a column's quantiles, or nil if they are unknown.
func (b *binned) column(c int) []float64 {
	if c >= len(b.Columns) {
		return nil
	}
	return slices.Clone(b.Columns[c])
}

// fits reports whether there are quantiles for exactly width columns, or none at all.
func (b *binned) fits(width int) bool {
	return b.Columns == nil || len(b.Columns) == width && !slices.ContainsFunc(b.Columns, func(list []float64) bool { return len(list) != len(summary.Quantiles) })
}
