package align

import (
	"io"

	"github.com/robocache/robocache/internal/arrayfile"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/tensor"
)

// WriteArrays writes the array times [T], and for each stream NAME.values [T,D], NAME.valid [T], NAME.age [T] and NAME.columns [D].
// It does not close the writer, for example an *npz.Writer or a *safetensors.Writer.
func (r *Resampled) WriteArrays(w arrayfile.Writer) error {
	if err := w.Add("times", r.Times); err != nil {
		return err
	}
	for i := range r.Streams {
		s := &r.Streams[i]
		if err := add(w, []array{{s.Name + ".values", s.Values}, {s.Name + ".valid", s.Valid}, {s.Name + ".age", s.Age}}); err != nil {
			return err
		}
		if err := w.AddStrings(s.Name+".columns", s.ColumnNames()); err != nil {
			return err
		}
	}
	return nil
}

type array struct {
	name string
	t    *tensor.Tensor
}

// add writes arrays until one fails.
func add(w arrayfile.Writer, list []array) error {
	for _, a := range list {
		if err := w.Add(a.name, a.t); err != nil {
			return err
		}
	}
	return nil
}

// WriteArrays writes the arrays values [T,D], valid [T,M], age [T,M], times [T], the names of the M streams, and columns [D], named
// STREAM.column. It does not close the writer, for example an *npz.Writer or a *safetensors.Writer.
func (f *Fused) WriteArrays(w arrayfile.Writer) error {
	var streams, columns []string
	for i := range f.Streams {
		s := &f.Streams[i]
		streams = append(streams, s.Name)
		for _, c := range s.Columns {
			columns = append(columns, s.Name+"."+c.Name)
		}
	}
	if err := add(w, []array{{"values", f.Values}, {"valid", f.Valid}, {"age", f.Age}, {"times", f.Times}}); err != nil {
		return err
	}
	if err := w.AddStrings("streams", streams); err != nil {
		return err
	}
	return w.AddStrings("columns", columns)
}

// WriteFile writes the arrays of WriteArrays to a file: safetensors if its name ends in ".safetensors", else npz. After an error
// the file does not exist.
func (r *Resampled) WriteFile(path string) error { return writeFile(path, r.WriteArrays) }

// WriteFile writes the arrays of WriteArrays to a file: safetensors if its name ends in ".safetensors", else npz. After an error
// the file does not exist.
func (f *Fused) WriteFile(path string) error { return writeFile(path, f.WriteArrays) }

func writeFile(path string, arrays func(arrayfile.Writer) error) error {
	return atomicfile.WriteFile(path, func(out io.Writer) error {
		w := arrayfile.New(path, out)
		if err := arrays(w); err != nil {
			return err
		}
		return w.Close()
	})
}
