package precision

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Loss counts the numbers that the dtype of the output could not hold.
type Loss struct {
	Rounded    int     `json:"rounded_integers"` // elements of integer columns that differ from the recorded integer
	Doubles    int     `json:"rounded_doubles"`  // elements of columns that need f64 and differ from the computed number
	By         float64 `json:"rounded_by"`       // the largest difference of these
	Overflowed int     `json:"overflowed"`       // elements that are infinite, of finite numbers
}

// piece is the number of elements that are computed again and compared at a time.
const piece = 1 << 22

// precision is the kind of numbers in a column that a narrower dtype may not hold.
type precision uint8

const (
	ordinary precision = iota // floats that f32 holds; rounding to a narrower dtype is not counted
	whole
	double
)

// precisionOf returns the precision of the columns of a stream.
func precisionOf(s *dataset.Stream) ([]precision, error) {
	list := make([]precision, len(s.Columns))
	for i, c := range s.Columns {
		if c.Integer {
			list[i] = whole
		}
	}
	if s.Values.DType() != tensor.F64 {
		return list, nil
	}
	data, err := tensor.Elements[float64](s.Values)
	if err != nil {
		return nil, err
	}
	for r := range s.Values.Dim(0) {
		for i := range list {
			v := data[r*s.Values.Stride(0)+i*s.Values.Stride(1)]
			if list[i] == ordinary && float64(float32(v)) != v && v == v {
				list[i] = double
			}
		}
	}
	return list, nil
}

// Compare counts the losses in made, [..,T,D], the output of an operation for targets. The columns of the recorded stream s begin at column
// lo. again runs the operation in float64, which holds all its results. It is only called if a number may be lost, or an element is
// infinite.
func (n *Loss) Compare(made, targets *tensor.Tensor, lo int, s *dataset.Stream, again func(ops.Clock) (*tensor.Tensor, error)) error {
	last := made.Rank() - 1
	mine, err := made.Slice(last, lo, lo+len(s.Columns))
	if err != nil {
		return err
	}
	dtype := made.DType()
	holds := make([]precision, len(s.Columns))
	if dtype != tensor.F64 && dtype != s.Values.DType() {
		if holds, err = precisionOf(s); err != nil {
			return err
		}
	}
	ticks := made.Dim(last - 1)
	step := max(1, piece*ticks/max(1, made.Len()))
	if !slices.ContainsFunc(holds, func(p precision) bool { return p != ordinary }) {
		infinite, err := anyInfinite(mine, last-1, step)
		if err != nil || !infinite {
			return err
		}
	}
	for at := 0; at < ticks; at += step {
		end := min(at+step, ticks)
		part, err1 := targets.Slice(targets.Rank()-1, at, end)
		got, err2 := mine.Slice(last-1, at, end)
		if err1 != nil || err2 != nil {
			return fmt.Errorf("targets %d to %d: %w, %w", at, end, err1, err2)
		}
		wide, err := again(ops.At(part))
		if err != nil {
			return err
		}
		if wide, err = wide.Slice(last, lo, lo+len(s.Columns)); err != nil {
			return err
		}
		if err := n.compare(got, wide, holds); err != nil {
			return err
		}
	}
	return nil
}

// compare counts the elements of got that differ from wide.
func (n *Loss) compare(got, wide *tensor.Tensor, holds []precision) error {
	a, err := tensor.Floats(got)
	if err != nil {
		return err
	}
	b, err := tensor.Floats(wide)
	if err != nil {
		return err
	}
	for i, x := range a {
		exact, holds := b[i], holds[i%len(holds)]
		switch {
		case math.IsInf(exact, 0) || exact != exact || x == exact:
			continue
		case math.IsInf(x, 0):
			n.Overflowed++
			continue
		case holds == whole && exact == math.Trunc(exact):
			n.Rounded++
		case holds == double:
			n.Doubles++
		default:
			continue
		}
		n.By = max(n.By, math.Abs(x-exact))
	}
	return nil
}

// Lost returns the losses as text, or "" if there are none.
func (n Loss) Lost() string {
	var list []string
	if n.Rounded > 0 {
		list = append(list, fmt.Sprintf("%d integers were rounded", n.Rounded))
	}
	if n.Doubles > 0 {
		list = append(list, fmt.Sprintf("%d doubles were rounded", n.Doubles))
	}
	if len(list) > 0 {
		list[len(list)-1] += fmt.Sprintf(", by up to %.2g", n.By)
	}
	if n.Overflowed > 0 {
		list = append(list, fmt.Sprintf("%d finite numbers became infinite", n.Overflowed))
	}
	return strings.Join(list, ", and ")
}

// anyInfinite reports whether an element is infinite. It reads the tensor in pieces of step along an axis.
func anyInfinite(t *tensor.Tensor, axis, step int) (bool, error) {
	for at := 0; at < t.Dim(axis); at += step {
		part, err := t.Slice(axis, at, min(at+step, t.Dim(axis)))
		if err != nil {
			return false, err
		}
		list, err := tensor.Floats(part)
		if err != nil || slices.ContainsFunc(list, func(x float64) bool { return math.IsInf(x, 0) }) {
			return err == nil, err
		}
	}
	return false, nil
}
