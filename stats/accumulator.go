package stats

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/robocache/robocache/internal/summary"
	"github.com/robocache/robocache/tensor"
)

// Quantiles are the default quantiles, which LeRobot, openpi, Octo and GR00T use.
var Quantiles = []float64{0.01, 0.10, 0.50, 0.90, 0.99}

// ErrChanged is returned if the rows in a later pass differ from the rows in the first.
var ErrChanged = summary.ErrChanged

// ErrMismatch is returned if two states, or a state and a dataset, do not fit each other.
var ErrMismatch = errors.New("do not go together")

// Accumulator computes the statistics of the columns in one stream, pass by pass:
//
//	for more := true; more; {
//		... Add all rows, in any order and pieces ...
//		more, err = a.Next()
//	}
//	columns := a.Columns()
//
// Each pass narrows the range of values that contain a quantile, so no rows are kept. The first pass takes about 30 kB per column.
// Later passes take at most 512 kB for each range, and much less for few rows.
type Accumulator struct {
	exact *summary.Exact
	width int
	wide  bool
}

// NewAccumulator returns an empty accumulator for rows with width columns. quantiles are shares from 0 to 1. Without quantiles one
// pass is enough. f64 values have more bits than f32, f16 and bf16, and so need more passes.
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

// rowsAtOnce is the number of rows that a goroutine adds at a time.
const rowsAtOnce = 1 << 14

// Add adds rows [N,D] on the host: f64 for an f64 accumulator, otherwise f32, f16 or bf16. Several goroutines may call it at the
// same time.
func (a *Accumulator) Add(values *tensor.Tensor) error { return a.add(values, 1) }

// add is Add with up to `workers` goroutines. It returns an error if the values have the wrong shape or dtype.
func (a *Accumulator) add(values *tensor.Tensor, workers int) error {
	if values.Rank() != 2 || values.Dim(1) != a.width || !values.DType().IsFloat() || (values.DType() == tensor.F64) != a.wide {
		want := "f32, f16 or bf16"
		if a.wide {
			want = "f64"
		}
		return fmt.Errorf("stats: got values %v, want [N,%d] of %s", values, a.width, want)
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

// widened returns a function that converts 16-bit values to float32 and adds them.
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

// share calls take with consecutive rows, at most rowsAtOnce at a time, from up to `workers` goroutines.
func share[T tensor.Element](values *tensor.Tensor, width, workers int, take func([]T)) error {
	rows, err := tensor.Packed[T](values)
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

// Next ends a pass. It reports whether the quantiles need another pass over the same rows. If the rows differ from the first pass,
// the error is [ErrChanged]. No Add may run at the same time.
func (a *Accumulator) Next() (more bool, err error) { return a.exact.Next() }

// Column is the statistics of a column. They are NaN if no value is finite.
type Column struct {
	Name                string
	Count, NotFinite    int64 // number of finite values, and of NaN and infinite values, which are left out
	Mean, Std, Min, Max float64
	Quantiles           []float64 // in the order of the requested shares; nil until all passes are done
	// Binned are the [Quantiles] as LeRobot computes them, if Options.Binned is set. For each episode they are interpolated in one
	// of 5000 bins between its extremes, in the values' own type. Over all episodes, LeRobot takes the smallest result up to the
	// median, and the largest above it. So they differ more from the true quantiles if episodes differ more. Binned is nil if an
	// episode has a value that is not finite.
	Binned []float64
}

// Columns returns the statistics of the rows in the first pass, without column names.
func (a *Accumulator) Columns() []Column {
	out := make([]Column, a.width)
	for i, c := range a.exact.Columns() {
		out[i] = Column{Count: c.Count, NotFinite: c.NotFinite, Mean: c.Mean, Std: c.Std, Min: c.Min, Max: c.Max, Quantiles: c.Quantiles}
	}
	return out
}
