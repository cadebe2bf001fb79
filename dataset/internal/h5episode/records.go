package h5episode

import (
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/hdf5"
	"github.com/robocache/robocache/tensor"
)

// maxFields is how many columns compounds may have: each field is a pass over them.
const maxFields = 256

// records makes compounds [T] a stream, with a column for each number in a field: "x", "force[2]", "pose.x". Its values are f32 if that holds every
// field's type exactly, else f64. Other fields are left out. A field that is the clock is no column.
func (r *Reader) records(path string, d *hdf5.Dataset, p pace) error {
	n := d.Len()
	var columns []dataset.Column
	var fields []*hdf5.Values
	var flatten func(v *hdf5.Values, prefix string) error
	flatten = func(v *hdf5.Values, prefix string) error {
		for _, f := range v.Type().Fields {
			field, err := v.Field(f.Name)
			if err != nil {
				return err
			}
			name := prefix + f.Name
			base, dims := f.Type.Flat()
			_, numbers := f.Type.DType()
			width, err := tensor.NumElements(dims...)
			switch {
			case p.clock != nil && p.clock.path == path+"/"+name:
			case f.Type.Kind == hdf5.Compound:
				if err := flatten(field, name+"."); err != nil {
					return err
				}
			case !numbers || err != nil:
				r.leave(path+"."+name, n, dataset.CodeValueType, dataset.Detail{Got: f.Type.String()})
			case width > maxFields:
				r.leave(path+"."+name, n, dataset.CodeTooWide, dataset.Detail{Got: strconv.Itoa(width), Want: strconv.Itoa(maxFields), Unit: "numbers"})
			default:
				fields = append(fields, field)
				for k := range width {
					columns = append(columns, dataset.Column{Name: name + dataset.Indices(k, dims), Type: base.String(), Integer: base.Kind != hdf5.Float})
				}
			}
		}
		return nil
	}
	if err := flatten(&d.Values, ""); err != nil || len(columns) == 0 {
		return err
	}
	if len(columns) > maxFields {
		r.leave(path, n, dataset.CodeTooWide, dataset.Detail{Got: strconv.Itoa(len(columns)), Want: strconv.Itoa(maxFields), Unit: "fields"})
		return nil
	}
	if err := r.take(path, n, 16*len(columns)+d.Type().Size); err != nil {
		return err
	}
	times, err := r.clock(path, p)
	if err != nil {
		return err
	}
	n = times.Len()
	all, at, narrow, inexact := make([]float64, n*len(columns)), 0, true, 0
	for _, field := range fields {
		read, err := field.Rows(0, n)
		if err != nil {
			return err
		}
		base, dims := field.Type().Flat()
		values, rounded, err := dataset.Numbers(read, 8*base.Size)
		if err != nil {
			return err
		}
		list, err := tensor.Floats(values)
		if err != nil {
			return err
		}
		width, _ := tensor.NumElements(dims...)
		for i, v := range list {
			all[i/width*len(columns)+at+i%width] = v
		}
		narrow, inexact, at = narrow && values.DType() != tensor.F64, inexact+rounded, at+width
	}
	values, err := tensor.Of(all, n, len(columns))
	if err == nil && narrow {
		values, err = tensor.Of(tensor.Cast[float32](all), n, len(columns))
	}
	if err != nil {
		return err
	}
	return r.stream(dataset.Stream{Name: path, Times: times, Values: values, Columns: columns, Inexact: inexact})
}
