package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/planfile"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/storage"
	_ "github.com/robocache/robocache/storage/hf" // registers hf://
	_ "github.com/robocache/robocache/storage/s3" // registers s3://
)

// stdin names the standard input on a command line.
const stdin = "-"

// begin checks that the outputs can be written, and replaces *in by a path that can be opened more than once: see local. others are further
// inputs, which no output may replace.
func (a *app) begin(in *string, others []string, outputs ...output) (err error) {
	if err := writable(append(others, *in), outputs...); err != nil {
		return err
	}
	*in, err = a.local(*in)
	return err
}

// locals replaces each input by a path that can be opened more than once: see local.
func (a *app) locals(inputs []string) (err error) {
	for i := range inputs {
		if inputs[i], err = a.local(inputs[i]); err != nil {
			return err
		}
	}
	return nil
}

// local returns a name for the input that can be opened repeatedly. A pipe is copied to a temporary file, because it can be read only once;
// messages still have the pipe's name.
func (a *app) local(path string) (open string, err error) {
	at, isLocal := storage.Local(path)
	if !isLocal {
		return path, nil
	}
	path = at
	if path != stdin {
		info, err := fault.Stat(path)
		if dataset.IsSystem(err) {
			return path, readError(path, err)
		}
		if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
			return path, nil // a file, or a missing file, which fails later
		}
	}
	dir, err := a.temporaryFolder()
	if err != nil {
		return path, err
	}
	name := filepath.Base(path)
	if path == stdin {
		name = "stdin"
	}
	open = filepath.Join(dir, name)
	defer a.Step("reading " + path)()
	if err := a.copyTo(open, path); err != nil {
		return path, err
	}
	a.Pipe.Add(open, path)
	return open, nil
}

func (a *app) copyTo(to, path string) error {
	from := a.In
	switch {
	case path == stdin && a.read:
		return usagef("got the input - twice, want it once: it is standard input")
	case path == stdin:
		a.read = true
	default:
		f, err := fault.OpenFile(path, os.O_RDONLY, 0)
		if err != nil {
			return &inputError{Path: path, Msg: "cannot be opened", Err: cause(err)}
		}
		defer f.Close()
		from = f
	}
	f, err := fault.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return unwritten(err)
	}
	_, err = io.Copy(f, from)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return &inputError{Path: path, Msg: "cannot be copied to " + filepath.Dir(to), Err: cause(err)}
	}
	return nil
}

// beginning returns the first n bytes of an input, or fewer if it is shorter, and whether it is a folder.
func beginning(path string, n int) (folder bool, head []byte, err error) {
	ctx := context.Background()
	fail := func(err error) error { return &inputError{Path: path, Msg: "cannot be opened", Err: cause(err)} }
	if st, err := storage.Stat(ctx, path); err != nil {
		return false, nil, fail(err)
	} else if st.IsDir() {
		return true, nil, nil
	}
	f, err := storage.Open(ctx, path)
	if err != nil {
		return false, nil, fail(err)
	}
	defer f.Close()
	head = make([]byte, n)
	n, err = f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return false, nil, fail(err)
	}
	return false, head[:n], nil
}

// temporaryFolder makes a folder that is removed when the command ends.
func (a *app) temporaryFolder() (string, error) {
	dir, remove, err := atomicfile.TemporaryFolder(filepath.Join(os.TempDir(), "robocache"))
	a.remove = append(a.remove, remove)
	return dir, unwritten(err)
}

// removeTemporary removes the temporary folders.
func (a *app) removeTemporary() {
	for _, remove := range a.remove {
		remove()
	}
}

// formatOf returns the format by the file's extension, or by its first bytes if the extension is unknown: "ulg", "npz", or "folder".
func formatOf(path string) (string, error) {
	folder, head, err := beginning(path, 4)
	switch {
	case err != nil:
		return "", err
	case folder:
		return "folder", nil
	}
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".ulg", ".npz":
		return ext[1:], nil
	}
	switch string(head) {
	case "ULog":
		return "ulg", nil
	case "PK\x03\x04", "PK\x05\x06":
		return "npz", nil
	}
	known, err := dataset.Recognise(context.Background(), path)
	if err != nil {
		return "", readError(path, err)
	}
	return known.Name, nil
}

// arrayError returns an error that names an archive's array.
func arrayError(path string, err error) error {
	var s *npz.StreamError
	if errors.As(err, &s) {
		if s.Got != "" {
			return &inputError{Path: path, Array: s.Array, Got: s.Got, Want: s.Want}
		}
		return &inputError{Path: path, Array: s.Array, Err: s.Err}
	}
	var f *dataset.FormatError
	if errors.As(err, &f) && errors.Is(err, dataset.ErrNotFound) {
		return &inputError{Path: path, Msg: fmt.Sprintf("no stream %s, want %s", f.Got, f.Want)}
	}
	return readError(path, err)
}

// readPlan reads a plan file. It returns an align.PlanError if the text is invalid.
func readPlan(path string) (align.Plan, error) {
	p, err := planfile.Read(path)
	if bad := (*align.PlanError)(nil); err != nil && !errors.As(err, &bad) {
		err = readError(path, err)
	}
	return p, err
}
