package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/robocache/robocache/internal/fault"
)

// Folder is a folder of files that belong together, which has not got its name yet.
type Folder struct {
	temporary string // where it is written, beside its name
	path      string // as the caller wrote it, for errors
	target    string // the folder that path is or links to
	replace   bool
	release   func()
	done      bool
	mode      fs.FileMode // of the folder that it replaces; 0 if there is none
}

// replaced is what the name of a folder ends in that another one is about to replace, after what that one was called.
const replaced = ".old"

// NewFolder begins a folder that Commit will name path, or what path links to. The folder that it lies in must exist. What has the name already is an
// *fs.PathError that is fs.ErrExist, unless it is a folder and may be replaced; the new one has its permissions.
func NewFolder(path string, replace bool) (*Folder, error) {
	target, err := Follow(filepath.Clean(path))
	if err != nil {
		return nil, named(path, err)
	}
	f := &Folder{path: path, target: target, replace: replace}
	sweepBeside(target)
	if err := f.free(); err != nil {
		return nil, err
	}
	mode := fs.FileMode(0o777)
	if f.mode != 0 { // what replaces a folder is for those that it was for
		mode = 0o700
	}
	f.release, err = claimBeside(target, func(name string) error {
		f.temporary = name
		return os.Mkdir(name, mode)
	})
	if err != nil {
		return nil, named(path, err)
	}
	return f, nil
}

// Create makes a file in the folder, and the folders above it. path begins with Path.
func (f *Folder) Create(path string) (file *fault.File, err error) {
	temporary.Lock() // so that none is made after Abandon
	defer temporary.Unlock()
	if err := fault.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	return fault.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// TemporaryFolder makes a folder with mode 0700 beside a path, which need not exist. remove deletes the folder.
func TemporaryFolder(beside string) (dir string, remove func(), err error) {
	sweepBeside(beside)
	release, err := claimBeside(beside, func(name string) error {
		dir = name
		return os.Mkdir(name, 0o700)
	})
	if err != nil {
		return "", func() {}, named(beside, err)
	}
	return dir, func() {
		os.RemoveAll(dir)
		release()
	}, nil
}

// free returns an error if the name is taken, and notes the permissions of a folder that is to be replaced.
func (f *Folder) free() error {
	st, err := os.Lstat(f.target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return named(f.path, err)
	case !f.replace:
		return named(f.path, fs.ErrExist)
	case !st.IsDir():
		return named(f.path, errors.New("is no folder"))
	}
	f.mode = st.Mode()
	return nil
}

// Path returns where its files are to be written.
func (f *Folder) Path() string { return f.temporary }

// Name returns the name that Commit will give it, as the caller wrote it.
func (f *Folder) Name() string { return f.path }

// Commit flushes every file to the disk and gives the folder its name. A folder that it replaces is removed when the new one is there; should the
// machine stop between the two, the old one lies beside the name, and Sweep gives it back. After an error there is under the name what was there before, unless it says
// that the new folder has its name.
func (f *Folder) Commit() error {
	err := filepath.WalkDir(f.temporary, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return syncDir(path)
		}
		return syncFile(path)
	})
	if err != nil {
		return named(f.path, err)
	}
	err = f.rename()
	if f.done {
		f.release()
	}
	if err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(f.target)); err != nil {
		return fmt.Errorf("the new folder has its name, which may not last: %w", err)
	}
	return nil
}

// rename gives the folder its name, in place of what had it.
func (f *Folder) rename() error {
	temporary.Lock() // so that an end by a signal leaves the old folder or the new one
	defer temporary.Unlock()
	if err := f.free(); err != nil {
		return err
	}
	if f.mode != 0 && runtime.GOOS != "windows" {
		if err := os.Chmod(f.temporary, f.mode.Perm()); err != nil {
			return named(f.path, err)
		}
	}
	old := ""
	if f.replace {
		old = f.temporary + replaced
		held, _, err := hold(f.target, f.target) // against a Sweep
		if err != nil {
			return named(f.path, err)
		}
		defer held.Close()
		if err := os.Rename(f.target, old); errors.Is(err, fs.ErrNotExist) {
			old = ""
		} else if err != nil {
			return named(f.path, err)
		}
	}
	err := fault.Check("rename", f.path)
	if err == nil {
		err = os.Rename(f.temporary, f.target)
	}
	if err != nil {
		if old != "" {
			err = errors.Join(err, os.Rename(old, f.target))
		}
		return named(f.path, err)
	}
	f.done = true
	if old != "" {
		if err := os.RemoveAll(old); err != nil {
			return fmt.Errorf("the new folder has its name, and the old one is left: %w", err)
		}
	}
	return nil
}

func syncFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(flush(file), file.Close())
}

// Close removes the folder if it has not got its name. Close twice is fine.
func (f *Folder) Close() error {
	if f.done {
		return nil
	}
	f.done = true
	err := os.RemoveAll(f.temporary)
	f.release()
	if err != nil {
		return named(f.path, err)
	}
	return nil
}
