package main

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/robocache/robocache/internal/atomicfile"
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

// local returns the name under which an input can be opened any number of times. A pipe, which can be read once only, is copied into a temporary file;
// whatever is printed names the pipe all the same. clean takes the copy away.
func (a *app) local(path string) (open string, clean func(), err error) {
	clean = func() {}
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
	defer a.step("reading " + path)()
	if err := a.copyTo(open, path); err != nil {
		clean()
		return path, func() {}, err
	}
	a.out, a.err = &renaming{a.out, open, path}, &renaming{a.err, open, path}
	return open, clean, nil
}

func (a *app) copyTo(to, path string) error {
	from := a.in
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

// renaming writes what it is given with one name in place of another.
type renaming struct {
	w        io.Writer
	old, new string
}

func (r *renaming) Write(p []byte) (int, error) {
	if _, err := r.w.Write(bytes.ReplaceAll(p, []byte(r.old), []byte(r.new))); err != nil {
		return 0, err
	}
	return len(p), nil
}
