package mapped

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"syscall"
)

// shared is a mapped file without a name. The system frees it when no process has it open.
type shared struct {
	file *os.File
	data []byte
}

// NewShared returns size zero bytes of shared memory; size is at least 1. Other processes of the user open it by the handle, until this
// process closes it. If there is not enough memory for all bytes, it returns an error.
func NewShared(size int64) (s Shared, handle string, err error) {
	var file *os.File
	for _, dir := range []string{"/dev/shm", os.TempDir()} { // which is small in many a container
		if file, err = room(dir, size); err == nil {
			break
		}
	}
	if err != nil {
		return nil, "", err
	}
	m, err := mapShared(file, size)
	if err != nil {
		return nil, "", err
	}
	return m, fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), file.Fd()), nil
}

// room creates a file with size zero bytes in a folder, reserves the memory for them, and removes the file's name.
func room(dir string, size int64) (*os.File, error) {
	file, err := os.CreateTemp(dir, "robocache-shared-")
	if err != nil {
		return nil, err
	}
	err = errors.Join(os.Remove(file.Name()), syscall.Fallocate(int(file.Fd()), 0, 0, size))
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

var handles = regexp.MustCompile(`^/proc/[0-9]+/fd/[0-9]+$`)

// OpenShared opens the shared memory of another process, with size bytes, by its handle from NewShared.
func OpenShared(handle string, size int64) (Shared, error) {
	if !handles.MatchString(handle) {
		return nil, fmt.Errorf("%q is no handle of shared memory", handle)
	}
	file, err := os.OpenFile(handle, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && (!info.Mode().IsRegular() || info.Size() != size) {
		err = fmt.Errorf("%s has %d bytes, and %d were expected", handle, info.Size(), size)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return mapShared(file, size)
}

func mapShared(file *os.File, size int64) (*shared, error) {
	data, err := syscall.Mmap(int(file.Fd()), 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &shared{file, data}, nil
}

func (s *shared) Bytes() []byte { return s.data }

func (s *shared) Close() error {
	if s.data == nil {
		return nil
	}
	err := errors.Join(unmap(s.data), s.file.Close())
	s.data = nil
	return err
}
