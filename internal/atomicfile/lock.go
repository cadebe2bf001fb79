package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/robocache/robocache/internal/fault"
)

// ErrLocked means that another program holds the lock.
var ErrLocked = errors.New("locked")

// Lock creates and locks a file, so that only one program works on an output. unlock and [Abandon] remove the file. If another program
// holds the lock, the error is [ErrLocked]. A lock file left by a killed program is taken over. If locks are not supported, or the file
// cannot be created because of a missing folder or permission, there is no lock and no error. Any other system error is returned,
// because two programs could then write one output.
func Lock(path string) (unlock func(), err error) {
	none := func() {}
	for {
		var f *os.File
		again := false
		release, err := making(path, func() (err error) { // the file may belong to another program until it is locked
			f, again, err = lock(path)
			return err
		})
		switch {
		case again:
			continue
		case errors.Is(err, ErrLocked), fault.Failed(err) && !unlockable(err):
			return nil, err
		case err != nil:
			return none, nil
		}
		return func() {
			_ = os.Remove(path) // before the lock ends
			release()
			f.Close()
		}, nil
	}
}

// unlockable reports whether an error means that this user or file system cannot lock the file.
func unlockable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, errors.ErrUnsupported)
}

// lock creates and locks a file. The error is ErrLocked if another program holds the lock. again is true if that program removed the
// file meanwhile.
func lock(path string) (f *os.File, again bool, err error) {
	f, err = fault.Call("lock", path, func() (*os.File, error) { return os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o666) })
	if err != nil {
		return nil, false, err
	}
	held, possible := tryLock(f)
	if !held {
		f.Close()
		if possible {
			return nil, false, ErrLocked
		}
		_ = os.Remove(path)
		return nil, false, errors.ErrUnsupported
	}
	if err = same(f, path); err != nil {
		f.Close()
		return nil, errors.Is(err, fs.ErrNotExist), err
	}
	return f, false, nil
}

// same returns an error unless path still names the open file: fs.ErrNotExist if the name is gone or names another file.
func same(f *os.File, path string) error {
	own, err := f.Stat()
	if err != nil {
		return err
	}
	now, err := os.Lstat(path)
	if err == nil && !os.SameFile(own, now) {
		err = fs.ErrNotExist
	}
	return err
}

// hold opens and locks a temporary file or folder. The lock lasts until held is closed or the program ends; held is nil if locks are
// not supported. free is false if another program holds the lock or has removed the file. target is the output's name, for errors.
func hold(path, target string) (held *os.File, free bool, err error) {
	// Writing fails for a folder; read-only files cannot be locked on some network file systems.
	for _, mode := range []int{os.O_RDWR, os.O_RDONLY} {
		f, err := fault.Call("lock", target, func() (*os.File, error) { return os.OpenFile(path, mode|noFollow, 0) })
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, false, nil
		case fault.Failed(err) && !unlockable(err):
			return nil, false, err
		case err != nil:
			continue
		}
		held, possible := tryLock(f)
		if held && same(f, path) == nil {
			return f, true, nil
		}
		f.Close()
		if held || possible {
			return nil, false, nil
		}
	}
	return nil, true, nil
}
