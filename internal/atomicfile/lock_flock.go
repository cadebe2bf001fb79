//go:build linux || darwin

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

// noFollow are flags of open: a link is an error, and a pipe does not block.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// tryLock locks a file until it is closed or the program ends; possible is false where its disk has no locks.
func tryLock(f *os.File) (held, possible bool) {
	for {
		switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
		case err == nil:
			return true, true
		case !errors.Is(err, syscall.EINTR):
			return false, errors.Is(err, syscall.EWOULDBLOCK)
		}
	}
}

// links returns the number of a file's names.
func links(st os.FileInfo) int {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return int(s.Nlink)
	}
	return 2
}
