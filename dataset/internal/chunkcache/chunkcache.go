package chunkcache

import (
	"container/list"
	"sync"
)

// maxKept limits the bytes of chunks in a cache.
const maxKept = 64 << 20

// Cache keeps decoded chunks: the last one, and earlier ones if they fit into 64 MiB together. The chunks are read-only. The zero value is
// empty. Its methods may be called from any goroutine.
type Cache[K comparable] struct {
	mu     sync.Mutex
	byUse  list.List // kept values; the most recently used first
	find   map[K]*list.Element
	bytes  int
	closed bool
}

type kept[K comparable] struct {
	key  K
	data []byte
}

// Get returns a chunk, or nil.
func (c *Cache[K]) Get(key K) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.find[key]
	if e == nil {
		return nil
	}
	c.byUse.MoveToFront(e)
	return e.Value.(kept[K]).data
}

// Put keeps a chunk. After Close it does nothing.
func (c *Cache[K]) Put(key K, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.find[key] != nil {
		return
	}
	for c.bytes += len(data); c.bytes > maxKept && c.byUse.Len() > 0; {
		old := c.byUse.Remove(c.byUse.Back()).(kept[K])
		delete(c.find, old.key)
		c.bytes -= len(old.data)
	}
	if c.find == nil {
		c.find = map[K]*list.Element{}
	}
	c.find[key] = c.byUse.PushFront(kept[K]{key, data})
}

// Len returns the number of kept chunks.
func (c *Cache[K]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byUse.Len()
}

// Close releases all chunks.
func (c *Cache[K]) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byUse.Init()
	c.find, c.bytes, c.closed = nil, 0, true
}
