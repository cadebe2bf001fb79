//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package mapped

import (
	"os"
	"syscall"
)

func mapFile(file *os.File, size int) ([]byte, error) {
	return syscall.Mmap(int(file.Fd()), 0, size, syscall.PROT_READ, syscall.MAP_SHARED)
}

func unmap(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	return syscall.Munmap(data)
}
