package serve

import (
	"context"
	"errors"
)

// Run serves the connection on a descriptor, which is a Unix stream socket, until the connection ends. version is the program's version.
// When the process that made the socket ends, Run calls gone, which ends this process, because a fork of that process may still hold the
// socket.
func Run(ctx context.Context, fd int, version string, gone func()) error {
	s, err := newSocket(fd)
	if err != nil {
		return err
	}
	go func() {
		waitParent(fd)
		gone()
	}()
	return errors.Join(serveSocket(ctx, s, newConn(s, version)), s.Close())
}

// serveSocket serves a socket. If the other end closes, the context of the current request is cancelled.
func serveSocket(ctx context.Context, s *socket, c *Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		s.ended()
		cancel()
		close(done)
	}()
	err := c.serve(ctx)
	s.shutdown()
	<-done
	return err
}
