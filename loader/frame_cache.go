package loader

import (
	"cmp"
	linked "container/list"
	"sync"

	"github.com/robocache/robocache/tensor"
)

// What the cache is unless Options.FrameCache says: a gigabyte, or one in frameCacheShare bytes of the memory that there is.
const (
	frameCacheBytes = 1 << 30
	frameCacheShare = 8
)

// stretchOverhead is what a stretch takes besides its pixels, bytes.
const stretchOverhead = 512

// FrameCache is what a loader keeps of decoded frames, nothing where Limit is 0. The loaders of a group have one together.
type FrameCache struct {
	Limit   int64 `json:"limit_bytes"`
	Bytes   int64 `json:"bytes"`   // that it has now
	Decoded int64 `json:"decoded"` // frames that were decoded to be kept, of stretches around those that were wanted
	Used    int64 `json:"used"`    // frames of batches that were taken from it
}

// frameCache keeps stretches of frames, decoded and resized. The one that was used longest ago goes first. Its methods may be called from any
// goroutine.
type frameCache struct {
	mu        sync.Mutex
	stretches map[stretchKey]*stretch
	order     linked.List // of *stretch, the one that was used last in front
	report    FrameCache
}

// stretchKey says which frames a stretch has: so many from number times as many on, or to the end of the episode.
type stretchKey struct {
	camera                  Camera
	episode, number, length int
}

// stretch is some frames that follow each other. Whoever puts it into the cache decodes it, and others wait.
type stretch struct {
	stretchKey
	at        *linked.Element // nil once it is dropped
	users     int             // that wait for it or read it: it is not dropped meanwhile
	bytes     int64
	first     int           // frame
	want      int           // frames that it is to have
	done      chan struct{} // closed when it is decoded; what is below is not written after that
	frames    int           // that it has: up to the first that could not be decoded
	pixels    []byte
	isDropped bool // since the decoding was given up
}

func newFrameCache(limit int64) *frameCache {
	limit = cmp.Or(limit, min(frameCacheBytes, tensor.Available()/frameCacheShare))
	return &frameCache{stretches: map[stretchKey]*stretch{}, report: FrameCache{Limit: limit}}
}

// acquire returns a camera's stretches in an episode from the key's number to the last, which stay until they are released. Those that are not there are
// put there, to be decoded by the caller, of an episode of so many frames. It returns nothing if there is no room, or if one is not there and frames
// is 0.
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

// makeRoom drops stretches that nobody uses until there is room for so many bytes, and reports whether there is.
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

// publish says of stretches that they are.
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

// release gives back what hold returned, of which so many frames were used.
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
