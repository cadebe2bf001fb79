package view

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"sync"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/doctor"
	"github.com/robocache/robocache/internal/caught"
	"github.com/robocache/robocache/internal/cover"
)

// entry is an episode in memory.
type entry struct {
	number int
	*dataset.Episode
	start, end  int64 // ns: of the samples that are not stray, of all streams, cameras and clouds
	bytes       int64
	curves      []*curve // of Streams; nil of one without samples
	mediaOrder  []clock  // of Media
	cloudsOrder []clock  // of Clouds
	found       once[[]doctor.Finding]
	mu          sync.Mutex
	made        map[float64]*once[*made] // what plans make of it, by rate; 0 is the server's plan
}

// once is a value that is made when it is first asked for.
type once[T any] struct {
	sync.Once
	value T
	err   error
}

func (o *once[T]) get(do func() (T, error)) (T, error) {
	o.Do(func() { o.err = caught.Do(func() (err error) { o.value, err = do(); return err }) })
	return o.value, o.err
}

// newEntry looks at an episode's clocks.
func newEntry(number int, e *dataset.Episode) (*entry, error) {
	n := &entry{number: number, Episode: e, bytes: e.Bytes(), curves: make([]*curve, len(e.Streams)), made: map[float64]*once[*made]{}}
	var covers []covered
	for i := range e.Streams {
		c, err := newCurve(&e.Streams[i], true)
		if err != nil {
			return nil, err
		}
		if n.curves[i] = c; c != nil {
			covers = append(covers, covered{c.core, len(c.times)})
		}
	}
	n.bytes += n.bytes / 4 // for the extremes of blocks
	for i := range e.Media {
		n.mediaOrder = append(n.mediaOrder, newClock(e.Media[i].Name, e.Media[i].Times))
	}
	for i := range e.Clouds {
		n.cloudsOrder = append(n.cloudsOrder, newClock(e.Clouds[i].Name, e.Clouds[i].Times))
	}
	for _, list := range [][]clock{n.mediaOrder, n.cloudsOrder} {
		for _, c := range list {
			if c.sound {
				covers = append(covers, covered{c.core, len(c.times)})
			}
		}
	}
	n.start, n.end = whole(covers)
	return n, nil
}

// covered is the time that so many samples cover.
type covered struct {
	cover.Cover
	samples int
}

// few is how many samples of a stream are too few to say how long an episode is.
const few = 10

// whole returns the time of an episode: all that streams cover, but that those of a few samples count only where they lie near the others, since such
// a topic may have been stamped by another clock.
func whole(covers []covered) (from, to int64) {
	slices.SortStableFunc(covers, func(a, b covered) int { return cmp.Compare(b.samples, a.samples) })
	for i, c := range covers {
		length := max(float64(to)-float64(from), 1e9)
		switch {
		case i == 0:
			from, to = c.First, c.Last
		case c.samples >= few || float64(c.First) >= float64(from)-length && float64(c.Last) <= float64(to)+length:
			from, to = min(from, c.First), max(to, c.Last)
		}
	}
	return from, to
}

// episodes are those that were looked at last.
type episodes struct {
	sync.Mutex
	most, bytes int64
	recent      []*entry // the latest last
	reading     map[int]*reading
}

// reading is an episode that is being read, for all who wait for it.
type reading struct {
	keep  keeping // the longest that one of them asked for, under the lock of the episodes
	done  chan struct{}
	entry *entry
	err   error
}

// keeping is for how long an episode that was read is kept, the shortest first.
type keeping uint8

const (
	unkept keeping = iota // it is not
	soon                  // as the latest, but before it is looked at: what is looked at now is dropped after it
	latest                // until others were looked at later
)

// get returns an episode, from memory if it is there. One that is read is kept as keep says, and others are dropped for it.
func (s *Server) get(ctx context.Context, i int, keep keeping) (*entry, error) {
	c := &s.episodes
	c.Lock()
	for at, e := range c.recent {
		if e.number == i {
			if keep == latest {
				c.recent = append(append(c.recent[:at:at], c.recent[at+1:]...), e)
				c.forget()
			}
			c.Unlock()
			return e, nil
		}
	}
	r := c.reading[i]
	if r == nil {
		r = &reading{done: make(chan struct{})}
		if c.reading == nil {
			c.reading = map[int]*reading{}
		}
		c.reading[i] = r
		// Not of the request alone: others may wait for the same episode.
		begun := s.start(func() {
			r.err = caught.Do(func() error {
				e, err := s.data.Episode(s.ctx, i)
				if err == nil {
					r.entry, err = newEntry(i, e)
				}
				return err
			})
			c.Lock()
			delete(c.reading, i)
			if r.err == nil && r.keep != unkept {
				c.keep(r.entry, r.keep) // before the lock opens, so that nobody finds it neither here nor there
			}
			c.Unlock()
			close(r.done)
		})
		if !begun {
			delete(c.reading, i)
			c.Unlock()
			return nil, context.Canceled
		}
	}
	r.keep = max(r.keep, keep)
	c.Unlock()
	select {
	case <-r.done:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return r.entry, r.err
}

// keep puts an entry, which is not there, among the recent ones under the lock, and drops the oldest of these that there is no room for.
func (c *episodes) keep(e *entry, as keeping) {
	c.recent = append(c.recent, e)
	if n := len(c.recent); as == soon && n > 1 {
		c.recent[n-2], c.recent[n-1] = e, c.recent[n-2]
	}
	c.bytes += e.bytes
	defer c.forget()
	for c.bytes > c.most && len(c.recent) > 1 {
		c.bytes -= c.recent[0].bytes
		c.recent = slices.Delete(c.recent, 0, 1) // which forgets the entry, too
	}
}

// mostMadeOf is of how many episodes what plans made is kept, which bytes do not count.
const mostMadeOf = 2

// forget drops what plans made of all but the latest.
func (c *episodes) forget() {
	for _, e := range c.recent[:max(len(c.recent)-mostMadeOf, 0)] {
		e.mu.Lock()
		clear(e.made)
		e.mu.Unlock()
	}
}

// entryOf returns the episode that a request is about, or answers it.
func (s *Server) entryOf(w http.ResponseWriter, r *http.Request) (*entry, bool) {
	i, ok := s.numberOf(w, r)
	if !ok {
		return nil, false
	}
	as := latest
	if r.URL.Query().Has("ahead") {
		as = soon
	}
	e, err := s.get(r.Context(), i, as)
	if err != nil {
		failWith(w, err)
		return nil, false
	}
	return e, true
}

func (s *Server) numberOf(w http.ResponseWriter, r *http.Request) (int, bool) {
	i, err := parseNumber(r.PathValue("episode"), s.data.Len())
	if err != nil {
		failWith(w, err)
	}
	return i, err == nil
}
