package write

import (
	"math"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/parquet"
	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/tensor"
)

// CheckStream returns an *Error if a LeRobot dataset cannot hold a stream under any name: if it has no columns, or if numbers
// exceed its type, such as unsigned ones from 2^63 on. CheckStream accepts NaN and infinities, although Add refuses them.
func CheckStream(s *dataset.Stream) error {
	f, bad := newFeature(s.Name, s)
	if bad == nil && f.dtype != dtypeBool && f.dtype != dtypeInt64 {
		return nil
	}
	if bad == nil {
		values, err := float64s(s.Values)
		if err != nil {
			return err
		}
		if integers(s, values) == nil || f.dtype != dtypeInt64 {
			bad = f.unheld(s, values)
		}
	}
	if bad != nil {
		bad.Episode, bad.Feature = -1, s.Name
		return bad
	}
	return nil
}

// unheld returns an error for the first value that the feature's type cannot hold.
func (f *feature) unheld(s *dataset.Stream, values []float64) *Error {
	for i, v := range values {
		switch {
		case v-v != 0:
		case f.dtype == dtypeBool && v != 0 && v != 1:
			return &Error{Kind: dataset.ErrDType, Got: valueIn(s, i, v), Want: "0 or 1, as its type is bool"}
		case f.dtype == dtypeInt64 && (v != math.Trunc(v) || v < -1<<63 || v >= 1<<63):
			return &Error{Kind: dataset.ErrDType, Got: valueIn(s, i, v), Want: "a whole number of 64 bits, as its type is one"}
		}
	}
	return nil
}

// data converts values to the feature's type.
func (f *feature) data(values []float64) parquet.Values {
	switch f.dtype {
	case dtypeFloat32:
		return parquet.Values{Float32: tensor.Cast[float32](values)}
	case dtypeFloat64:
		return parquet.Values{Float64: values}
	}
	return parquet.Values{Int64: tensor.Cast[int64](values)}
}

// summarise returns the statistics for each column in the feature, equal to LeRobot's bit for bit.
func (f *feature) summarise(v *parquet.Values) []summary.Column {
	width := f.shape[0]
	switch f.dtype {
	case dtypeFloat32:
		return summary.Block(v.Float32, width)
	case dtypeFloat64:
		return summary.Block(v.Float64, width)
	case dtypeInt64:
		return summary.Block(tensor.Cast[float64](v.Int64), width)
	}
	return summary.Block(tensor.Cast[float32](v.Int64), width)
}
