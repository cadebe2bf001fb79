package serve

import (
	"context"
	"errors"
)

// Run serves the connection on a descriptor, which is a Unix stream socket, until it ends. The version is the program's. Where the process that made the socket is
// gone, it calls gone, which ends this one: whoever else holds the socket, such as a fork of that process.
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

// serveSocket serves a socket. Work that is under way when the other end closes has its context cancelled.
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
