package ranks

import (
	"net"
	"os"
	"syscall"
)

// checkOwner returns an *OwnerError if a process of another user is at the other end of a socket.
func checkOwner(conn net.Conn) error {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return err
	}
	var peer *syscall.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		peer, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	})
	switch {
	case err != nil:
		return err
	case failed != nil:
		return os.NewSyscallError("getsockopt", failed)
	case int(peer.Uid) != os.Geteuid():
		return &OwnerError{Got: int(peer.Uid), Want: os.Geteuid()}
	}
	return nil
}
