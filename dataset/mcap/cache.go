package mcap

import (
	"context"
	"slices"
	"sync"
)

// cache keeps the uncompressed records of recently read chunks in memory.
type cache struct {
	log  *fileLog
	mu   sync.Mutex // may be locked under that of one of the list, not around it
	list []*cached  // the last used is last
	size int        // bytes of their records
	most int        // of these that stay, unless one alone has more
}

// cached is a chunk.
type cached struct {
	lock    chan struct{} // full while it is read and used
	part    int
	records []byte  // nil before they are read
	room    *[]byte // of buffers, which they are in
}

func (k *cached) unlock() { <-k.lock }

// free locks a chunk if it is not locked.
func (k *cached) free() bool {
	select {
	case k.lock <- struct{}{}:
		return true
	default:
		return false
	}
}

// with calls use with the records of a part, which may not keep them.
func (c *cache) with(ctx context.Context, part int, use func(records []byte) error) error {
	c.mu.Lock()
	var k *cached
	if i := slices.IndexFunc(c.list, func(k *cached) bool { return k.part == part }); i >= 0 {
		k = c.list[i]
		c.list = slices.Delete(c.list, i, i+1)
	} else {
		k = &cached{part: part, lock: make(chan struct{}, 1)}
	}
	c.list = append(c.list, k)
	c.mu.Unlock()

	select {
	case k.lock <- struct{}{}:
		defer k.unlock()
	case <-ctx.Done():
		return ctx.Err()
	}
	if k.records == nil {
		if err := c.read(ctx, k); err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.list = slices.DeleteFunc(c.list, func(other *cached) bool { return other == k })
			return err
		}
	}
	return use(k.records)
}

// read reads a chunk, which is locked, and then drops surplus ones.
func (c *cache) read(ctx context.Context, k *cached) error {
	file, room := buffers.Get().(*[]byte), buffers.Get().(*[]byte)
	*room = (*room)[:0]
	b, err := c.log.records(ctx, c.log.parts[k.part], file, room)
	if err == nil && len(b) > 0 && len(*room) == 0 {
		file, room = room, file // of no compression: they are where they were read
	}
	buffers.Put(file)
	if err != nil {
		buffers.Put(room)
		return err
	}
	k.records, k.room = b, room
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.list, k) {
		return nil // it was too many itself meanwhile
	}
	c.size += len(b)
	for i := 0; c.size > c.most && i < len(c.list); {
		old := c.list[i]
		if old == k || !old.free() {
			i++ // in use
			continue
		}
		c.list = slices.Delete(c.list, i, i+1)
		c.size -= len(old.records)
		if old.room != nil {
			buffers.Put(old.room)
		}
		old.records, old.room = nil, nil // who waits for it reads it again
		old.unlock()
	}
	return nil
}
