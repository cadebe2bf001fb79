package driver

import (
	"sync"
	"time"

	"github.com/robocache/robocache/cudadrv"
)

// queueLimit is how much work a stream takes before a call that gives it more waits, as the driver's queue does.
const queueLimit = 1024

// stream is a queue of work, done in order by a goroutine of its own.
type stream struct {
	d    *Device
	h    uintptr
	mu   sync.Mutex
	more sync.Cond // work was queued, or the stream is to end
	less sync.Cond // work was done
	ring []*task   // its length is a power of two
	head int
	n    int
	// Work is numbered from 1. All up to done is done.
	queued, done uint64
	ending       bool

	// While the stream is captured; d.mu guards both.
	capture *capture
	after   []*node // what the next node depends on
	depsOut []byte  // what cuStreamGetCaptureInfo showed last
}

// push queues work and gives it to the stream.
func (s *stream) push(o *task) code {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.n >= queueLimit {
		s.less.Wait()
	}
	if s.ending {
		s.d.tasks.put(o)
		return cudadrv.ErrInvalidHandle
	}
	if s.n == len(s.ring) {
		grown := make([]*task, 2*len(s.ring))
		for i := range s.n {
			grown[i] = s.ring[(s.head+i)%len(s.ring)]
		}
		s.ring, s.head = grown, 0
	}
	s.ring[(s.head+s.n)%len(s.ring)] = o
	s.n++
	s.queued++
	s.more.Signal()
	return cudadrv.Success
}

// wait returns when the work queued so far is done.
func (s *stream) wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for upTo := s.queued; s.done < upTo; {
		s.less.Wait()
	}
}

func (s *stream) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n == 0
}

// waitAll waits for the work of all streams.
func (d *Device) waitAll() {
	d.mu.Lock()
	all := make([]*stream, 0, len(d.streams))
	for s := range d.streams {
		all = append(all, s)
	}
	d.mu.Unlock()
	for _, s := range all {
		s.wait()
	}
}

// mark is a point in a stream's work.
type mark struct {
	done chan struct{} // closed when the stream has got there
	at   time.Time
}

func (m *mark) reached() bool {
	select {
	case <-m.done:
		return true
	default:
		return false
	}
}

// event stands for the mark that was recorded last.
type event struct {
	d        *Device
	timing   bool
	mu       sync.Mutex
	last     *mark    // nil: never recorded
	captured *capture // the capture that it was recorded in last, if it was one
	after    []*node
}

// state gives the last mark. An event that was recorded in a capture has none: to ask for it spoils the capture.
func (e *event) state(d *Device) (*mark, code) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.captured != nil {
		e.captured.invalid = true
		return nil, codeCapturedEvent
	}
	return e.last, cudadrv.Success
}
