package atomicfile

import (
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Sweep removes from a folder what programs that were killed have left of files that they were writing there, of names that the caller knows for its own.
// One that writes such a file now fails when it would give it its name, so it is for files that one program writes at a time.
func Sweep(dir string, own func(name string) bool) error {
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range list {
		rest, tmp := strings.CutSuffix(entry.Name(), ".tmp")
		rest, dot := strings.CutPrefix(rest, ".")
		i := strings.LastIndexByte(rest, '.')
		if !tmp || !dot || i < 0 || !entry.Type().IsRegular() || !own(rest[:i]) {
			continue
		}
		if salt, err := hex.DecodeString(rest[i+1:]); err != nil || len(salt) != saltBytes {
			continue
		}
		if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return named(filepath.Join(dir, entry.Name()), err)
		}
	}
	return nil
}
