package main

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/tensor"
)

// predictedChunks are the arrays that robocache policy -o writes.
type predictedChunks struct {
	chunks                   []float64 // [n,chunk,columns]
	counts                   []uint8   // [n,chunk]; 0 where the episode has no action
	anchors, episodes, ticks []int64   // [n]
	columns                  []dataset.Column
	chunk                    int
}

// readPredictions returns the predictions in a file of robocache policy -o as one stream for each episode, by number.
func readPredictions(path string) (streams map[int][]dataset.Stream, err error) {
	defer dataset.Watched(path, &err)()
	file, err := npz.Open(path)
	if err != nil {
		return nil, readError(path, err)
	}
	defer file.Close()
	p, err := readChunks(file)
	if dataset.IsSystem(err) {
		return nil, readError(path, err)
	}
	if err != nil {
		return nil, usagef("--prediction: %s: %v, want the file of robocache policy -o", path, err)
	}
	return p.streams()
}

func readChunks(file *npz.File) (*predictedChunks, error) {
	p := &predictedChunks{}
	var errs []error
	read := func(name string) *tensor.Tensor {
		t, err := file.Tensor(name)
		errs = append(errs, err)
		return t
	}
	chunks, counts := read("chunks"), read("counts")
	numbers := []*tensor.Tensor{read("anchors"), read("episodes"), read("ticks")}
	names, err := file.Strings("columns")
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	if chunks.Rank() != 3 || chunks.Dim(2) != len(names) || counts.Rank() != 2 || counts.Dim(1) != chunks.Dim(1) {
		return nil, errors.New("arrays of other shapes")
	}
	for _, name := range names {
		p.columns = append(p.columns, dataset.Column{Name: name})
	}
	p.chunk = chunks.Dim(1)
	p.chunks, errs[0] = tensor.Floats(chunks)
	p.counts, errs[1] = tensor.Data[uint8](counts)
	for i, to := range []*[]int64{&p.anchors, &p.episodes, &p.ticks} {
		*to, errs[2+i] = tensor.Data[int64](numbers[i])
	}
	for _, t := range append(numbers, counts) {
		if t.Dim(0) != chunks.Dim(0) {
			errs = append(errs, errors.New("arrays of different lengths"))
		}
	}
	return p, errors.Join(errs...)
}

// streams returns the chunks of each episode one after the other, as a robot would play them: the next one begins when one has ended.
func (p *predictedChunks) streams() (map[int][]dataset.Stream, error) {
	rows := make([]int, len(p.anchors))
	for i := range rows {
		rows[i] = i
	}
	slices.SortFunc(rows, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.episodes[a], p.episodes[b]), cmp.Compare(p.ticks[a], p.ticks[b]))
	})
	tick, period := int64(0), 0.0 // ns between ticks
	for i := 1; i < len(rows) && period == 0; i++ {
		if a, b := rows[i-1], rows[i]; p.episodes[a] == p.episodes[b] && p.ticks[b] > p.ticks[a] {
			period = float64(p.anchors[b]-p.anchors[a]) / float64(p.ticks[b]-p.ticks[a])
		}
	}
	d, out := len(p.columns), map[int][]dataset.Stream{}
	for first := 0; first < len(rows); {
		episode := p.episodes[rows[first]]
		var times []int64
		var values []float64
		tick = p.ticks[rows[first]]
		for ; first < len(rows) && p.episodes[rows[first]] == episode; first++ {
			row := rows[first]
			if p.ticks[row] < tick {
				continue
			}
			tick = p.ticks[row] + int64(p.chunk)
			for k := range p.chunk {
				if at := row*p.chunk + k; p.counts[at] != 0 && (k == 0 || period > 0) {
					times = append(times, p.anchors[row]+int64(math.Round(float64(k)*period)))
					values = append(values, p.chunks[at*d:(at+1)*d]...)
				}
			}
		}
		if len(times) == 0 {
			continue
		}
		t, err := tensor.Of(values, len(times), d)
		if err != nil {
			return nil, err
		}
		s, err := dataset.NewStream("prediction", times, t, p.columns)
		if err != nil {
			return nil, err
		}
		out[int(episode)] = []dataset.Stream{s}
	}
	return out, nil
}
