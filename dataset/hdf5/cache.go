package hdf5

import (
	"slices"
	"sync"
)

// scratch is memory that the chunks of one read take in turn: what is stored, and what filters make of it.
type scratch [3][]byte

// take returns n bytes, whatever they hold, which are good until the next take of the same number.
func (s *scratch) take(i, n int) []byte {
	if cap(s[i]) < n {
		s[i] = make([]byte, n)
	}
	return s[i][:n]
}

// other takes what data is not in.
func (s *scratch) other(data []byte, n int) []byte {
	if len(data) > 0 && cap(s[1]) > 0 && &data[0] == &s[1][:1][0] {
		return s.take(2, n)
	}
	return s.take(1, n)
}

// forget leaves data, which is not empty, to whoever has it.
func (s *scratch) forget(data []byte) {
	for i := range s {
		if cap(s[i]) > 0 && &s[i][:1][0] == &data[0] {
			s[i] = nil
		}
	}
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// maxKept is how many bytes of chunks are kept.
const maxKept = 64 << 20

// chunkCache keeps chunks without their filters, of which a part was read: the last of all, and those before it as far as they fit. Nobody writes to
// them.
type chunkCache struct {
	mu     sync.Mutex
	list   []keptChunk // the last used is last
	bytes  int
	closed bool
}

type keptChunk struct {
	of     *chunked
	number int
	data   []byte
}

func (c *chunkCache) find(of *chunked, number int) int {
	return slices.IndexFunc(c.list, func(k keptChunk) bool { return k.number == number && k.of == of })
}

// get returns a chunk, or nil.
func (c *chunkCache) get(of *chunked, number int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.find(of, number)
	if at < 0 {
		return nil
	}
	k := c.list[at]
	c.list = append(slices.Delete(c.list, at, at+1), k)
	return k.data
}

func (c *chunkCache) put(of *chunked, number int, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.find(of, number) >= 0 {
		return
	}
	c.bytes += len(data)
	drop := 0
	for ; drop < len(c.list) && c.bytes > maxKept; drop++ {
		c.bytes -= len(c.list[drop].data)
	}
	c.list = append(slices.Delete(c.list, 0, drop), keptChunk{of, number, data})
}

// close lets go of all.
func (c *chunkCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list, c.bytes, c.closed = nil, 0, true
}
