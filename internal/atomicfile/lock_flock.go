//go:build linux || darwin

package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

// noFollow holds flags for open: opening a symbolic link fails, and opening a pipe does not block.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// tryLock locks a file until it is closed or the program ends. possible is false if the file system has no locks.
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

// links returns how many names a file has.
func links(st os.FileInfo) int {
	if s, ok := st.Sys().(*syscall.Stat_t); ok {
		return int(s.Nlink)
	}
	return 2
}
