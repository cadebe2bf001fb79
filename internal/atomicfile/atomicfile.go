package atomicfile

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// file is a file that is being written and has not got its name yet.
type file struct {
	f    *os.File
	path string
	done bool
}

// create begins a file that Commit will name path. The folder must exist. The permissions are those of os.Create.
func create(path string) (*file, error) {
	if st, err := os.Stat(path); err == nil && st.IsDir() {
		return nil, &fs.PathError{Op: "create", Path: path, Err: errors.New("is a directory")}
	}
	for {
		var salt [8]byte
		if _, err := rand.Read(salt[:]); err != nil {
			return nil, err
		}
		name := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+hex.EncodeToString(salt[:])+".tmp")
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return &file{f: f, path: path}, nil
	}
}

// Write appends to the file.
func (f *file) Write(p []byte) (int, error) { return f.f.Write(p) }

// Commit flushes the file to the disk and gives it its name, in place of what had that name. After an error nothing is
// left behind, and the old file is untouched.
func (f *file) Commit() error {
	if f.done {
		return fs.ErrClosed
	}
	if err := f.f.Sync(); err != nil {
		return errors.Join(err, f.Close())
	}
	f.done = true
	err := f.f.Close()
	if err == nil {
		err = os.Rename(f.f.Name(), f.path)
	}
	if err != nil {
		os.Remove(f.f.Name())
		return err
	}
	return syncDir(filepath.Dir(f.path))
}

// Close removes the file if it was not committed. Close twice is fine.
func (f *file) Close() error {
	if f.done {
		return nil
	}
	f.done = true
	err := f.f.Close()
	return errors.Join(err, os.Remove(f.f.Name()))
}

// WriteFile writes a file with what fill writes, and leaves the old one if fill fails.
func WriteFile(path string, fill func(io.Writer) error) error {
	f, err := create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := fill(f); err != nil {
		return err
	}
	return f.Commit()
}

// syncDir makes a rename last. Where a folder cannot be flushed, as on Windows, the rename alone must do.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrInvalid) {
		err = nil
	}
	return errors.Join(err, d.Close())
}
