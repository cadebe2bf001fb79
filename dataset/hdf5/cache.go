package hdf5

import (
	"container/list"
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

// maxKept limits the bytes of chunks in the cache.
const maxKept = 64 << 20

// chunkCache keeps decoded chunks that were read in part: the last one, and earlier ones if they fit. The chunks are read-only. The
// zero value is empty.
type chunkCache struct {
	mu     sync.Mutex
	byUse  list.List // keptChunk values; the most recently used first
	find   map[chunkKey]*list.Element
	bytes  int
	closed bool
}

type chunkKey struct {
	of     *chunked
	number int
}

type keptChunk struct {
	chunkKey
	data []byte
}

// get returns a chunk, or nil.
func (c *chunkCache) get(of *chunked, number int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.find[chunkKey{of, number}]
	if e == nil {
		return nil
	}
	c.byUse.MoveToFront(e)
	return e.Value.(keptChunk).data
}

func (c *chunkCache) put(of *chunked, number int, data []byte) {
	key := chunkKey{of, number}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.find[key] != nil {
		return
	}
	for c.bytes += len(data); c.bytes > maxKept && c.byUse.Len() > 0; {
		old := c.byUse.Remove(c.byUse.Back()).(keptChunk)
		delete(c.find, old.chunkKey)
		c.bytes -= len(old.data)
	}
	if c.find == nil {
		c.find = map[chunkKey]*list.Element{}
	}
	c.find[key] = c.byUse.PushFront(keptChunk{key, data})
}

// close releases all chunks.
func (c *chunkCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byUse.Init()
	c.find, c.bytes, c.closed = nil, 0, true
}
