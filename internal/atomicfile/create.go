package atomicfile

import "path/filepath"

// File is a file that is written bit by bit, by who cannot wait for it in one call as WriteFile does. It is for one goroutine.
type File struct{ file *file }

// Create begins a file that Commit will name path, or what path links to. The folder that it lies in must exist.
func Create(path string) (*File, error) {
	f, err := create(path)
	if err != nil {
		return nil, err
	}
	return &File{f}, nil
}

// Write appends to the file. A failure is an *fs.PathError that has the file's path.
func (f *File) Write(p []byte) (int, error) { return f.file.Write(p) }

// Commit flushes the file to the disk, reads it back, compares it with what was written and gives it its name. Errors are those of WriteFile.
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

// Close removes the file if it has not got its name. Close twice is fine.
func (f *File) Close() error {
	f.file.close()
	return nil
}
