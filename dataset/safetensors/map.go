package safetensors

import (
	"errors"
	"io"
	"io/fs"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/mapped"
	"github.com/robocache/robocache/internal/raw"
	"github.com/robocache/robocache/storage"
	"github.com/robocache/robocache/tensor"
)

// Map opens a file like Open, and maps it into memory. A tensor is then a view of the file if package tensor has its dtype and if
// it is aligned to its element size, as Writer does. A view may not be written, and is closed with the file. Any other tensor is
// read and stays valid. All tensors are read if the system cannot map files, on big-endian machines, and for a URL, which is read
// by ranges.
//
// If another program cuts the file short after this, reading the lost elements is a memory fault that ends the program. Inside
// [File.Guard] it is an error, and [File.Whole] detects it in advance. A file that is replaced, as WriteFile does, stays unchanged
// for programs that have it open.
func Map(path string) (*File, error) {
	s, err := Open(path)
	if err != nil {
		return nil, err
	}
	local, is := s.closer.(*storage.LocalFile)
	if !is {
		return s, nil
	}
	m, err := mapped.Open(local.File, s.size)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return s, nil
	case err != nil:
		return nil, errors.Join(err, s.Close())
	}
	s.views = &views{file: m, tensors: map[string]*tensor.Tensor{}}
	return s, nil
}

// Guard calls do and returns its error. do may read tensor elements in this goroutine. If the file was cut short meanwhile, Guard
// returns a *dataset.FormatError that is dataset.ErrTruncated instead of a memory fault. Close waits until do returns. After Close
// the error is dataset.ErrClosed.
func (f *File) Guard(do func() error) error {
	if f.views == nil {
		return do()
	}
	var done error
	if err := f.views.file.Guard(func() error { done = do(); return nil }); err != nil {
		return f.shrunk(err)
	}
	return done
}

// Whole returns the error that Guard would return if the file is now shorter than when Map opened it, or closed. It is nil for
// files that are not mapped.
func (f *File) Whole() error {
	if f.views == nil {
		return nil
	}
	return f.shrunk(f.views.file.Whole())
}

func (f *File) shrunk(err error) error {
	if errors.Is(err, mapped.ErrShrunk) {
		return &dataset.FormatError{Format: "safetensors", Path: f.path, Offset: -1, Kind: dataset.ErrTruncated, Msg: "file", Err: err}
	}
	return f.explain(err)
}

// views are the tensors of a mapped file.
type views struct {
	file    *mapped.File
	mu      sync.Mutex
	tensors map[string]*tensor.Tensor // tensors that were returned; nil when closed
}

// ofFormat are the dtypes that tensors have, by the format's names.
var ofFormat = func() map[string]tensor.DType {
	m := map[string]tensor.DType{}
	for d, name := range ofTensor {
		m[name] = d
	}
	return m
}()

// tensor returns a tensor as a view, or nil if it is to be read.
func (v *views) tensor(f *File, name string) (*tensor.Tensor, error) {
	h, err := f.Header(name)
	dtype, ok := ofFormat[h.DType]
	if err != nil || !ok {
		return nil, err
	}
	if err := f.cut(name); err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	switch t := v.tensors[name]; {
	case v.tensors == nil:
		return nil, f.explain(fs.ErrClosed)
	case t != nil && !t.Closed():
		return t, nil
	}
	if err := f.Whole(); err != nil {
		return nil, err
	}
	if !raw.Little && dtype.Size() > 1 { // its bytes are the other way round
		return nil, nil
	}
	var owner io.Closer
	if f.sums != nil {
		owner = &checkedView{f: f, name: name, size: int64(dtype.Size())}
	}
	t, err := raw.Over(v.file.Bytes()[h.Begin:h.End], owner, dtype, h.Shape...)
	if t != nil {
		v.tensors[name] = t
	}
	return t, f.explain(err)
}

// close closes the tensors, and then unmaps their memory.
func (v *views) close() error {
	v.mu.Lock()
	for _, t := range v.tensors {
		t.Close() // which only marks host memory as closed
	}
	v.tensors = nil
	v.mu.Unlock() // because the guarded function may need a tensor, and Close waits for it
	return v.file.Close()
}
