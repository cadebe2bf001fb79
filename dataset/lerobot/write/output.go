package write

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/fault"
)

// output is a file that is being written.
type output interface {
	Write(p []byte) (int, error)
	Close() error
}

// outputFolder is a new dataset's folder. Its files are read back before it is renamed.
type outputFolder struct {
	*atomicfile.Folder
	open      func(path string) (output, error)
	unchecked []*hashedFile // completed files that were not read back yet
	files     int           // files read back
	bytes     int64         // bytes in these
}

// hashedFile is a file in the dataset that is being written. It hashes the written bytes, so that check can compare the file on
// disk with them. Its errors contain the file's final path, because the folder has a temporary name until Commit.
type hashedFile struct {
	in   *outputFolder
	path string // relative to the dataset
	out  output
	size int64
	sum  maphash.Hash
}

func (o *outputFolder) createFile(path string) (output, error) { return o.Create(path) }

// create starts a file in the dataset.
func (o *outputFolder) create(path string) (*hashedFile, error) {
	out, err := o.open(filepath.Join(o.Path(), path))
	if err != nil {
		return nil, o.broken(path, err)
	}
	return &hashedFile{in: o, path: path, out: out}, nil
}

func (f *hashedFile) Write(p []byte) (int, error) {
	n, err := f.out.Write(p)
	if err != nil {
		return n, f.in.broken(f.path, err)
	}
	f.size += int64(n)
	_, _ = f.sum.Write(p[:n])
	return n, nil
}

// Close completes the file. Commit will read it back.
func (f *hashedFile) Close() error {
	if err := f.out.Close(); err != nil {
		return f.in.broken(f.path, err)
	}
	f.in.unchecked = append(f.in.unchecked, f)
	return nil
}

// abandon closes a file that will not be completed.
func (f *hashedFile) abandon() { f.out.Close() }

// check reads a file back and compares it with the written bytes.
func (f *hashedFile) check(ctx context.Context) error {
	file, err := fault.OpenFile(filepath.Join(f.in.Path(), f.path), os.O_RDONLY, 0)
	if err != nil {
		return f.in.broken(f.path, err)
	}
	defer file.Close()
	var sum maphash.Hash
	sum.SetSeed(f.sum.Seed())
	size, err := io.Copy(&sum, contextReader{ctx, file})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return f.in.broken(f.path, err)
	case size != f.size || sum.Sum64() != f.sum.Sum64():
		return &Error{Episode: -1, Kind: ErrReadBack, Got: f.path, Err: errors.New("not the bytes that were written")}
	}
	return nil
}

// check reads back the files that were completed since the last call. It adds their number and bytes to o.files and o.bytes.
func (o *outputFolder) check(ctx context.Context) error {
	for _, f := range o.unchecked {
		if err := f.check(ctx); err != nil {
			return err
		}
		o.files++
		o.bytes += f.size
	}
	o.unchecked = nil
	return nil
}

// writeJSON writes a JSON file.
func (o *outputFolder) writeJSON(path string, content any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "    ")
	if err := e.Encode(content); err != nil {
		return &Error{Episode: -1, Kind: dataset.ErrOption, Got: path, Err: err}
	}
	out, err := o.create(path)
	if err != nil {
		return err
	}
	if _, err = out.Write(text.Bytes()); err != nil {
		out.abandon()
		return err
	}
	return out.Close()
}

// broken wraps an error with the file's final path.
func (o *outputFolder) broken(path string, err error) error {
	if below := (*fs.PathError)(nil); errors.As(err, &below) {
		err = below.Err
	}
	return &fs.PathError{Op: "write", Path: filepath.Join(o.Name(), path), Err: err}
}

// contextReader stops reading when ctx ends.
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
