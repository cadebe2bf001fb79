package mapped

import "io"

// Shared is memory that several processes read and write. After Close its bytes are invalid in this process.
type Shared interface {
	Bytes() []byte
	io.Closer
}
