package align

import (
	"io"
	"path/filepath"
	"strings"

	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/tensor"
)

// ArrayWriter writes named arrays, as *npz.Writer and *safetensors.Writer do. Arrays may not change before it is closed.
type ArrayWriter interface {
	Add(name string, t *tensor.Tensor) error
	AddStrings(name string, list []string) error
	Close() error
}

// NewArrayWriter writes arrays to w in the format of a file's name: safetensors if it ends in ".safetensors", else npz.
func NewArrayWriter(path string, w io.Writer) ArrayWriter {
	if strings.EqualFold(filepath.Ext(path), ".safetensors") {
		return safetensors.NewWriter(w)
	}
	return npz.NewWriter(w, npz.Options{})
}

// WriteArrays writes the arrays times [T], and of each stream NAME.values [T,D], NAME.valid [T], NAME.age [T] and NAME.columns [D]. It does not close
// the writer.
func (r *Resampled) WriteArrays(w ArrayWriter) error {
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

// add writes arrays up to the first that cannot be.
func add(w ArrayWriter, list []array) error {
	for _, a := range list {
		if err := w.Add(a.name, a.t); err != nil {
			return err
		}
	}
	return nil
}

// WriteArrays writes the arrays values [T,D], valid [T,M], age [T,M], times [T], the names of the M streams, and columns [D], named STREAM.column. It
// does not close the writer.
func (f *Fused) WriteArrays(w ArrayWriter) error {
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

// WriteFile writes what WriteArrays does to a file that is there whole or not at all, in the format of its name; see [NewArrayWriter].
func (r *Resampled) WriteFile(path string) error { return writeFile(path, r.WriteArrays) }

// WriteFile writes what WriteArrays does to a file that is there whole or not at all, in the format of its name; see [NewArrayWriter].
func (f *Fused) WriteFile(path string) error { return writeFile(path, f.WriteArrays) }

func writeFile(path string, arrays func(ArrayWriter) error) error {
	return atomicfile.WriteFile(path, func(out io.Writer) error {
		w := NewArrayWriter(path, out)
		if err := arrays(w); err != nil {
			return err
		}
		return w.Close()
	})
}
