//go:build unix

package thorough

import (
	"syscall"
	"time"
)

// UserTime returns the processor time that the process has spent outside the kernel. A test measures by it, because other programs lengthen wall time.
func UserTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano())
}
