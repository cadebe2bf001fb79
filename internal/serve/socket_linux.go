package serve

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// socket is a connected Unix stream socket. Reads and writes block, because there is only one of each at a time, and a blocked thread costs
// less than a poller.
type socket struct{ fd int }

// newSocket returns the socket for a descriptor, and owns it. The descriptor must be one end of an inherited pair, see checkPair; else the
// error is a *SocketError.
func newSocket(fd int) (*socket, error) {
	err := checkPair(fd)
	if err == nil {
		err = unix.SetNonblock(fd, false)
	}
	if err != nil {
		return nil, &SocketError{fd, err}
	}
	unix.CloseOnExec(fd)
	return &socket{fd}, nil
}

// checkPair returns an error unless a descriptor is a Unix stream socket without a name at both ends, which a process can only inherit,
// and this user made it.
func checkPair(fd int) error {
	kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil {
		return err
	}
	if kind != unix.SOCK_STREAM {
		return fmt.Errorf("a socket with type %d, want a stream", kind)
	}
	for _, nameOf := range []func(int) (unix.Sockaddr, error){unix.Getsockname, unix.Getpeername} {
		name, err := nameOf(fd)
		if err != nil {
			return err
		}
		switch end := name.(type) {
		case *unix.SockaddrUnix:
			if end.Name != "@" && end.Name != "" { // package unix returns "@" for an end without a name
				return fmt.Errorf("a socket at %s, want one of a pair", end.Name)
			}
		default:
			return fmt.Errorf("a socket in another family (%T), want a Unix socket", name)
		}
	}
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err == nil && int(peer.Uid) != os.Geteuid() {
		err = fmt.Errorf("a socket from user %d, want one from user %d", peer.Uid, os.Geteuid())
	}
	return err
}

func (s *socket) Read(p []byte) (int, error) {
	for {
		switch n, err := unix.Read(s.fd, p); {
		case err == unix.EINTR:
		case err == unix.ECONNRESET || err == nil && n == 0 && len(p) > 0: // a reset means that the peer closed with unread data
			return 0, io.EOF
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		default:
			return n, nil
		}
	}
}

func (s *socket) receive(p []byte) (n int, files []*os.File, err error) {
	oob := make([]byte, unix.CmsgSpace(4*8)) // room for more than one, so that extra descriptors are received and closed
	for {
		n, k, _, _, err := unix.Recvmsg(s.fd, p, oob, unix.MSG_CMSG_CLOEXEC)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.ECONNRESET:
			return 0, nil, io.EOF
		case err != nil:
			return 0, nil, os.NewSyscallError("recvmsg", err)
		}
		messages, err := unix.ParseSocketControlMessage(oob[:k])
		for i := range messages {
			fds, _ := unix.ParseUnixRights(&messages[i]) // other kinds have none
			for _, fd := range fds {
				files = append(files, os.NewFile(uintptr(fd), "descriptor"))
			}
		}
		if err == nil && n == 0 {
			err = io.EOF
		}
		return n, files, err
	}
}

// send writes a frame. The error is io.EOF if the other end is closed.
func (s *socket) send(f *Frame) error {
	head, err := f.header()
	if err != nil {
		return err
	}
	var rights []byte
	if f.File != nil {
		rights = unix.UnixRights(int(f.File.Fd()))
	}
	for parts := [][]byte{head, f.JSON, f.Blob}; len(parts) > 0; {
		n, err := unix.SendmsgBuffers(s.fd, parts, rights, nil, unix.MSG_NOSIGNAL)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EPIPE || err == unix.ECONNRESET:
			return io.EOF
		case err != nil:
			return os.NewSyscallError("sendmsg", err)
		}
		rights = nil
		for len(parts) > 0 && n >= len(parts[0]) {
			n -= len(parts[0])
			parts = parts[1:]
		}
		if len(parts) > 0 {
			parts[0] = parts[0][n:]
		}
	}
	return nil
}

// ended returns when either end is closed.
func (s *socket) ended() {
	for {
		fds := []unix.PollFd{{Fd: int32(s.fd), Events: unix.POLLRDHUP}}
		if n, err := unix.Poll(fds, -1); err != unix.EINTR && (n != 0 || err != nil) {
			return
		}
	}
}

func (s *socket) shutdown() { _ = unix.Shutdown(s.fd, unix.SHUT_RDWR) } // an error means that it had already ended

func (s *socket) Close() error { return os.NewSyscallError("close", unix.Close(s.fd)) }
