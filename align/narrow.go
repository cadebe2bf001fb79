package align

import (
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Narrowed counts what the dtype of the output could not hold.
type Narrowed struct {
	Rounded    int `json:"rounded_integers"` // elements of integer columns that are not the integer that was recorded
	Overflowed int `json:"overflowed"`       // elements that are infinite where the number was not
}

// piece is how many numbers are looked at, and made once more, at a time.
const piece = 1 << 22

// Compare counts what was lost in the columns from lo on of made, [..,T,D], which an operation wrote for targets from values of the given dtype. again
// runs the operation in float64, which holds all that it computes; it is run where a whole number may be lost, or something is infinite.
func (n *Narrowed) Compare(made, targets *tensor.Tensor, lo int, cols []dataset.Column, values tensor.DType, again func(ops.Clock) (*tensor.Tensor, error)) error {
	last := made.Rank() - 1
	mine, err := made.Slice(last, lo, lo+len(cols))
	if err != nil {
		return err
	}
	whole := func(c dataset.Column) bool { return c.Integer }
	dtype := made.DType()
	ticks := made.Dim(last - 1)
	step := max(1, piece*ticks/max(1, made.Len()))
	if dtype == tensor.F64 || !(dtype != values && slices.ContainsFunc(cols, whole)) {
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
		if wide, err = wide.Slice(last, lo, lo+len(cols)); err != nil {
			return err
		}
		if err := n.compare(got, wide, cols); err != nil {
			return err
		}
	}
	return nil
}

// compare counts where got is not what wide is.
func (n *Narrowed) compare(got, wide *tensor.Tensor, cols []dataset.Column) error {
	a, err := tensor.Floats(got)
	if err != nil {
		return err
	}
	b, err := tensor.Floats(wide)
	if err != nil {
		return err
	}
	for i, x := range a {
		switch exact := b[i]; {
		case math.IsInf(exact, 0) || exact != exact:
		case math.IsInf(x, 0):
			n.Overflowed++
		case x != exact && cols[i%len(cols)].Integer && exact == math.Trunc(exact):
			n.Rounded++
		}
	}
	return nil
}

// Lost says what was lost, or nothing.
func (n Narrowed) Lost() string {
	switch {
	case n.Rounded > 0 && n.Overflowed > 0:
		return fmt.Sprintf("%d integers were rounded, and %d finite numbers became infinite", n.Rounded, n.Overflowed)
	case n.Rounded > 0:
		return fmt.Sprintf("%d integers were rounded", n.Rounded)
	case n.Overflowed > 0:
		return fmt.Sprintf("%d finite numbers became infinite", n.Overflowed)
	}
	return ""
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
