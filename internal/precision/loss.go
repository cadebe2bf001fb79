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

// Narrowed counts what the dtype of the output could not hold.
type Loss struct {
	Rounded    int     `json:"rounded_integers"` // elements of integer columns that are not the integer that was recorded
	Doubles    int     `json:"rounded_doubles"`  // elements of columns that need f64 and are not the number that was computed
	By         float64 `json:"rounded_by"`       // the most by which any of these is off
	Overflowed int     `json:"overflowed"`       // elements that are infinite where the number was not
}

// piece is how many numbers are looked at, and made once more, at a time.
const piece = 1 << 22

// What a column holds that a narrower dtype may not.
type precision uint8

const (
	ordinary precision = iota // floats that f32 holds: whoever asks for less gets that
	whole
	double
)

// precisionOf finds what the columns of a stream hold.
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

// Compare counts what was lost of a recorded stream in its columns of made, [..,T,D], which an operation wrote for targets, and which begin at lo.
// again runs the operation in float64, which holds all that it computes; it is run where a number may be lost, or something is infinite.
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

// compare counts where got is not what wide is.
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

// Lost says what was lost, or nothing.
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

// anyInfinite looks at the tensor in pieces along an axis, each of so many steps.
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
