//go:build linux && (amd64 || arm64)

package cudadrv

import (
	"syscall"

	"github.com/ebitengine/purego"
)

// arenaMax is M_ARENA_MAX of glibc's malloc.h.
const arenaMax = -8

// Below RLIMIT_AS all threads share an arena of C's allocator. Otherwise glibc maps 64 MiB of address space for each of them.
func init() {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &limit) != nil || limit.Cur > 1<<50 {
		return
	}
	if mallopt, err := purego.Dlsym(purego.RTLD_DEFAULT, "mallopt"); err == nil {
		most := arenaMax
		purego.SyscallN(mallopt, uintptr(most), 1)
	}
}
