package rosbag

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/logs/topics"
	"github.com/robocache/robocache/storage"
)

// cacheBytes limits the unpacked chunks in memory that Message keeps for later calls. A larger chunk is kept alone.
const cacheBytes = 32 << 20

// Message reads one message at a place that an earlier pass over the file has recorded. In an uncompressed chunk it reads only the
// message. It unpacks a compressed chunk, unless the cache has it.
func (b *bag) Message(ctx context.Context, at topics.At) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if at.Part < 0 || at.Part >= len(b.parts) {
		return nil, &dataset.RangeError{What: "chunk of " + b.path, Got: at.Part, Len: len(b.parts)}
	}
	fail := func(got string) error {
		return &dataset.FormatError{Format: "rosbag", Path: b.path, Offset: b.parts[at.Part].at, Kind: dataset.ErrCorrupt,
			Msg: fmt.Sprintf("message at byte %d of a chunk", at.Offset), Got: got, Want: "the message that was there"}
	}
	if raw := b.raw[at.Part].Load(); raw > 0 {
		w := window{file: storage.Bound(ctx, b.file), size: b.parts[at.Part].end, least: 256}
		if at.Offset < 0 || at.Offset >= w.size-raw {
			return nil, fail("the chunk's end")
		}
		r, end, wrong, err := w.head(raw + at.Offset)
		switch {
		case err != nil:
			return nil, err
		case wrong != "" || r.op != opMessage || end > w.size:
			return nil, fail("another record")
		}
		return w.bytes(w.data, end)
	}
	plain, err := b.cache.get(ctx, at.Part, func() ([]byte, error) {
		buf := b.buffers.Get().(*buffers)
		defer b.buffers.Put(buf)
		plain, err := b.load(ctx, at.Part, buf, new(dataset.Notes))
		return bytes.Clone(plain), err
	})
	if err != nil {
		return nil, err
	}
	if at.Offset < 0 || at.Offset >= int64(len(plain)) {
		return nil, fail("the chunk's end")
	}
	var r record
	data, _, wrong, _ := r.whole(plain[at.Offset:])
	if wrong != "" || r.op != opMessage {
		return nil, fail("another record")
	}
	return bytes.Clone(data), nil
}

// cache keeps the unpacked chunks that were used last. Its methods may be called from any goroutine.
type cache struct {
	most int // bytes
	mu   sync.Mutex
	list []*cached // in order of use, the latest at the end
}

type cached struct {
	part int
	data []byte // the loader writes it, and others read it after loaded is closed
	err  error
	done bool // under the cache's mutex
	// loaded is closed when data and err are set.
	loaded chan struct{}
}

// get returns a chunk's bytes. If the chunk is not in the cache, one caller unpacks it with load, and other callers for the same
// chunk wait until load returns or their ctx ends. If load fails because the loading caller's ctx ended, a waiting caller loads
// the chunk itself.
func (c *cache) get(ctx context.Context, part int, load func() ([]byte, error)) ([]byte, error) {
	for {
		e, fresh := c.entry(part)
		if fresh {
			e.data, e.err = load()
			c.trim(e)
			close(e.loaded)
			return e.data, e.err
		}
		select {
		case <-e.loaded:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if !errors.Is(e.err, context.Canceled) && !errors.Is(e.err, context.DeadlineExceeded) {
			return e.data, e.err
		}
	}
}

// trim drops the chunks that were used longest ago until the others fit in c.most. It keeps e, which was just loaded, unless e has
// an error.
func (c *cache) trim(e *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.done = true
	sum := len(e.data)
	for i := len(c.list) - 1; i >= 0; i-- {
		o := c.list[i]
		if !o.done {
			continue
		}
		if o != e {
			sum += len(o.data)
		}
		if o.err != nil || sum > c.most && o != e {
			c.list = append(c.list[:i], c.list[i+1:]...)
		}
	}
}

// entry returns the entry for chunk number part, and moves it to the end of the list. If there is none, entry adds one and fresh is
// true: the caller must load the chunk.
func (c *cache) entry(part int) (e *cached, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, e := range c.list {
		if e.part == part {
			c.list = append(append(c.list[:i], c.list[i+1:]...), e)
			return e, false
		}
	}
	e = &cached{part: part, loaded: make(chan struct{})}
	c.list = append(c.list, e)
	return e, true
}
