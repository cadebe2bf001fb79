package atomicfile

import (
	"errors"
	"io/fs"
	"os"
)

// ErrLocked says that another holds a lock.
var ErrLocked = errors.New("locked")

// Lock makes a file that whoever works on something holds meanwhile, and removes it at unlock. Where another holds it, the error is [ErrLocked]; one that
// a program has left which was killed is taken over. Where files cannot be locked, or this one not be made, as on a disk that is read alone, there is no
// lock, and no error.
func Lock(path string) (unlock func(), err error) {
	none := func() {}
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return none, nil
		}
		held, possible := tryLock(f)
		if !held {
			f.Close()
			if possible {
				return nil, ErrLocked
			}
			_ = os.Remove(path)
			return none, nil
		}
		own, err := f.Stat()
		if err != nil {
			f.Close()
			return none, nil
		}
		switch now, err := os.Stat(path); {
		case err == nil && os.SameFile(own, now):
			release := Temporary(path)
			return func() {
				_ = os.Remove(path) // before others can have it
				f.Close()
				release()
			}, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			f.Close()
			return none, nil
		}
		f.Close() // who held it has removed it meanwhile
	}
}
