package h5episode

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/hdf5"
	"github.com/robocache/robocache/tensor"
)

// Said contains attribute values as texts, by name. Numbers have the shortest exact form, booleans are "true" and "false", and
// several values are a list with ", " in between. Values that are too large or not supported are replaced by their type and shape.
type Said map[string]string

// maxSaid is how many values an attribute may have.
const maxSaid = 64

// Number returns an attribute as a number, or false if it is missing or not a number. Booleans are 1 and 0.
func (s Said) Number(name string) (float64, bool) {
	switch s[name] {
	case "true":
		return 1, true
	case "false":
		return 0, true
	}
	v, err := strconv.ParseFloat(s[name], 64)
	return v, err == nil && !math.IsNaN(v)
}

// saidOf reads an object's attributes. If one cannot be read, broken decides. All texts together take at most room bytes; room is
// reduced by their size.
func saidOf(o hdf5.Object, room *int64, broken func(name string, err error) error) (Said, error) {
	list, err := o.Attrs()
	if err != nil {
		return nil, err
	}
	said := Said{}
	for _, a := range list {
		text, err := textOf(&a.Values)
		if err == nil && int64(len(text)) > *room {
			err = &dataset.FormatError{Format: "hdf5", Offset: -1, Kind: dataset.ErrTooLarge, Msg: o.Path() + ": attribute " + a.Name,
				Got: fmt.Sprintf("%d bytes", len(text)), Want: fmt.Sprintf("at most the %d that are left of what the file could hold", *room)}
		}
		if err == nil {
			said[a.Name] = text
			*room -= int64(len(text))
		} else if err = broken(a.Name, err); err != nil {
			return nil, err
		}
	}
	return said, nil
}

// textOf returns a few values as text.
func textOf(v *hdf5.Values) (string, error) {
	shape := v.Shape()
	n, err := tensor.NumElements(shape...)
	about := fmt.Sprintf("(%v %s)", v.Type(), tensor.FormatShape(shape))
	if err != nil || n > maxSaid {
		return about, nil
	}
	var words []string
	switch kind := v.Type().Kind; kind {
	case hdf5.String, hdf5.VarString:
		words, err = v.ReadStrings()
	default:
		var t *tensor.Tensor
		if t, err = v.Read(); err != nil {
			break
		}
		var list []float64
		if list, err = tensor.Floats(t); err != nil {
			break
		}
		for _, x := range list {
			word := strconv.FormatFloat(x, 'g', -1, 64)
			switch {
			case kind == hdf5.Bool:
				word = strconv.FormatBool(x != 0)
			case x == math.Trunc(x) && math.Abs(x) < 1<<53:
				word = strconv.FormatInt(int64(x), 10)
			}
			words = append(words, word)
		}
	}
	if _, broken := dataset.AsBroken(err); err != nil && !broken && ignorable(err) && v.Type().Kind != 0 {
		return about, nil
	}
	return strings.Join(words, ", "), err
}

// ignorable reports whether an error concerns only one broken or unsupported object in the file.
func ignorable(err error) bool {
	var bad *dataset.FormatError
	return errors.As(err, &bad)
}
