package atomicfile

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
)

// Sweep removes from a folder what programs that were killed have left of files and folders that they were writing there, of names that the caller knows
// for its own: nobody may be writing them now.
func Sweep(dir string, own func(name string) bool) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range list {
		if of, left := Left(entry.Name()); !left || !entry.Type().IsRegular() && !entry.IsDir() || !own(of) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return named(filepath.Join(dir, entry.Name()), err)
		}
	}
	return nil
}

// Left says of what file a name is that of what a program that was killed has left.
func Left(name string) (of string, left bool) {
	rest, tmp := strings.CutSuffix(name, ".tmp")
	rest, dot := strings.CutPrefix(rest, ".")
	i := strings.LastIndexByte(rest, '.')
	if !tmp || !dot || i < 0 {
		return "", false
	}
	salt, err := hex.DecodeString(rest[i+1:])
	return rest[:i], err == nil && len(salt) == 8
}
