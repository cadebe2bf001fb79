package fault

import (
	"io/fs"
	"os"
)

// ReadFile is os.ReadFile, as one call.
func ReadFile(path string) ([]byte, error) {
	return Call("read", path, func() ([]byte, error) { return os.ReadFile(path) })
}

// ReadDir is os.ReadDir, as one call.
func ReadDir(path string) ([]fs.DirEntry, error) {
	return Call("list", path, func() ([]fs.DirEntry, error) { return os.ReadDir(path) })
}

// Stat is os.Stat, as one call.
func Stat(path string) (fs.FileInfo, error) {
	return Call("stat", path, func() (fs.FileInfo, error) { return os.Stat(path) })
}

// Lstat is os.Lstat, as one call.
func Lstat(path string) (fs.FileInfo, error) {
	return Call("stat", path, func() (fs.FileInfo, error) { return os.Lstat(path) })
}

// MkdirAll is os.MkdirAll, as one call.
func MkdirAll(path string, mode fs.FileMode) error {
	_, err := Call("create", path, func() (_ any, err error) { return nil, os.MkdirAll(path, mode) })
	return err
}

// File is an open file. Each read and each write is a call.
type File struct{ f *os.File }

// OpenFile is os.OpenFile, as one call.
func OpenFile(path string, flag int, mode fs.FileMode) (*File, error) {
	return Call("open", path, func() (*File, error) {
		f, err := os.OpenFile(path, flag, mode)
		return &File{f}, err
	})
}

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }

// Stat is os.File.Stat.
func (f *File) Stat() (fs.FileInfo, error) { return f.f.Stat() }

func (f *File) Read(b []byte) (int, error) {
	return Call("read", f.f.Name(), func() (int, error) { return f.f.Read(b) })
}

func (f *File) Write(b []byte) (int, error) {
	return Call("write", f.f.Name(), func() (int, error) { return f.f.Write(b) })
}
