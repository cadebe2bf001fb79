package main

import (
	"fmt"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// npzJob is a batch of episodes from an archive.
type npzJob struct {
	path                   string
	values, times, targets *tensor.Tensor
	columns                []dataset.Column // of values
	strays                 int              // samples that were left out since their timestamp lies far from the others
	sorted, timeless       int              // samples that were out of order, and that have no time
	inexact                int              // whole numbers that values could not hold
	lengths                *tensor.Tensor   // nil: all rows are full
	remarks                []string
	notes                  dataset.Notes
	ignored                []string
	clock                  ops.Clock
	snap                   ops.Limit     // how near to a sample a tick counts as on it
	maxGap                 time.Duration // 0 without --max-gap
	out                    ops.ResampleResult
}

func (j *npzJob) fail(array string, got any, want string) error {
	return &inputError{Path: j.path, Array: array, Got: fmt.Sprint(got), Want: want}
}

func (j *npzJob) batch() int {
	if j.values.Rank() == 2 {
		return 1
	}
	return j.values.Dim(0)
}

// row returns the timestamps of a row that count.
func (j *npzJob) row(b int) (*tensor.Tensor, error) {
	t := j.times
	if t.Rank() == 2 {
		one, err := t.Slice(0, b, b+1)
		if err != nil {
			return nil, err
		}
		if t, err = one.Reshape(t.Dim(1)); err != nil {
			return nil, err
		}
	}
	if j.lengths == nil {
		return t, nil
	}
	n, err := tensor.Data[int64](j.lengths)
	if err != nil {
		return nil, err
	}
	return t.Slice(0, 0, int(n[b]))
}

func rowOf(t *tensor.Tensor, b int) (*tensor.Tensor, error) {
	one, err := t.Slice(0, b, b+1)
	if err != nil {
		return nil, err
	}
	return one.Reshape(one.Shape()[1:]...)
}

// maxRows is how many rows a batch may have that holds no sample.
const maxRows = 1 << 20

// maxPanels is how many rows of a batch a figure shows.
const maxPanels = 8

// names of the arrays that the operation knows by other names.
var arrayNames = map[string]string{"Src": "values", "SrcTimes": "times", "Targets": "targets", "SrcLengths": "lengths"}
