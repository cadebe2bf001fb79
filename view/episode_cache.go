package view

import (
	"slices"
	"sync"
)

// episodes caches the episodes that were viewed last, up to most bytes.
type episodes struct {
	sync.Mutex
	most, bytes int64
	recent      []*entry // the latest last
	reading     map[int]*pendingEpisode
}

// pendingEpisode is an episode that is being read. Requests wait for done, then use entry or err.
type pendingEpisode struct {
	keep  retention // the waiting requests' longest retention; the lock in episodes guards it
	done  chan struct{}
	entry *entry
	err   error
}

// retention is how long the cache keeps an episode, in ascending order.
type retention uint8

const (
	unkept retention = iota // it is not kept
	soon                    // like the latest, but it is dropped before the episode that is viewed now, because it is read ahead
	latest                  // until other episodes are viewed
)

// keep adds a new entry to recent, and drops the oldest entries if they have more than most bytes. The caller holds the lock.
func (c *episodes) keep(e *entry, as retention) {
	c.recent = append(c.recent, e)
	if n := len(c.recent); as == soon && n > 1 {
		c.recent[n-2], c.recent[n-1] = e, c.recent[n-2]
	}
	c.bytes += e.bytes
	defer c.forget()
	for c.bytes > c.most && len(c.recent) > 1 {
		c.bytes -= c.recent[0].bytes
		c.recent = slices.Delete(c.recent, 0, 1) // Delete also clears the pointer
	}
}

// mostResampled limits the episodes with resamplings in the cache, which bytes does not count.
const mostResampled = 2

// forget drops all resamplings except the latest episodes'.
func (c *episodes) forget() {
	for _, e := range c.recent[:max(len(c.recent)-mostResampled, 0)] {
		e.mu.Lock()
		clear(e.resamplings)
		e.mu.Unlock()
	}
}
