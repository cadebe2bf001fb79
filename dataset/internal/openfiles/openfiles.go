package openfiles

import (
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/robocache/robocache/dataset"
)

// Cache keeps files open. Its methods may be called from any goroutine. Format, Open and Most are set before.
type Cache[T io.Closer] struct {
	Format string // for errors: "lerobot"
	Open   func(path string) (T, error)
	Most   int // unused files that stay open
	mu     sync.Mutex
	open   []*File[T] // the one used last at the end
	closed bool
}

// File is an open file.
type File[T io.Closer] struct {
	Path  string
	once  sync.Once // for the fields below
	File  T
	err   error
	users int
}

// Get returns an open file, to be given back. Others can be got while it is being opened.
func (c *Cache[T]) Get(path string) (*File[T], error) {
	return c.GetBy(path, c.Open)
}

// GetBy is Get that opens the file by open if it is not.
func (c *Cache[T]) GetBy(path string, open func(path string) (T, error)) (*File[T], error) {
	o, err := c.entry(path)
	if err != nil {
		return nil, err
	}
	o.once.Do(func() { o.File, o.err = open(path) })
	if o.err == nil {
		return o, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = slices.DeleteFunc(c.open, func(other *File[T]) bool { return other == o })
	return nil, o.err
}

// entry returns a file's entry in the cache, with one user more.
func (c *Cache[T]) entry(path string) (*File[T], error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, fmt.Errorf("%s: %s: %w", c.Format, path, dataset.ErrClosed)
	}
	var o *File[T]
	if i := slices.IndexFunc(c.open, func(o *File[T]) bool { return o.Path == path }); i >= 0 {
		o = c.open[i]
		c.open = slices.Delete(c.open, i, i+1)
	} else {
		o = &File[T]{Path: path}
	}
	c.open = append(c.open, o)
	o.users++
	c.trim()
	return o, nil
}

// Give gives a file back.
func (c *Cache[T]) Give(o *File[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o.users--
	c.trim()
}

// Closed reports whether the cache is closed.
func (c *Cache[T]) Closed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// trim closes surplus files, and all unused ones after the cache is closed.
func (c *Cache[T]) trim() {
	keep := c.Most
	if c.closed {
		keep = 0
	}
	for i := 0; i < len(c.open) && len(c.open) > keep; {
		if c.open[i].users > 0 {
			i++
			continue
		}
		c.open[i].File.Close()
		c.open = slices.Delete(c.open, i, i+1)
	}
}

// Close closes all unused files; the others are closed when they are returned.
func (c *Cache[T]) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.trim()
}
