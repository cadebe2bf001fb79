package safetensors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npy"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/storage"
	"github.com/robocache/robocache/tensor"
)

// File is an open file.
type File struct {
	layout
	path   string
	size   int64
	r      io.ReaderAt
	closer io.Closer
	views  *views // of a file that Map opened
	sums   *sums  // nil of a file without
}

// Open opens a file and reads its header. The caller closes it; tensors from it stay valid. If the header breaks the format, the
// error is a *dataset.FormatError. A file that ends before its last tensor is no error here.
func Open(path string) (*File, error) {
	f, err := storage.Open(context.Background(), path)
	if err != nil {
		return nil, err
	}
	s, err := open(f, f.Size(), path)
	if err != nil {
		f.Close()
		return nil, err
	}
	s.closer = f
	return s, nil
}

// NewReader reads a file with size bytes from r, which must stay open while the File is used.
func NewReader(r io.ReaderAt, size int64) (*File, error) { return open(r, size, "") }

func open(r io.ReaderAt, size int64, path string) (*File, error) {
	l, err := readLayout(r, size)
	if err != nil {
		return nil, (&File{path: path}).explain(err)
	}
	f := &File{layout: *l, path: path, size: size, r: r}
	if err := f.readSums(); err != nil {
		return nil, f.explain(err)
	}
	return f, nil
}

// Names returns the tensors' names, in the header's order. The caller owns the slice.
func (f *File) Names() []string { return slices.Clone(f.names) }

// Has reports whether the file contains a tensor with a name.
func (f *File) Has(name string) bool {
	_, ok := f.tensors[name]
	return ok
}

// Metadata returns the header's texts by name. The caller owns the map.
func (f *File) Metadata() map[string]string { return maps.Clone(f.metadata) }

// Header returns the description of a tensor. If the name does not exist, the error is a *dataset.FormatError that is
// dataset.ErrNotFound.
func (f *File) Header(name string) (Header, error) {
	h, ok := f.tensors[name]
	if !ok {
		want := "a file with tensors"
		if n := len(f.names); n > 0 {
			want = "one of " + strings.Join(f.names[:min(n, 40)], " ")
		}
		return h, f.explain(bad(dataset.ErrNotFound, -1, "tensor", quote(name), want))
	}
	h.Shape = slices.Clone(h.Shape)
	return h, nil
}

// Tensor reads a tensor; the package comment lists the dtypes. If the dtype is unsupported, the error is a *dataset.FormatError
// that is dataset.ErrUnsupported, and if the file ends inside the tensor, dataset.ErrTruncated. For a file from [Map] the tensor is
// a view of the file if possible.
func (f *File) Tensor(name string) (*tensor.Tensor, error) {
	if f.views != nil {
		if t, err := f.views.tensor(f, name); t != nil || err != nil {
			return t, err
		}
	}
	return read(f, name, npy.ReadData)
}

// Times reads timestamps: I64 and U64 nanoseconds as i64, F64 and F32 seconds unchanged. Any other dtype is dataset.ErrUnsupported.
func (f *File) Times(name string) (*tensor.Tensor, error) {
	return read(f, name, func(r io.Reader, a *npy.Header) (*tensor.Tensor, error) {
		if h := f.tensors[name]; !a.IsClock() {
			return nil, bad(dataset.ErrUnsupported, h.Begin, "tensor "+quote(name), "timestamps of dtype "+h.DType, "I64 or U64 nanoseconds, or F64 or F32 seconds")
		}
		return npy.ReadTimesData(r, a)
	})
}

// Strings returns a string list from Writer.AddStrings: a JSON list in the metadata. If the metadata has another text there, the
// error is a *dataset.FormatError that is dataset.ErrUnsupported.
func (f *File) Strings(name string) ([]string, error) {
	text, ok := f.metadata[name]
	if !ok {
		return nil, f.explain(bad(dataset.ErrNotFound, -1, "metadata", quote(name), "a name of the metadata"))
	}
	var list []string
	if err := json.Unmarshal([]byte(text), &list); err != nil || list == nil {
		return nil, f.explain(bad(dataset.ErrUnsupported, -1, "metadata "+quote(name), fmt.Sprintf("%.60q", text), "a JSON list of strings"))
	}
	return list, nil
}

// Close closes the file that Open or Map opened. Close twice is fine; reading after it is an error that is dataset.ErrClosed.
func (f *File) Close() error {
	if f.views != nil {
		return f.views.close()
	}
	return storage.CloseOnce(f.closer)
}

// Stored returns the number of bytes of a tensor that the file contains.
func (f *File) Stored(name string) int64 {
	h := f.tensors[name]
	return max(0, min(h.End, f.size)-h.Begin)
}

// cut returns the error of a tensor that the file ends in, or nil.
func (f *File) cut(name string) error {
	h := f.tensors[name]
	if h.End <= f.size {
		return nil
	}
	return f.explain(bad(dataset.ErrTruncated, f.size, "tensor "+quote(name), fmt.Sprintf("%d bytes of it", f.Stored(name)), fmt.Sprint(h.End-h.Begin)))
}

// array returns a tensor's header as that of an array.
func (f *File) array(name string) (npy.Header, error) {
	h, err := f.Header(name)
	if err != nil {
		return npy.Header{}, err
	}
	d := dtypes[h.DType]
	if d.descr == "" {
		return npy.Header{}, f.explain(bad(dataset.ErrUnsupported, h.Begin, "tensor "+quote(name), "dtype "+quote(h.DType), readable))
	}
	a, err := npy.HeaderOf(d.descr, h.Begin, h.Shape...)
	return a, f.explain(err)
}

func read[T any](f *File, name string, do func(io.Reader, *npy.Header) (T, error)) (T, error) {
	var v, none T
	a, err := f.array(name)
	if err == nil {
		err = f.cut(name)
	}
	if err != nil {
		return none, err
	}
	h := f.tensors[name]
	if v, err = do(&section{io.NewSectionReader(f.r, h.Begin, h.End-h.Begin)}, &a); err != nil {
		return none, f.explain(err)
	}
	var memory []byte
	if t, ok := any(v).(*tensor.Tensor); ok && ofFormat[h.DType] == t.DType() && raw.Little { // the bytes are the file's
		if memory, err = raw.Of(t); err != nil {
			return none, err
		}
	}
	return v, f.compare(name, h.Begin, h.End, memory, h.Begin)
}

// section is a tensor's bytes with their size.
type section struct{ *io.SectionReader }

// Len is a hint of the bytes to come.
func (s *section) Len() int { return int(s.Size()) }

// explain adds the path to an error, and converts the error for a closed file.
func (f *File) explain(err error) error {
	var found *dataset.FormatError
	switch {
	case errors.As(err, &found):
		if found.Path = f.path; found.Format == "npy" {
			found.Format = "safetensors"
		}
	case errors.Is(err, fs.ErrClosed):
		return fmt.Errorf("safetensors: %w: %w", dataset.ErrClosed, err)
	case errors.Is(err, io.EOF): // shorter than it was
		return &dataset.FormatError{Format: "safetensors", Path: f.path, Offset: -1, Kind: dataset.ErrTruncated, Msg: "file", Err: io.ErrUnexpectedEOF}
	}
	return err
}
