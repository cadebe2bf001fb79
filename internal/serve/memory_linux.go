package serve

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// NewMemory returns at least n zero bytes, rounded up to whole pages. what describes the memory in errors. It returns an *ops.MemoryError if
// there is not enough memory.
func NewMemory(what string, n int64) (*Memory, error) {
	page := int64(os.Getpagesize())
	fails := func(err error) error { return &ops.MemoryError{Device: "host", What: what, Bytes: n, Err: err} }
	if most := tensor.Available(); n < 0 || n > most {
		return nil, fails(fmt.Errorf("%d bytes are available", most))
	}
	n = max(n+page-1, page) / page * page
	fd, err := unix.MemfdCreate("robocache", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fails(os.NewSyscallError("memfd_create", err))
	}
	m := &Memory{file: os.NewFile(uintptr(fd), "memfd:robocache")}
	if err = os.NewSyscallError("ftruncate", unix.Ftruncate(fd, n)); err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL)
		err = os.NewSyscallError("fcntl", err)
	}
	if err == nil {
		m.data, err = unix.Mmap(fd, 0, int(n), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		err = os.NewSyscallError("mmap", err)
	}
	if err != nil {
		return nil, fails(errors.Join(err, m.file.Close()))
	}
	return m, nil
}

// Close unmaps the memory and closes the descriptor. Nothing may use the memory any more. Close twice is fine.
func (m *Memory) Close() error {
	if m == nil || m.data == nil {
		return nil
	}
	err := errors.Join(os.NewSyscallError("munmap", unix.Munmap(m.data)), m.file.Close())
	m.data = nil
	return err
}
