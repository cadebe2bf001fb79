package driver

import (
	"sync"
	"time"

	"github.com/robocache/robocache/cudadrv"
)

// queueLimit is the number of queued tasks above which a call waits, as with the driver's queue.
const queueLimit = 1024

// stream is a queue of work, which a goroutine does in order.
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
	after   []*node // the dependencies of the next node
}

// push queues a task, and first waits until the queue has room. It returns ErrInvalidHandle if the stream is being destroyed.
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

// wait returns when all work queued so far is done.
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
	done chan struct{} // closed when the stream reaches the mark
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

// event holds the last mark that was recorded.
type event struct {
	d        *Device
	timing   bool
	mu       sync.Mutex
	last     *mark    // nil: never recorded
	captured *capture // the capture of its last record, nil if that was outside a capture
	after    []*node
}

// state returns the last mark, or nil if the event was never recorded. If the last record was in a capture, it invalidates the
// capture and returns an error.
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
