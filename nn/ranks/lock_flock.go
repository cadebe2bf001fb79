//go:build linux || darwin

package ranks

import (
	"os"
	"syscall"

	"github.com/robocache/robocache/internal/fault"
)

// lock locks a folder, and waits while another program has locked it. The lock ends with unlock or with the program.
func lock(dir string) (unlock func(), err error) {
	f, err := fault.Call("lock", dir, func() (*os.File, error) { return os.Open(dir) })
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, &os.PathError{Op: "lock", Path: dir, Err: err}
	}
	return func() { _ = f.Close() }, nil
}
