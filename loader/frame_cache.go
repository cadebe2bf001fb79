package loader

import (
	"cmp"
	linked "container/list"
	"sync"

	"github.com/robocache/robocache/tensor"
)

// The default cache size is a gigabyte, or a share of the available memory if that is less.
const (
	frameCacheBytes = 1 << 30
	frameCacheShare = 8
)

// stretchOverhead is the memory of a stretch (a run of consecutive frames) without its pixels, in bytes.
const stretchOverhead = 512

// FrameCache reports the cache for decoded frames; Limit is 0 if a loader has none. A group's loaders share one cache.
type FrameCache struct {
	Limit   int64 `json:"limit_bytes"`
	Bytes   int64 `json:"bytes"`   // bytes in use
	Decoded int64 `json:"decoded"` // frames decoded for the cache, including neighbours of a required frame
	Used    int64 `json:"used"`    // frames in batches that came from the cache
}

// frameCache keeps decoded and resized frames in memory, in stretches: runs of consecutive frames. The least recently used stretch is
// dropped first. Its methods may be called from any goroutine.
type frameCache struct {
	mu        sync.Mutex
	stretches map[stretchKey]*stretch
	order     linked.List // of *stretch, the most recently used first
	report    FrameCache
}

// stretchKey identifies a stretch: the frames from number*length on, length of them, or up to the episode's end.
type stretchKey struct {
	camera                  Camera
	episode, number, length int
}

// stretch is a run of consecutive frames. The goroutine that adds it to the cache decodes it, and others wait.
type stretch struct {
	stretchKey
	at        *linked.Element // nil after it is dropped
	users     int             // goroutines that wait for it or read it; it is not dropped while there are any
	bytes     int64
	first     int           // index of the first frame
	want      int           // length, frames
	done      chan struct{} // closed when it is decoded; the fields below do not change after that
	frames    int           // decoded frames: up to the first that fails
	pixels    []byte
	isDropped bool // because the decoding was cancelled
}

func newFrameCache(limit int64) *frameCache {
	limit = cmp.Or(limit, min(frameCacheBytes, tensor.Available()/frameCacheShare))
	return &frameCache{stretches: map[stretchKey]*stretch{}, report: FrameCache{Limit: limit}}
}

// acquire returns a camera's stretches in an episode, from number key.number to number last inclusive, as held. They stay in the cache
// until release. missing are the ones that it just added: the caller decodes them. frames is the episode's frame count. If the cache has
// no room for the missing ones, or if one is missing and frames is 0, both results are nil.
func (c *frameCache) acquire(key stretchKey, last, frames int) (held, missing []*stretch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	need := int64(0)
	for ; key.number <= last; key.number++ {
		s := c.stretches[key]
		if s == nil {
			first := key.number * key.length
			if first >= frames {
				break
			}
			s = &stretch{stretchKey: key, first: first, want: min(key.length, frames-first), done: make(chan struct{})}
			s.bytes = int64(s.want*key.camera.Height*key.camera.Width*3) + stretchOverhead
			missing, need = append(missing, s), need+s.bytes
		}
		s.users++
		held = append(held, s)
	}
	if key.number <= last || need > 0 && !c.makeRoom(need) {
		for _, s := range held {
			s.users--
		}
		return nil, nil
	}
	for _, s := range held {
		if s.at == nil {
			s.at, c.stretches[s.stretchKey] = c.order.PushFront(s), s
		}
		c.order.MoveToFront(s.at)
	}
	c.report.Bytes += need
	return held, missing
}

// makeRoom drops unused stretches until the cache has room for need bytes, and reports whether it has.
func (c *frameCache) makeRoom(need int64) bool {
	if need > c.report.Limit {
		return false
	}
	for e := c.order.Back(); e != nil && c.report.Bytes+need > c.report.Limit; {
		s := e.Value.(*stretch)
		if e = e.Prev(); s.users == 0 {
			c.drop(s)
		}
	}
	return c.report.Bytes+need <= c.report.Limit
}

func (c *frameCache) drop(s *stretch) {
	c.order.Remove(s.at)
	delete(c.stretches, s.stretchKey)
	c.report.Bytes -= s.bytes
	s.at = nil
}

// publish marks stretches as decoded, and wakes the goroutines that wait for them.
func (c *frameCache) publish(made []*stretch) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range made {
		if s.pixels == nil {
			c.report.Bytes -= s.bytes - stretchOverhead
			s.bytes = stretchOverhead
		}
		if s.isDropped {
			c.drop(s)
		}
		c.report.Decoded += int64(s.frames)
		close(s.done)
	}
}

// release returns the stretches that acquire returned, and counts the frames that were used.
func (c *frameCache) release(held []*stretch, used *int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range held {
		s.users--
	}
	c.report.Used += int64(*used)
}

func (c *frameCache) usage() FrameCache {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.report
}
