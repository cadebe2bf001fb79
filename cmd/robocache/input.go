package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/storage"
	_ "github.com/robocache/robocache/storage/s3" // so that s3:// is a scheme
)

// stdin is the name of the standard input on a command line.
const stdin = "-"

// begin comes before the work: outputs that cannot be written are found, and the input gets a name under which it can be opened any number of times.
func (a *app) begin(in *string, outputs ...string) (clean func(), err error) {
	if err := writable(outputs...); err != nil {
		return nil, err
	}
	*in, clean, err = a.local(*in)
	return clean, err
}

// local returns the name under which an input can be opened any number of times. A pipe, which can be read once only, is copied into a temporary
// file; whatever is printed names the pipe all the same. clean takes the copy away.
func (a *app) local(path string) (open string, clean func(), err error) {
	clean = func() {}
	at, isLocal := storage.Local(path)
	if !isLocal {
		return path, clean, nil
	}
	path = at
	if path != stdin {
		info, err := os.Stat(path)
		if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
			return path, clean, nil // a file, or an error that opening it explains
		}
	}
	dir, clean, err := temporaryFolder()
	if err != nil {
		return path, clean, err
	}
	name := filepath.Base(path)
	if path == stdin {
		name = "stdin"
	}
	open = filepath.Join(dir, name)
	defer a.Step("reading " + path)()
	if err := a.copyTo(open, path); err != nil {
		clean()
		return path, func() {}, err
	}
	a.Pipe.Copy, a.Pipe.Name = open, path
	return open, clean, nil
}

func (a *app) copyTo(to, path string) error {
	from := a.In
	if path != stdin {
		f, err := os.Open(path)
		if err != nil {
			return &inputError{Path: path, Msg: "cannot be opened", Err: cause(err)}
		}
		defer f.Close()
		from = f
	}
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
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

// beginning returns so many bytes of an input's beginning, or fewer, and whether it is a folder.
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
	n, _ = io.ReadFull(storage.Reader(f), head) // who reads the rest will see what is wrong
	return false, head[:n], nil
}

// temporaryFolder makes a folder that does not outlive the program. clean takes it away.
func temporaryFolder() (dir string, clean func(), err error) {
	var salt [8]byte
	if _, err := rand.Read(salt[:]); err != nil {
		return "", func() {}, err
	}
	dir = filepath.Join(os.TempDir(), "robocache-"+hex.EncodeToString(salt[:]))
	release := atomicfile.Temporary(dir)
	if err := os.Mkdir(dir, 0o700); err != nil {
		release()
		return "", func() {}, unwritten(err)
	}
	return dir, func() {
		os.RemoveAll(dir)
		release()
	}, nil
}

// formatOf tells the formats apart by the file's name, and by its first bytes if that says nothing: "ulg", "npz", or "folder".
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

// arrayError names the array of an archive that cannot be used.
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

// readPlan reads a plan file. An error of its text is an align.PlanError.
func readPlan(path string) (align.Plan, error) {
	p, err := align.ReadPlan(path)
	if bad := (*align.PlanError)(nil); err != nil && !errors.As(err, &bad) {
		err = readError(path, err)
	}
	return p, err
}
