package atomicfile

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
)

// Sweep removes from a folder what programs that were killed have left of files that they were writing there, of names that the caller knows for its own:
// nobody may be writing them now.
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
		if salt, err := hex.DecodeString(rest[i+1:]); err != nil || len(salt) != 8 {
			continue
		}
		if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
			return named(filepath.Join(dir, entry.Name()), err)
		}
	}
	return nil
}
