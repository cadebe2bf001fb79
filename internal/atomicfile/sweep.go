package atomicfile

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/robocache/robocache/internal/fault"
)

// Sweep removes from a folder what programs that were killed have left of files and folders that they were writing there, of names that the caller knows
// for its own. A temporary that a program holds stays; if the system cannot lock files, no program may be writing them. A folder that a killed program was about to
// replace, and that has no name any more, gets its name back.
func Sweep(dir string, own func(name string) bool) error { return sweep(dir, own, false) }

// sweepBeside removes the temporaries that killed programs left beside a target, if their locks are free. It ignores errors.
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

// Left says of what file a name is that of what a program that was killed has left.
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
