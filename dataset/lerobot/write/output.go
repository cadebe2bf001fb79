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

// create starts a file in the dataset, at a path relative to its folder.
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

// check reads a file back. If it does not have the written bytes, the error is ErrReadBack.
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

// check reads back the files that were completed since the last call, and stops at the first error. It adds their number and bytes to
// o.files and o.bytes.
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
	file := lines{in: o, path: path, indent: "    "}
	if err := file.add(content); err != nil {
		file.abandon()
		return err
	}
	return file.finish()
}

// lines is a file of JSON values, each on a line of its own if there is no indent. Its first value creates it.
type lines struct {
	in           *outputFolder
	path, indent string
	out          *hashedFile
}

// add appends a value.
func (l *lines) add(value any) (err error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", l.indent)
	if err := e.Encode(value); err != nil {
		return &Error{Episode: -1, Kind: dataset.ErrOption, Got: l.path, Err: err}
	}
	if l.out == nil {
		if l.out, err = l.in.create(filepath.FromSlash(l.path)); err != nil {
			return err
		}
	}
	_, err = l.out.Write(text.Bytes())
	return err
}

// finish completes the file.
func (l *lines) finish() error {
	out := l.out
	l.out = nil
	return out.Close()
}

// abandon closes the file if it is open.
func (l *lines) abandon() {
	if l.out != nil {
		l.out.abandon()
		l.out = nil
	}
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
