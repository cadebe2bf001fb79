package align

import (
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Episode returns r as a recording, for packages that write recordings. Each stream NAME has the values, and a stream NAME.valid
// has the columns valid (1 or 0) and age (in the clock's unit). Both have a sample for each target. The episode shares memory with
// r.
func (r *Resampled) Episode() (*dataset.Episode, error) {
	e := &dataset.Episode{}
	for i := range r.Streams {
		s := &r.Streams[i]
		one := s.Stream
		one.Times = r.Times
		valid, err := trust(s.Name+".valid", r.Times, []string{""}, s.Valid, s.Age)
		if err != nil {
			return nil, err
		}
		e.Streams = append(e.Streams, one, valid)
	}
	return e, nil
}

// Episode returns f as a recording with two streams, for packages that write recordings. The stream fused has the values, with
// columns STREAM.column. The stream fused.valid has the columns STREAM.valid (1 or 0) and STREAM.age (in the clock's unit). The
// episode shares memory with f.
func (f *Fused) Episode() (*dataset.Episode, error) {
	values := dataset.Stream{Name: "fused", Times: f.Times, Values: f.Values}
	var prefixes []string
	for i := range f.Streams {
		s := &f.Streams[i]
		prefixes = append(prefixes, s.Name+".")
		for _, c := range s.Columns {
			c.Name = s.Name + "." + c.Name
			values.Columns = append(values.Columns, c)
		}
	}
	valid, err := trust("fused.valid", f.Times, prefixes, f.Valid, f.Age)
	if err != nil {
		return nil, err
	}
	return &dataset.Episode{Streams: []dataset.Stream{values, valid}}, nil
}

// trust returns a stream with the columns valid and age, each [T] or [T,M] for M streams with these prefixes.
func trust(name string, times *tensor.Tensor, prefixes []string, valid, age *tensor.Tensor) (s dataset.Stream, err error) {
	flags, err := tensor.Floats(valid)
	if err != nil {
		return s, err
	}
	ages, err := tensor.Floats(age)
	if err != nil {
		return s, err
	}
	list := make([]float64, 0, 2*len(flags))
	for i, flag := range flags {
		list = append(list, flag, ages[i])
	}
	s = dataset.Stream{Name: name, Times: times}
	for _, prefix := range prefixes {
		s.Columns = append(s.Columns, dataset.Column{Name: prefix + "valid", Type: valid.DType().String(), Integer: true},
			dataset.Column{Name: prefix + "age", Type: age.DType().String(), Integer: age.DType() == tensor.I64})
	}
	s.Values, err = tensor.Of(slices.Clip(list), times.Len(), len(s.Columns))
	return s, err
}
