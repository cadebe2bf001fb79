package lerobot

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/table"
)

// maxOpen is how many data files stay open while nobody reads them.
const maxOpen = 4

// cache keeps the data files open that were read last: reading a footer takes longer than reading a short episode.
type cache struct {
	set    *Set
	mu     sync.Mutex
	open   []*openFile // the one used last at the end
	closed bool
}

type openFile struct {
	number int
	file   *table.File
	users  int
}

// get returns a data file, to be given back.
func (c *cache) get(number int) (*openFile, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, fmt.Errorf("lerobot: %s: %w", c.set.root, dataset.ErrClosed)
	}
	if i := slices.IndexFunc(c.open, func(o *openFile) bool { return o.number == number }); i >= 0 {
		o := c.open[i]
		c.open = append(slices.Delete(c.open, i, i+1), o)
		o.users++
		return o, nil
	}
	f, err := table.Open(filepath.Join(c.set.root, c.set.files[number].name))
	if err != nil {
		return nil, err
	}
	o := &openFile{number, f, 1}
	c.open = append(c.open, o)
	c.trim()
	return o, nil
}

// give gives a file back.
func (c *cache) give(o *openFile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o.users--
	c.trim()
}

// trim closes what is too many, and all that is not in use once the set is closed.
func (c *cache) trim() {
	keep := maxOpen
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

func (c *cache) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.trim()
	return nil
}
