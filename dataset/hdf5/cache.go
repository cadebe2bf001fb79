package hdf5

import (
	"sync"

	"github.com/robocache/robocache/internal/raw"
)

// scratch is memory shared by the chunks in one read: the stored bytes, and filter results.
type scratch [3][]byte

// take returns n bytes with any content, valid until the next take with the same number.
func (s *scratch) take(i, n int) []byte {
	if cap(s[i]) < n {
		s[i] = raw.Memory(n)
	}
	return s[i][:n]
}

// other returns a buffer that does not contain data.
func (s *scratch) other(data []byte, n int) []byte {
	if len(data) > 0 && cap(s[1]) > 0 && &data[0] == &s[1][:1][0] {
		return s.take(2, n)
	}
	return s.take(1, n)
}

// forget releases data from the scratch, so that the caller may keep it. data must not be empty.
func (s *scratch) forget(data []byte) {
	for i := range s {
		if cap(s[i]) > 0 && &s[i][:1][0] == &data[0] {
			s[i] = nil
		}
	}
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// chunkKey identifies a chunk in the file's cache.
type chunkKey struct {
	of     *chunked
	number int
}
