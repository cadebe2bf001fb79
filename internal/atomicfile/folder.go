package atomicfile

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/robocache/robocache/internal/fault"
)

// Folder is an unfinished folder, with files that belong together, under a temporary name.
type Folder struct {
	temporary string // where files are written, next to the final name
	path      string // the caller's spelling, for errors
	target    string // the folder that path is or links to
	replace   bool
	release   func()
	done      bool
	mode      fs.FileMode // permissions of the folder to replace; 0 if there is none
	written   []member    // by WriteFile
}

// member is a file in the folder: its relative path, and the CRC-32C of its bytes.
type member struct {
	name string
	sum  uint32
}

// replaced is the suffix for a folder that is being replaced. It is appended to the new folder's temporary name.
const replaced = ".old"

// NewFolder starts a folder that Commit will name path, or the folder that path links to. The parent folder must exist. If the name is
// taken, the error is an *fs.PathError that is fs.ErrExist, unless replace is true and the name is a folder. A replacement keeps the
// old folder's permissions.
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
	if f.mode != 0 { // private until it gets the old folder's permissions
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

// Create creates a file in the folder, and missing folders above it. path begins with Path.
func (f *Folder) Create(path string) (file *fault.File, err error) {
	temporary.Lock() // so that no file is created after Abandon
	defer temporary.Unlock()
	if err := fault.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return nil, err
	}
	return fault.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
}

// WriteFile creates a file with content, at a path relative to the folder. Commit reads it back. Errors are an *fs.PathError with the
// final path.
func (f *Folder) WriteFile(name string, content []byte) error {
	file, err := f.Create(filepath.Join(f.temporary, name))
	if err == nil {
		_, err = file.Write(content)
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return named(filepath.Join(f.path, name), err)
	}
	f.written = append(f.written, member{name, crc32.Checksum(content, sums)})
	return nil
}

// TemporaryFolder creates a folder with mode 0700 next to a path, which need not exist. remove deletes the folder.
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

// free returns an error if the name is taken, and records the permissions of a folder to be replaced.
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

// Path returns the folder in which files must be created.
func (f *Folder) Path() string { return f.temporary }

// Name returns the final name in the caller's spelling.
func (f *Folder) Name() string { return f.path }

// Commit reads back the files from WriteFile, flushes every file to the disk and renames the folder. If a file does not have the
// written bytes, the error is ErrReadBack. An old folder is removed after the rename. If the machine stops between
// the two steps, the old folder stays next to the name and Sweep restores it. After an error the name has its old content, unless the
// error reports that the new folder has its name.
func (f *Folder) Commit() error {
	for _, m := range f.written {
		content, err := fault.ReadFile(filepath.Join(f.temporary, m.name))
		if err == nil && crc32.Checksum(content, sums) != m.sum {
			err = ErrReadBack
		}
		if err != nil {
			return named(filepath.Join(f.path, m.name), err)
		}
	}
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

// rename renames the folder to its final name and moves an old folder away.
func (f *Folder) rename() error {
	temporary.Lock() // so that a signal leaves the old folder or the new one
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
		held, _, err := hold(f.target, f.target) // so that Sweep does not remove it
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

// Close removes the folder unless Commit succeeded. Close twice is fine.
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
