package serve

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// polled is how often the parent is asked for where it cannot be waited for.
const polled = 200 * time.Millisecond

// waitParent returns when the process that made the socket has ended. Systems without pidfd_open, and sockets that were made where this process cannot see, have
// the process that started this one in its place.
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
	_ = unix.Close(pidfd) // it was not written
}
