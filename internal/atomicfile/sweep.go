package atomicfile

import (
	"cmp"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/robocache/robocache/internal/fault"
)

// Sweep removes temporary files and folders that killed programs left in a folder. own selects the output names that belong to the
// caller. A temporary held by a running program stays; on a system without locks, no program may be writing them. If a killed program
// had moved a folder away to replace it, and the name is free, the folder gets its name back.
func Sweep(dir string, own func(name string) bool) error { return sweep(dir, own, false) }

// sweepBeside removes temporaries that killed programs left next to a target, if their locks are free. It ignores errors.
func sweepBeside(target string) {
	_ = sweep(filepath.Dir(target), func(name string) bool { return name == filepath.Base(target) }, true)
}

func sweep(dir string, own func(name string) bool, locked bool) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range list {
		of, left := Left(entry.Name())
		if !left || !entry.Type().IsRegular() && !entry.IsDir() || !own(of) {
			continue
		}
		path := filepath.Join(dir, entry.Name())
		held, free, err := hold(path, path)
		held.Close()
		if err != nil {
			return named(path, err)
		}
		if !free || locked && held == nil {
			continue
		}
		if strings.HasSuffix(path, replaced) {
			name := filepath.Join(dir, of)
			if _, err := fault.Lstat(name); fault.Failed(err) {
				return named(name, err)
			} else if err != nil {
				if err := os.Rename(path, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return named(name, err)
				}
				continue
			}
		}
		if err := os.RemoveAll(path); err != nil {
			return named(path, err)
		}
	}
	return nil
}

// Foreign returns the name of an entry in an output folder if own selects none of them; else "". A temporary file counts as its output. A
// folder that does not exist has no entries.
func Foreign(dir string, own func(name string) bool) (name string, err error) {
	list, err := fault.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	for _, entry := range list {
		of, left := Left(entry.Name())
		if !left {
			of = entry.Name()
		}
		if own(of) {
			return "", err
		}
		name = cmp.Or(name, entry.Name())
	}
	return name, err
}

// Left returns the output's name for a temporary file's name. left is false for other names.
func Left(name string) (of string, left bool) {
	rest, tmp := strings.CutSuffix(strings.TrimSuffix(name, replaced), ".tmp")
	rest, dot := strings.CutPrefix(rest, ".")
	i := strings.LastIndexByte(rest, '.')
	if !tmp || !dot || i < 0 {
		return "", false
	}
	salt, err := hex.DecodeString(rest[i+1:])
	return rest[:i], err == nil && len(salt) == 8
}
