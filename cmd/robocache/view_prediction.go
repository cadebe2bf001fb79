package main

import (
	"errors"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/tensor"
)

// readPredictions returns the predictions in a file from `robocache policy -o`, as a stream for each episode, by episode number. The chunks
// of an episode (the actions from one prediction) follow each other as a robot would play them: each begins at the end of the one before.
func readPredictions(path string) (streams map[int][]dataset.Stream, err error) {
	defer dataset.Watched(path, &err)()
	file, err := npz.Open(path)
	if err != nil {
		return nil, readError(path, err)
	}
	defer file.Close()
	var errs []error
	chunks := arrayOf(file, "chunks", tensor.Floats, &errs)          // [n,c,d]
	counts := arrayOf(file, "counts", tensor.Data[uint8], &errs)     // [n,c]; 0 where the episode has no action
	anchors := arrayOf(file, "anchors", tensor.Data[int64], &errs)   // [n]
	episodes := arrayOf(file, "episodes", tensor.Data[int64], &errs) // [n]
	ticks := arrayOf(file, "ticks", tensor.Data[int64], &errs)       // [n], ascending in an episode
	names, err := file.Strings("columns")
	if err := errors.Join(append(errs, err)...); dataset.IsSystem(err) {
		return nil, readError(path, err)
	}
	n, d := len(anchors), len(names)
	c := len(counts) / max(n, 1)
	if err := errors.Join(append(errs, err)...); err != nil || len(episodes) != n || len(ticks) != n || len(counts) != n*c || len(chunks) != n*c*d {
		return nil, usagef("--prediction: got %s, want the file of robocache policy -o", path)
	}
	period := int64(0) // ns between ticks
	for i := 1; i < n && period == 0; i++ {
		if episodes[i] == episodes[i-1] && ticks[i] > ticks[i-1] {
			period = (anchors[i] - anchors[i-1]) / (ticks[i] - ticks[i-1])
		}
	}
	columns := make([]dataset.Column, d)
	for k, name := range names {
		columns[k].Name = name
	}
	streams = map[int][]dataset.Stream{}
	for row := 0; row < n; {
		var times []int64
		var values []float64
		episode, next := episodes[row], ticks[row]
		for ; row < n && episodes[row] == episode; row++ {
			if ticks[row] < next {
				continue
			}
			next = ticks[row] + int64(c)
			for k := range c {
				if i := row*c + k; counts[i] != 0 {
					times = append(times, anchors[row]+int64(k)*period)
					values = append(values, chunks[i*d:(i+1)*d]...)
				}
			}
		}
		t, err := tensor.Of(values, len(times), d)
		if err != nil {
			return nil, err
		}
		s, err := dataset.NewStream("prediction", times, t, columns)
		if err != nil {
			return nil, err
		}
		streams[int(episode)] = []dataset.Stream{s}
	}
	return streams, nil
}

// arrayOf returns the elements of an archive's array. If reading fails, it returns nil and appends the error to errs.
func arrayOf[T any](file *npz.File, name string, elements func(*tensor.Tensor) ([]T, error), errs *[]error) (list []T) {
	t, err := file.Tensor(name)
	if err == nil {
		list, err = elements(t)
	}
	*errs = append(*errs, err)
	return list
}
