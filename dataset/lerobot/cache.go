package lerobot

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/robocache/robocache/dataset"
)

// How many data files and videos stay open while nobody reads them. An episode has a video for each camera.
const (
	maxData   = 4
	maxVideos = 16
)

// cache keeps the files open that were read last: reading a file's own description takes longer than reading a short episode.
type cache[T io.Closer] struct {
	read   func(path string) (T, error)
	most   int // files that stay open
	mu     sync.Mutex
	open   []*opened[T] // the one used last at the end
	closed bool
}

type opened[T io.Closer] struct {
	path  string
	file  T
	users int
}

// get returns an open file, to be given back.
func (c *cache[T]) get(path string) (*opened[T], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, fmt.Errorf("lerobot: %s: %w", path, dataset.ErrClosed)
	}
	if i := slices.IndexFunc(c.open, func(o *opened[T]) bool { return o.path == path }); i >= 0 {
		o := c.open[i]
		c.open = append(slices.Delete(c.open, i, i+1), o)
		o.users++
		return o, nil
	}
	f, err := c.read(path)
	if err != nil {
		return nil, err
	}
	o := &opened[T]{path, f, 1}
	c.open = append(c.open, o)
	c.trim()
	return o, nil
}

// give gives a file back.
func (c *cache[T]) give(o *opened[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o.users--
	c.trim()
}

// shut reports whether the cache is closed.
func (c *cache[T]) shut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// trim closes what is too many, and all that is not in use once the cache is closed.
func (c *cache[T]) trim() {
	keep := c.most
	if c.closed {
		keep = 0
	}
	for i := 0; i < len(c.open) && len(c.open) > keep; {
		if c.open[i].users > 0 {
			i++
			continue
		}
		c.open[i].file.Close()
		c.open = slices.Delete(c.open, i, i+1)
	}
}

func (c *cache[T]) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.trim()
}
