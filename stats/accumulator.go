package stats

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/tensor"
)

// Quantiles are the shares that LeRobot, openpi, Octo and GR00T use.
var Quantiles = []float64{0.01, 0.10, 0.50, 0.90, 0.99}

// ErrChanged is returned if the data of a later pass differs from the first.
var ErrChanged = summary.ErrChanged

// ErrMismatch is returned if states, or data and a state, do not fit each other.
var ErrMismatch = errors.New("do not go together")

// Accumulator gathers the statistics of the columns of one stream, pass by pass:
//
//	for more := true; more; {
//		... Add all rows, in any order and pieces ...
//		more, err = a.Next()
//	}
//	columns := a.Columns()
//
// It takes about 30 kB a column in the first pass. In those that follow it takes at most 512 kB for each value between the ranks of which a quantile
// lies, and much less where there are few rows.
type Accumulator struct {
	exact *summary.Exact
	width int
	wide  bool
}

// NewAccumulator returns the statistics of no rows of width columns. Values of f64 need more bits, and so more passes, than f32, f16 and bf16. Without
// quantiles, shares from 0 to 1, one pass is enough.
func NewAccumulator(width int, dtype tensor.DType, quantiles []float64) (*Accumulator, error) {
	if !dtype.IsFloat() {
		return nil, fmt.Errorf("stats: got dtype %v, want f32, f64, f16 or bf16", dtype)
	}
	if width < 0 {
		return nil, fmt.Errorf("stats: got %d columns, want 0 or more", width)
	}
	if len(quantiles) > summary.MostQuantiles || slices.ContainsFunc(quantiles, func(q float64) bool { return !(q >= 0 && q <= 1) }) {
		return nil, fmt.Errorf("stats: got quantiles %v, want at most %d, from 0 to 1", quantiles, summary.MostQuantiles)
	}
	wide := dtype == tensor.F64
	return &Accumulator{summary.NewExact(width, wide, quantiles), width, wide}, nil
}

// rowsAtOnce is how many rows a goroutine takes.
const rowsAtOnce = 1 << 14

// Add takes rows [N,D] on the host, of f64 if the accumulator is of that, else of f32, f16 or bf16. Several goroutines may call it at a time.
func (a *Accumulator) Add(values *tensor.Tensor) error { return a.add(values, 1) }

// add shares the rows between so many goroutines.
func (a *Accumulator) add(values *tensor.Tensor, workers int) error {
	if values.Rank() != 2 || values.Dim(1) != a.width || !values.DType().IsFloat() || (values.DType() == tensor.F64) != a.wide {
		want := "f32, f16 or bf16"
		if a.wide {
			want = "f64"
		}
		return fmt.Errorf("stats: got values %v, want [N,%d] of %s", values, a.width, want)
	}
	values, err := values.Contiguous()
	if err != nil {
		return err
	}
	switch values.DType() {
	case tensor.F64:
		return share(values, a.width, workers, a.exact.Add64)
	case tensor.F16:
		return share(values, a.width, workers, widened[tensor.Float16](a.exact))
	case tensor.BF16:
		return share(values, a.width, workers, widened[tensor.BFloat16](a.exact))
	}
	return share(values, a.width, workers, a.exact.Add32)
}

// widened takes values of 16 bits.
func widened[T interface {
	tensor.Element
	F32() float32
}](to *summary.Exact) func([]T) {
	return func(rows []T) {
		wide := make([]float32, len(rows))
		for i, v := range rows {
			wide[i] = v.F32()
		}
		to.Add32(wide)
	}
}

// share gives rows to a function, in pieces and from several goroutines.
func share[T tensor.Element](values *tensor.Tensor, width, workers int, take func([]T)) error {
	rows, err := tensor.Data[T](values)
	if err != nil || len(rows) == 0 {
		return err
	}
	pieces := slices.Collect(slices.Chunk(rows, rowsAtOnce*width))
	if workers = min(workers, len(pieces)); workers <= 1 {
		for _, p := range pieces {
			take(p)
		}
		return nil
	}
	var working sync.WaitGroup
	for w := range workers {
		working.Go(func() {
			for i := w; i < len(pieces); i += workers {
				take(pieces[i])
			}
		})
	}
	working.Wait()
	return nil
}

// Next ends a pass. It reports whether another one over the same rows is needed for the quantiles. Rows that were not those of the first pass are
// [ErrChanged]. Nothing is added meanwhile.
func (a *Accumulator) Next() (more bool, err error) { return a.exact.Next() }

// Column is the statistics of a column. Of no finite value all of them are NaN.
type Column struct {
	Name                string
	Count, NotFinite    int64 // values that are finite, and those that are NaN or infinite and left out
	Mean, Std, Min, Max float64
	Quantiles           []float64 // of the shares that were asked for; nil until all passes are over
	// Binned are the [Quantiles] as LeRobot has them of a dataset, if they were asked for: of each episode linear inside one of 5000 bins between its
	// extremes, in the values' own type; and of those of all episodes the smallest up to the median, the greatest above it. So the more the episodes differ,
	// the further they are from the quantiles of all samples. Nil where an episode has a value that is not finite.
	Binned []float64
}

// Columns returns the statistics of the first pass's rows, without names.
func (a *Accumulator) Columns() []Column {
	out := make([]Column, a.width)
	for i, c := range a.exact.Columns() {
		out[i] = Column{Count: c.Count, NotFinite: c.NotFinite, Mean: c.Mean, Std: c.Std, Min: c.Min, Max: c.Max, Quantiles: c.Quantiles}
	}
	return out
}
