package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Overlap reports whether an output is an input, lies below it, or contains it. Symbolic and hard links are resolved, also inside an input folder if the
// output exists. Neither path needs to exist.
func Overlap(in, out string) bool {
	in, out = resolved(in), resolved(out)
	return within(in, out) || within(out, in) || linked(in, out)
}

// resolved returns an absolute path without symbolic links, except in the end that does not exist.
func resolved(path string) string {
	if target, err := Follow(path); err == nil {
		path = target
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	for at, rest := path, ""; ; at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return path
		}
	}
}

// within reports whether a file is a folder, or lies below it.
func within(folder, file string) bool {
	is, absent := os.Stat(folder)
	for ; ; file = filepath.Dir(file) {
		st, err := os.Stat(file)
		if file == folder || err == nil && absent == nil && os.SameFile(st, is) {
			return true
		}
		if file == filepath.Dir(file) {
			return false
		}
	}
}

// linked reports whether a folder has a link to a file, or to a folder above it.
func linked(folder, file string) (found bool) {
	is, err := os.Stat(file)
	if err != nil || !is.Mode().IsRegular() {
		return false
	}
	_ = filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink == 0 && (!d.Type().IsRegular() || links(is) == 1) {
			return nil // a folder that cannot be listed cannot be read either
		}
		if found = within(resolved(path), file); found {
			return filepath.SkipAll
		}
		return nil
	})
	return found
}
