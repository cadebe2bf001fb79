package atomicfile

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/robocache/robocache/internal/fault"
)

// file is an unfinished output under a temporary name.
type file struct {
	f       *os.File
	path    string // the caller's spelling, for errors
	target  string // the file that path is or links to
	release func() // releases the temporary name
	done    bool
	sum     uint32 // CRC-32C of the written bytes
	size    int64  // bytes written
}

// ErrReadBack means that a file, read back, differs from the bytes written to it.
var ErrReadBack = errors.New("read back, it is not what was written")

// sums is the table for CRC-32C, which processors compute about as fast as they copy.
var sums = crc32.MakeTable(crc32.Castagnoli)

// create starts a file that rename will name path, or the file that path links to. The folder must exist. The file gets the permissions
// of an existing file, or the default of os.Create.
func create(path string) (*file, error) {
	target, err := Follow(path)
	if err != nil {
		return nil, named(path, err)
	}
	old, err := fault.Stat(target)
	if fault.Failed(err) {
		return nil, named(path, err)
	}
	if err == nil && !old.Mode().IsRegular() {
		what := "is no regular file"
		if old.IsDir() {
			what = "is a directory"
		}
		return nil, named(path, errors.New(what))
	}
	mode := fs.FileMode(0o666)
	if old != nil {
		mode = 0o600 // until the file gets the permissions of the old one
	}
	f, release, err := createBeside(target, mode)
	if err == nil && old != nil && old.Mode().Perm() != mode && runtime.GOOS != "windows" {
		if err = f.Chmod(old.Mode().Perm()); err != nil {
			f.Close()
			os.Remove(f.Name())
			release()
		}
	}
	if err != nil {
		return nil, named(path, err)
	}
	return &file{f: f, path: path, target: target, release: release}, nil
}

// createBeside creates a temporary file next to a target, and claims it until release is called.
func createBeside(target string, mode fs.FileMode) (f *os.File, release func(), err error) {
	release, err = claimBeside(target, func(name string) (err error) {
		f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		return err
	})
	return f, release, err
}

// claimBeside calls do to create a temporary file or folder next to a target. Until release is called, Abandon removes it and Sweep
// does not.
func claimBeside(target string, do func(name string) error) (release func(), err error) {
	for {
		var salt [8]byte
		if _, err := rand.Read(salt[:]); err != nil {
			return nil, err
		}
		name := filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+"."+hex.EncodeToString(salt[:])+".tmp")
		release, err := making(name, func() error {
			if err := fault.Check("create", target); err != nil {
				return err
			}
			return do(name)
		})
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		held, free, err := hold(name, target)
		if free {
			return func() {
				release()
				held.Close() // Close on nil only returns an error
			}, nil
		}
		os.RemoveAll(name)
		release()
		if err != nil {
			return nil, err
		}
		// A Sweep in another program removed the file before it was locked.
	}
}

// Follow returns the file that a path refers to through symbolic links. It need not exist.
func Follow(path string) (string, error) {
	for range 40 {
		st, err := fault.Lstat(path)
		if fault.Failed(err) {
			return "", err
		}
		if err != nil || st.Mode()&fs.ModeSymlink == 0 {
			return path, nil // a missing file will be created
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", errors.New("too many links")
}

// named replaces the path in an error by the caller's path, because the temporary file's name means nothing to the caller.
func named(path string, err error) error {
	if below := (*fs.PathError)(nil); errors.As(err, &below) {
		err = below.Err
	} else if below := (*os.LinkError)(nil); errors.As(err, &below) {
		err = below.Err
	}
	return &fs.PathError{Op: "write", Path: path, Err: err}
}

// Write appends to the file.
func (f *file) Write(p []byte) (int, error) {
	if err := fault.Check("write", f.path); err != nil {
		return 0, named(f.path, err)
	}
	n, err := f.f.Write(p)
	f.sum, f.size = crc32.Update(f.sum, sums, p[:n]), f.size+int64(n)
	if err != nil {
		err = named(f.path, err)
	}
	return n, err
}

// finish flushes the file to the disk and compares it with the written bytes. Only the rename is left after it.
func (f *file) finish() error {
	err := fault.Check("sync", f.path)
	if err == nil {
		err = flush(f.f)
	}
	if err == nil {
		err = f.readBack()
	}
	if closing := f.f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return named(f.path, err)
	}
	return nil
}

// readBack reads the whole file and compares the checksum. The system may return bytes from memory, so this detects errors before the
// disk and changes by other programs, but not a failing disk.
func (f *file) readBack() error {
	var sum uint32
	buf := make([]byte, 1<<18)
	size := int64(0)
	for {
		n, err := f.f.ReadAt(buf, size)
		sum, size = crc32.Update(sum, sums, buf[:n]), size+int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if size != f.size || sum != f.sum {
		return fmt.Errorf("%w: got %d bytes with CRC-32C %08x, want %d with %08x", ErrReadBack, size, sum, f.size, f.sum)
	}
	return nil
}

// rename renames the file to its final name and replaces an existing file. The caller holds the lock of temporary, so that Abandon does
// not run meanwhile.
func (f *file) rename() error {
	err := fault.Check("rename", f.path)
	if err == nil {
		err = os.Rename(f.f.Name(), f.target)
	}
	if err != nil {
		return named(f.path, err)
	}
	f.done = true
	return nil
}

// close removes the file unless it was renamed to its final name.
func (f *file) close() {
	if !f.done {
		f.done = true
		f.f.Close()
		os.Remove(f.f.Name())
	}
	f.release()
}

// Output is a file to write: its name, and a function that writes its content.
type Output struct {
	Path string
	Fill func(io.Writer) error
}

// WriteFile writes a file with fill's output, and leaves the old file if fill fails. A write error is an *fs.PathError with the path.
// It is ErrReadBack if the file, read back, differs from fill's output.
func WriteFile(path string, fill func(io.Writer) error) error {
	return WriteFiles(nil, Output{path, fill})
}

// WriteBytes is WriteFile for a file whose content is there.
func WriteBytes(path string, content []byte) error {
	return WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// WriteFiles writes files that belong together. It renames them in order, but only after all are flushed to the disk and read back, and
// last (if not nil) has succeeded.
func WriteFiles(last func() error, list ...Output) error {
	var files []*file
	defer func() {
		for _, f := range files {
			f.close()
		}
	}()
	for _, o := range list {
		f, err := create(o.Path)
		if err != nil {
			return err
		}
		files = append(files, f)
		if err := o.Fill(f); err != nil {
			return err
		}
		if err := f.finish(); err != nil {
			return err
		}
	}
	if last != nil {
		if err := last(); err != nil {
			return err
		}
	}
	if err := renameAll(files); err != nil {
		return err
	}
	for _, f := range files {
		if err := syncDir(filepath.Dir(f.target)); err != nil {
			return named(f.path, err)
		}
	}
	return nil
}

func renameAll(files []*file) error {
	temporary.Lock() // so that a signal leaves all files or none
	defer temporary.Unlock()
	for _, f := range files {
		if err := f.rename(); err != nil {
			return err
		}
	}
	return nil
}

// Check returns the error that writing a file would hit at the start: a missing folder, no permission, or a folder with that name. It
// leaves no file, and removes temporary files that killed programs left.
func Check(path string) error {
	target, err := Follow(path)
	if err != nil {
		return named(path, err)
	}
	sweepBeside(target)
	f, err := create(path)
	if err != nil {
		return err
	}
	f.close()
	return nil
}

// syncDir flushes a folder so that a rename survives a crash. On Windows folders cannot be flushed, so it does nothing there.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(flush(d), d.Close())
}

// flush flushes a file or folder to the disk. It returns nil if the file system does not support this, as some network file systems.
func flush(f *os.File) error {
	err := f.Sync()
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return err
}
