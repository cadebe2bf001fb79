package driver

import "syscall"

// threadID tells the calling OS thread from others: current contexts and captures belong to threads.
func threadID() int { return syscall.Gettid() }
