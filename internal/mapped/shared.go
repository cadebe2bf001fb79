package mapped

import "io"

// Shared is memory that several processes read and write. Its bytes are gone after Close.
type Shared interface {
	Bytes() []byte
	io.Closer
}
