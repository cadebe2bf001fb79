package lerobot

import (
	"context"
	"errors"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// output is a file that is being written.
type output interface {
	Write(p []byte) (int, error)
	Close() error
}

func createFile(path string) (output, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// hashedFile is a file of the dataset that is being written. Its errors name the path that it would have.
type hashedFile struct {
	w    *Writer
	path string // in the dataset
	out  output
	size int64
	sum  maphash.Hash
}

// create begins a file of the dataset.
func (w *Writer) create(path string) (*hashedFile, error) {
	out, err := w.open(filepath.Join(w.folder.Path(), path))
	if err != nil {
		return nil, w.broken(path, err)
	}
	return &hashedFile{w: w, path: path, out: out}, nil
}

func (f *hashedFile) Write(p []byte) (int, error) {
	n, err := f.out.Write(p)
	if err != nil {
		return n, f.w.broken(f.path, err)
	}
	f.size += int64(n)
	_, _ = f.sum.Write(p[:n])
	return n, nil
}

// Close completes the file, which Commit reads back.
func (f *hashedFile) Close() error {
	if err := f.out.Close(); err != nil {
		return f.w.broken(f.path, err)
	}
	f.w.unchecked = append(f.w.unchecked, f)
	return nil
}

// abandon closes a file that is not to be completed.
func (f *hashedFile) abandon() { f.out.Close() }

// check reads a file back and compares its bytes with those that were written.
func (f *hashedFile) check(ctx context.Context) error {
	file, err := os.Open(filepath.Join(f.w.folder.Path(), f.path))
	if err != nil {
		return f.w.broken(f.path, err)
	}
	defer file.Close()
	var sum maphash.Hash
	sum.SetSeed(f.sum.Seed())
	size, err := io.Copy(&sum, contextReader{ctx, file})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return f.w.broken(f.path, err)
	case size != f.size || sum.Sum64() != f.sum.Sum64():
		return &WriteError{Episode: -1, Kind: ErrReadBack, Got: f.path, Err: errors.New("not the bytes that were written")}
	}
	return nil
}

// checkFiles reads the files back that were written since the last time, and counts them.
func (w *Writer) checkFiles(ctx context.Context) error {
	for _, f := range w.unchecked {
		if err := f.check(ctx); err != nil {
			return err
		}
		w.report.Files++
		w.report.Bytes += f.size
	}
	w.unchecked = nil
	return nil
}

// broken names the file that could not be written, by the path that it would have.
func (w *Writer) broken(path string, err error) error {
	if below := (*fs.PathError)(nil); errors.As(err, &below) {
		err = below.Err
	}
	return &fs.PathError{Op: "write", Path: filepath.Join(w.folder.Name(), path), Err: err}
}

// contextReader is a reader that ends with ctx.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (c contextReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
