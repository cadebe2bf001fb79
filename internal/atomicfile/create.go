package atomicfile

import "path/filepath"

// File is an output that is written in steps, for callers that cannot use WriteFile. One goroutine may use it at a time.
type File struct{ file *file }

// Create starts a file that Commit will name path, or the file that path links to. Its folder must exist.
func Create(path string) (*File, error) {
	f, err := create(path)
	if err != nil {
		return nil, err
	}
	return &File{f}, nil
}

// Write appends to the file. An error is an *fs.PathError with the file's path.
func (f *File) Write(p []byte) (int, error) { return f.file.Write(p) }

// Commit flushes the file to the disk, reads it back, compares it and gives it its final name. It returns the same errors as WriteFile.
func (f *File) Commit() error {
	if err := f.file.finish(); err != nil {
		return err
	}
	if err := renameAll([]*file{f.file}); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(f.file.target)); err != nil {
		return named(f.file.path, err)
	}
	return nil
}

// Close removes the file unless Commit succeeded. Close twice is fine.
func (f *File) Close() error {
	f.file.close()
	return nil
}
