package serve

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// polled is the interval between checks of the parent, if the system cannot wait for it.
const polled = 200 * time.Millisecond

// waitParent returns when the process that made the socket has ended. If the system has no pidfd_open, or the socket was made outside this
// process's view, it waits for the process that started this one.
func waitParent(fd int) {
	parent := os.Getppid()
	if peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil && peer.Pid > 0 {
		switch pidfd, err := unix.PidfdOpen(int(peer.Pid), 0); err {
		case nil:
			waitProcess(pidfd)
			return
		case unix.ESRCH:
			return
		}
	}
	for os.Getppid() == parent {
		time.Sleep(polled)
	}
}

// waitProcess waits until the process of a pidfd has ended, and closes it.
func waitProcess(pidfd int) {
	for {
		fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}
		if n, err := unix.Poll(fds, -1); err != unix.EINTR && (n != 0 || err != nil) {
			break
		}
	}
	_ = unix.Close(pidfd) // it was only polled
}
