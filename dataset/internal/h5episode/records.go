package h5episode

import (
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/hdf5"
	"github.com/robocache/robocache/tensor"
)

// maxFields is how many columns compounds may have: each is a pass over them.
const maxFields = 256

// records makes compounds [T] a stream, with a column for each field that is one number. Its values are f32 if that holds every field's type exactly,
// else f64. Other fields are left out.
func (r *Reader) records(path string, d *hdf5.Dataset) error {
	n := d.Len()
	var columns []dataset.Column
	for _, f := range d.Type().Fields {
		if _, ok := f.Type.DType(); !ok || f.Type.Kind == hdf5.Array {
			r.leave(path+"."+f.Name, n, dataset.CodeValueType, dataset.Detail{Got: f.Type.String()})
			continue
		}
		columns = append(columns, dataset.Column{Name: f.Name, Type: f.Type.String(), Integer: f.Type.Kind != hdf5.Float})
	}
	if len(columns) == 0 {
		return nil
	}
	if len(columns) > maxFields {
		r.leave(path, n, dataset.CodeTooWide, dataset.Detail{Got: strconv.Itoa(len(columns)), Want: strconv.Itoa(maxFields), Unit: "fields"})
		return nil
	}
	if err := r.take(path, n, 16*len(columns)+d.Type().Size); err != nil {
		return err
	}
	times, err := r.clock(path, n)
	if err != nil {
		return err
	}
	all, narrow, inexact := make([]float64, n*len(columns)), true, 0
	for k, c := range columns {
		field, err := d.Field(c.Name)
		if err != nil {
			return err
		}
		read, err := field.Read()
		if err != nil {
			return err
		}
		values, rounded, err := dataset.Numbers(read, 8*field.Type().Size)
		if err != nil {
			return err
		}
		list, err := tensor.Floats(values)
		if err != nil {
			return err
		}
		for i, v := range list {
			all[i*len(columns)+k] = v
		}
		narrow, inexact = narrow && values.DType() != tensor.F64, inexact+rounded
	}
	values, err := tensor.Of(all, n, len(columns))
	if err == nil && narrow {
		less := make([]float32, len(all))
		for i, v := range all {
			less[i] = float32(v)
		}
		values, err = tensor.Of(less, n, len(columns))
	}
	if err != nil {
		return err
	}
	s, err := dataset.NewStream(path, times, values, columns)
	if err != nil {
		return err
	}
	s.Inexact = inexact
	r.Streams = append(r.Streams, s)
	return nil
}
