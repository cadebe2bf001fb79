package raw

import "syscall"

// huge asks for huge pages. It is advice: where there are none, all is as it was.
func huge(at, n uintptr) {
	_, _, _ = syscall.Syscall(syscall.SYS_MADVISE, at, n, syscall.MADV_HUGEPAGE)
}
