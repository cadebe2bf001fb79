package driver

import "syscall"

// threadID identifies the calling OS thread, because current contexts and captures belong to threads.
func threadID() int { return syscall.Gettid() }
