package serve

import "fmt"

// SocketError says that the descriptor to serve is not a Unix stream socket.
type SocketError struct {
	FD  int
	Err error
}

func (e *SocketError) Error() string { return fmt.Sprintf("descriptor %d: %v", e.FD, e.Err) }

func (e *SocketError) Unwrap() error { return e.Err }
