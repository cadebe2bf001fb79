package serve

import "fmt"

// SocketError reports that the descriptor is not a Unix stream socket.
type SocketError struct {
	FD  int
	Err error
}

func (e *SocketError) Error() string { return fmt.Sprintf("descriptor %d: %v", e.FD, e.Err) }

func (e *SocketError) Unwrap() error { return e.Err }
