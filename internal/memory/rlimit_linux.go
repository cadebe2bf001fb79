package memory

import (
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// addressSpace returns the bytes that RLIMIT_AS leaves for Go: the limit less all mappings that are not Go's.
func addressSpace(root fs.FS) Room {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit); err != nil || limit.Cur > 1<<50 {
		return Room{unknown, "system"}
	}
	text, err := fs.ReadFile(root, "proc/self/statm")
	if err != nil {
		return Room{unknown, "system"}
	}
	pages, _, _ := strings.Cut(string(text), " ")
	mapped, _ := strconv.ParseInt(pages, 10, 64)
	total, _ := inUse()
	return Room{max(int64(limit.Cur)-mapped*int64(os.Getpagesize())+total-apart, 0), "RLIMIT_AS"}
}
