package atomicfile

import (
	"errors"
	"io/fs"
	"os"
)

// ErrLocked says that another holds a lock.
var ErrLocked = errors.New("locked")

// Lock makes a file that whoever works on something holds meanwhile, and removes it at unlock, or [Abandon] does. Where another holds it, the error is [ErrLocked]; one that
// a program has left which was killed is taken over. Where files cannot be locked, or this one not be made, as on a disk that is read alone, there is no
// lock, and no error.
func Lock(path string) (unlock func(), err error) {
	none := func() {}
	for {
		var f *os.File
		again := false
		release, err := making(path, func() (err error) { // the file may be another's until it is locked
			f, again, err = lock(path)
			return err
		})
		switch {
		case again:
			continue
		case errors.Is(err, ErrLocked):
			return nil, err
		case err != nil:
			return none, nil
		}
		return func() {
			_ = os.Remove(path) // before others can have it
			release()
			f.Close()
		}, nil
	}
}

// lock makes a file and locks it. The error is ErrLocked if another program holds the lock; again is set if that program has removed the file meanwhile.
func lock(path string) (f *os.File, again bool, err error) {
	f, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE|noFollow, 0o666)
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

// hold opens and locks a temporary file or folder. The lock lasts until held is closed or the program ends; held is nil if the system cannot lock it. free
// is false if another program holds the lock, or has removed the file.
func hold(path string) (held *os.File, free bool) {
	for _, mode := range []int{os.O_RDWR, os.O_RDONLY} { // the first fails for a folder, and the second cannot lock on some networks
		f, err := os.OpenFile(path, mode|noFollow, 0)
		if err != nil {
			continue
		}
		held, possible := tryLock(f)
		if held && same(f, path) == nil {
			return f, true
		}
		f.Close()
		if held || possible {
			return nil, false
		}
	}
	return nil, true
}
