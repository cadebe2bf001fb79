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

// cacheBytes is how much of unpacked chunks is kept for messages that are read again; of a larger chunk, that one.
const cacheBytes = 32 << 20

// Message reads a message again. In a chunk without compression it reads only the message; otherwise it unpacks the chunk, unless
// that was read recently.
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

// cache keeps the chunks that were read last. Its methods may be called from any goroutine.
type cache struct {
	most int // bytes
	mu   sync.Mutex
	list []*cached // the one used last at the end
}

type cached struct {
	part int
	data []byte // the loader writes it, and others read it after loaded is closed
	err  error
	done bool // under the cache's mutex
	// loaded is closed when it is.
	loaded chan struct{}
}

// get returns a chunk's bytes, which load unpacks: once for all who ask, while others are unpacked. Who waits for another's load may end before it,
// and loads the chunk itself if that other is ended.
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

// trim drops surplus chunks, but keeps the one that was just loaded. It also drops one that cannot be loaded.
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

// entry returns a chunk of the list, and whether it is new there and to be loaded.
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
