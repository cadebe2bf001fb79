package memory

import (
	"io/fs"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// addressSpace returns the bytes that RLIMIT_AS leaves for one more array of Go: the limit less all mappings, and less the space for the stacks of
// threads to come and for the part of an array by which Go rounds up its own mappings.
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
	apart := int64(arena + stack*(8+2*runtime.GOMAXPROCS(0)))
	return Room{max(int64(limit.Cur)-mapped*int64(os.Getpagesize())-apart, 0), "RLIMIT_AS"}
}
