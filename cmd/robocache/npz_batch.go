package main

import (
	"fmt"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// npzJob is an archive's array values: one recording or a batch.
type npzJob struct {
	path                   string
	values, times, targets *tensor.Tensor
	columns                []dataset.Column // of values
	strays                 int              // samples left out because their timestamps are far from the others
	sorted, timeless       int              // samples out of order, and samples without a time
	inexact                int              // whole numbers that the dtype of values cannot represent
	lengths                *tensor.Tensor   // nil if all rows are full
	remarks                noteList
	notes                  dataset.Notes
	ignored                []string
	clock                  ops.Clock
	snap                   ops.Limit     // the largest distance of a tick on a sample
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

// row returns a row's timestamps without padding.
func (j *npzJob) row(b int) (*tensor.Tensor, error) {
	t, err := rowOf(j.times, b, 2)
	if err != nil || j.lengths == nil {
		return t, err
	}
	n, err := tensor.Data[int64](j.lengths)
	if err != nil {
		return nil, err
	}
	return t.Slice(0, 0, int(n[b]))
}

// rowOf returns row b of a tensor with that rank, without the first dimension. Rows share a tensor with another rank.
func rowOf(t *tensor.Tensor, b, rank int) (*tensor.Tensor, error) {
	if t.Rank() != rank {
		return t, nil
	}
	one, err := t.Slice(0, b, b+1)
	if err != nil {
		return nil, err
	}
	return one.Reshape(one.Shape()[1:]...)
}

// maxRows bounds the rows in a batch without samples.
const maxRows = 1 << 20

// maxPanels bounds a batch's rows in a figure.
const maxPanels = 8

// arrayNames maps the operation's arguments to the archive's arrays.
var arrayNames = map[string]string{"Src": "values", "SrcTimes": "times", "Targets": "targets", "SrcLengths": "lengths"}
