package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/robocache/robocache/internal/fault"
)

// Overlap reports whether an output is an input, lies inside it, or contains it. It resolves symbolic links, and hard links too, also
// inside an input folder if the output exists. Neither path needs to exist. If a system call failed, the error is not nil and the
// answer is unknown.
func Overlap(in, out string) (is bool, err error) {
	var p paths
	in, out = p.resolved(in), p.resolved(out)
	return p.within(in, out) || p.within(out, in) || p.linked(in, out), p.failed
}

// paths compares paths and keeps the first system error.
type paths struct{ failed error }

func (p *paths) note(err error) {
	if p.failed == nil && fault.Failed(err) {
		p.failed = err
	}
}

// stat returns nil if the file does not exist.
func (p *paths) stat(path string) fs.FileInfo {
	st, err := fault.Stat(path)
	p.note(err)
	return st
}

// resolved returns an absolute path. Symbolic links are resolved except in the part that does not exist.
func (p *paths) resolved(path string) string {
	target, err := Follow(path)
	if p.note(err); err == nil {
		path = target
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	for at, rest := path, ""; ; at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest) {
		real, err := filepath.EvalSymlinks(at)
		if p.note(err); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return path
		}
	}
}

// within reports whether file is the folder or lies inside it.
func (p *paths) within(folder, file string) bool {
	is := p.stat(folder)
	for ; ; file = filepath.Dir(file) {
		if st := p.stat(file); file == folder || st != nil && is != nil && os.SameFile(st, is) {
			return true
		}
		if file == filepath.Dir(file) {
			return false
		}
	}
}

// linked reports whether a folder contains a hard link to a file.
func (p *paths) linked(folder, file string) (found bool) {
	is := p.stat(file)
	if is == nil || !is.Mode().IsRegular() {
		return false
	}
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = fault.Check("list", path)
		}
		if !errors.Is(err, fs.ErrPermission) { // a folder that this user cannot list cannot be an input
			p.note(err)
		}
		if err != nil || d.Type()&fs.ModeSymlink == 0 && (!d.Type().IsRegular() || links(is) == 1) {
			return nil
		}
		if found = p.within(p.resolved(path), file); found {
			return filepath.SkipAll
		}
		return nil
	})
	return found
}
