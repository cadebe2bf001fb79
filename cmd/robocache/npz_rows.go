package main

import (
	"errors"
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/cover"
	"github.com/robocache/robocache/internal/plausible"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// rowsOfOneFeature reshapes values [B,S] to [B,S,1] if times are [B,S] too. With times [S], values are one recording [S,D].
func (j *npzJob) rowsOfOneFeature() (err error) {
	v := j.values
	if v.Rank() != 2 || v.Dim(1) == 1 || !slices.Equal(v.Shape(), j.times.Shape()) {
		return nil
	}
	j.columns = j.columns[:min(1, len(j.columns))]
	j.values, err = v.Reshape(v.Dim(0), v.Dim(1), 1)
	return err
}

// check checks that the arrays' shapes and dtypes agree.
func (j *npzJob) check() error {
	v, t := j.values, j.times
	batch, s := j.batch(), v.Dim(v.Rank()-2)
	if batch > max(maxRows, v.Len()) {
		return j.fail("values", v, fmt.Sprintf("at most %d rows that hold nothing", maxRows))
	}
	if !slices.Equal(t.Shape(), []int{s}) && !(v.Rank() == 3 && slices.Equal(t.Shape(), []int{batch, s})) {
		want := fmt.Sprintf("[%d], one timestamp a sample", s)
		if v.Rank() == 3 {
			want = fmt.Sprintf("[%d,%d] or [%d], one timestamp a sample", batch, s, s)
		}
		return j.fail("times", t, want)
	}
	if x := j.targets; x != nil {
		if x.DType() != t.DType() {
			return j.fail("targets", x, t.DType().String()+", as times")
		}
		if x.Rank() != 1 && !(v.Rank() == 3 && x.Rank() == 2 && x.Dim(0) == batch) {
			return j.fail("targets", x, "[T], or [B,T] for values [B,S,D]")
		}
	}
	if j.lengths != nil {
		if err := j.checkLengths(batch, s); err != nil {
			return err
		}
	}
	err := dataset.CheckSpacing(t) // a clock that all rows share
	for b := 0; t.Rank() == 2 && b < batch && err == nil; b++ {
		var clock *tensor.Tensor
		if clock, err = j.row(b); err == nil {
			err = dataset.CheckSpacing(clock)
		}
	}
	if err != nil {
		return &inputError{Path: j.path, Array: "times", Err: err}
	}
	return nil
}

func (j *npzJob) checkLengths(batch, s int) error {
	l := j.lengths
	if l.Len() != batch || l.Rank() > 1 {
		return j.fail("lengths", l, fmt.Sprintf("[%d], one a row", batch))
	}
	if l.DType().IsFloat() {
		return j.fail("lengths", l, "integers")
	}
	whole, err := toI64(l)
	if err != nil {
		return err
	}
	list, err := tensor.Data[int64](whole)
	if err != nil {
		return err
	}
	for i, n := range list {
		if n < 0 || n > int64(s) {
			return j.fail("lengths", fmt.Sprintf("%d for row %d", n, i), fmt.Sprintf("0 to %d", s))
		}
	}
	j.lengths, err = tensor.Of(list, batch)
	return err
}

// sort sorts each row's samples by timestamp. Samples without a time are dropped from one recording. In a batch they are an error,
// because all rows have one length.
func (j *npzJob) sort() error {
	if j.values.Rank() == 2 {
		return j.sortOne()
	}
	batch, s := j.batch(), j.values.Dim(1)
	order := make([]int, 0, batch*s) // of the samples in all rows
	for b := range batch {
		times, err := j.row(b)
		if err != nil {
			return err
		}
		rows, late, lost, err := dataset.Order(times)
		if err != nil {
			return err
		}
		if lost > 0 {
			return j.noTime(b, times)
		}
		j.sorted += late
		for _, i := range rows {
			order = append(order, b*s+i)
		}
		for i := times.Len(); i < s; i++ { // padding stays in place
			order = append(order, b*s+i)
		}
	}
	if j.sorted == 0 {
		return nil
	}
	j.notes.Join(plausible.Sorted("values", j.sorted, 0))
	times, err := j.times.Expand(batch, s) // a shared clock becomes one clock per row
	if err != nil {
		return err
	}
	if j.times, err = reordered(times, order); err == nil {
		j.values, err = reordered(j.values, order)
	}
	return err
}

// reordered returns a tensor [B,S] or [B,S,D] with its samples in an order.
func reordered(t *tensor.Tensor, order []int) (*tensor.Tensor, error) {
	shape := t.Shape()
	t, err := t.Contiguous()
	if err != nil {
		return nil, err
	}
	if t, err = t.Reshape(append([]int{shape[0] * shape[1]}, shape[2:]...)...); err != nil {
		return nil, err
	}
	if t, err = t.Take(0, order); err != nil {
		return nil, err
	}
	return t.Reshape(shape...)
}

func (j *npzJob) sortOne() error {
	times, err := j.row(0)
	if err != nil {
		return err
	}
	values, err := j.values.Slice(0, 0, times.Len())
	if err != nil {
		return err
	}
	s, late, lost, err := (&dataset.Stream{Times: times, Values: values}).Sorted()
	if err != nil {
		return err
	}
	j.times, j.values, j.lengths, j.sorted, j.timeless = s.Times, s.Values, nil, late, lost
	j.notes.Join(plausible.Sorted("values", late, lost))
	return nil
}

// noTime returns the error for a row's first sample that has no time.
func (j *npzJob) noTime(b int, times *tensor.Tensor) error {
	for i := range times.Len() {
		one, err := times.Slice(0, i, i+1)
		if err != nil {
			return err
		}
		var value *ops.ValueError
		if _, err := cover.Of("", one); errors.As(err, &value) {
			value.Row, value.Index = b, i
			return &inputError{Path: j.path, Array: "times", Err: value}
		}
	}
	return nil
}

// sortable adds the cure to an error about timestamps. Samples in a batch cannot be left out.
func (j *npzJob) sortable(r *request, err error) error {
	if j.values.Rank() > 2 && !errors.Is(err, ops.ErrUnsorted) {
		return err
	}
	err = r.sortable(err)
	if j.values.Rank() > 2 && j.lengths == nil && errors.Is(err, ops.ErrUnsorted) && r.Unordered != "sort" {
		return fmt.Errorf("%w; if rows are padded, lengths [%d] has the number of samples that count in each", err, j.batch())
	}
	return err
}
