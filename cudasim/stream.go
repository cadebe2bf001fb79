package cudasim

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

func (d *Device) newStream() *stream {
	s := &stream{d: d, ring: make([]*task, 64)}
	s.more.L, s.less.L = &s.mu, &s.mu
	s.h = d.add(kindStream, s, 0)
	d.mu.Lock()
	d.streams[s] = struct{}{}
	d.mu.Unlock()
	go s.run()
	return s
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

// run does the stream's work until it ends.
func (s *stream) run() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		for s.n == 0 {
			if s.ending {
				return
			}
			s.more.Wait()
		}
		o := s.ring[s.head]
		s.mu.Unlock()
		s.d.perform(o)
		s.d.tasks.put(o)
		s.mu.Lock()
		s.ring[s.head] = nil
		s.head = (s.head + 1) % len(s.ring)
		s.n--
		s.done++
		s.less.Broadcast()
	}
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

func cuStreamCreateWithPriority(d *Device, a []uintptr) code {
	if a[1] > 1 {
		return cudadrv.ErrInvalidValue
	}
	return put64(a[0], uint64(d.newStream().h))
}

// cuStreamDestroy lets the work that is queued run to its end.
func cuStreamDestroy(d *Device, a []uintptr) code {
	s, ok := lookup[*stream](d, a[0])
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	if c := s.refuseCaptured(); c != cudadrv.Success {
		return c
	}
	d.drop(s.h)
	s.mu.Lock()
	s.ending = true
	s.more.Signal()
	s.mu.Unlock()
	go func() { // until then the device is waited for with it
		s.wait()
		d.mu.Lock()
		delete(d.streams, s)
		d.mu.Unlock()
	}()
	return d.lost()
}

func cuStreamSynchronize(d *Device, a []uintptr) code {
	s, ok := lookup[*stream](d, a[0])
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	if c := s.refuseCaptured(); c != cudadrv.Success {
		return c
	}
	s.wait()
	d.memory.synchronised()
	return d.lost()
}

func cuStreamQuery(d *Device, a []uintptr) code {
	s, ok := lookup[*stream](d, a[0])
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	if c := s.refuseCaptured(); c != cudadrv.Success {
		return c
	}
	if !s.idle() {
		return cudadrv.ErrNotReady
	}
	return d.lost()
}

// mark is a point in a stream's work.
type mark struct {
	done chan struct{} // closed when the stream has got there
	at   time.Time
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

func cuEventCreate(d *Device, a []uintptr) code {
	const blocking, noTiming, interprocess = 1, 2, 4
	if a[1]&^(blocking|noTiming|interprocess) != 0 || a[1]&interprocess != 0 && a[1]&noTiming == 0 {
		return cudadrv.ErrInvalidValue
	}
	return put64(a[0], uint64(d.add(kindEvent, &event{d: d, timing: a[1]&noTiming == 0}, 0)))
}

func cuEventDestroy(d *Device, a []uintptr) code {
	if _, ok := lookup[*event](d, a[0]); !ok {
		return cudadrv.ErrInvalidHandle
	}
	d.drop(a[0])
	return d.lost()
}

func cuEventRecord(d *Device, a []uintptr) code {
	e, ok := lookup[*event](d, a[0])
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	s, ok := lookup[*stream](d, a[1])
	if !ok || s.d != e.d {
		return cudadrv.ErrInvalidHandle
	}
	if done, c := s.captureRecord(e); done {
		return c
	}
	m := &mark{done: make(chan struct{})}
	o := d.tasks.get()
	o.kind, o.mark = taskMark, m
	c := s.push(o) // may wait for room, so without a lock
	if c == cudadrv.Success {
		e.mu.Lock()
		e.last, e.captured, e.after = m, nil, nil
		e.mu.Unlock()
	}
	return c
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

func cuEventQuery(d *Device, a []uintptr) code {
	e, ok := lookup[*event](d, a[0])
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	m, c := e.state(d)
	if c != cudadrv.Success {
		return c
	}
	if m != nil && !m.reached() {
		return cudadrv.ErrNotReady
	}
	return d.lost()
}

func (m *mark) reached() bool {
	select {
	case <-m.done:
		return true
	default:
		return false
	}
}

func cuEventSynchronize(d *Device, a []uintptr) code {
	e, ok := lookup[*event](d, a[0])
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	m, c := e.state(d)
	if c != cudadrv.Success {
		return c
	}
	if m != nil {
		<-m.done
		d.memory.synchronised()
	}
	return d.lost()
}

func cuEventElapsedTime(d *Device, a []uintptr) code {
	var at [2]time.Time
	for i, h := range a[1:3] {
		e, ok := lookup[*event](d, h)
		if !ok || !e.timing || e.d != d {
			return cudadrv.ErrInvalidHandle
		}
		m, c := e.state(d)
		if c != cudadrv.Success {
			return c
		}
		if m == nil {
			return cudadrv.ErrInvalidHandle
		}
		if !m.reached() {
			return cudadrv.ErrNotReady
		}
		at[i] = m.at
	}
	if c := d.lost(); c != cudadrv.Success {
		return c
	}
	return putFloat(a[0], float32(float64(at[1].Sub(at[0]).Nanoseconds())/1e6))
}

func cuStreamWaitEvent(d *Device, a []uintptr) code {
	s, ok := lookup[*stream](d, a[0])
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	e, ok := lookup[*event](d, a[1])
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	if a[2] > 1 {
		return cudadrv.ErrInvalidValue
	}
	if done, c := s.captureWait(e); done {
		return c
	}
	m, c := e.state(d)
	if c != cudadrv.Success || m == nil {
		return c
	}
	o := d.tasks.get()
	o.kind, o.mark = taskWait, m
	return s.push(o)
}
