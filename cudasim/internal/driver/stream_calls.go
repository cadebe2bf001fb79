package driver

import (
	"time"

	"github.com/robocache/robocache/cudadrv"
)

func cuStreamCreateWithPriority(d *Device, a []uintptr) code {
	if a[1] > 1 {
		return cudadrv.ErrInvalidValue
	}
	return put64(a[0], uint64(d.newStream().h))
}

// cuStreamDestroy lets queued work run to its end.
func cuStreamDestroy(d *Device, s *stream, a []uintptr) code {
	if c := s.refuseCaptured(); c != cudadrv.Success {
		return c
	}
	d.drop(s.h)
	s.mu.Lock()
	s.ending = true
	s.more.Signal()
	s.mu.Unlock()
	go func() { // until then, synchronising the device waits for the stream too
		s.wait()
		d.mu.Lock()
		delete(d.streams, s)
		d.mu.Unlock()
	}()
	return d.lost()
}

func cuStreamSynchronize(d *Device, s *stream, a []uintptr) code {
	if c := s.refuseCaptured(); c != cudadrv.Success {
		return c
	}
	s.wait()
	d.memory.synchronised()
	return d.lost()
}

func cuStreamQuery(d *Device, s *stream, a []uintptr) code {
	if c := s.refuseCaptured(); c != cudadrv.Success {
		return c
	}
	if !s.idle() {
		return cudadrv.ErrNotReady
	}
	return d.lost()
}

func cuEventCreate(d *Device, a []uintptr) code {
	const blocking, noTiming, interprocess = 1, 2, 4
	if a[1]&^(blocking|noTiming|interprocess) != 0 || a[1]&interprocess != 0 && a[1]&noTiming == 0 {
		return cudadrv.ErrInvalidValue
	}
	return put64(a[0], uint64(d.add(kindEvent, &event{d: d, timing: a[1]&noTiming == 0}, 0)))
}

func cuEventDestroy(d *Device, _ *event, a []uintptr) code {
	d.drop(a[0])
	return d.lost()
}

func cuEventRecord(d *Device, e *event, a []uintptr) code {
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
	c := s.push(o) // without a lock, because it may wait for room
	if c == cudadrv.Success {
		e.mu.Lock()
		e.last, e.captured, e.after = m, nil, nil
		e.mu.Unlock()
	}
	return c
}

func cuEventQuery(d *Device, e *event, a []uintptr) code {
	m, c := e.state(d)
	if c != cudadrv.Success {
		return c
	}
	if m != nil && !m.reached() {
		return cudadrv.ErrNotReady
	}
	return d.lost()
}

func cuEventSynchronize(d *Device, e *event, a []uintptr) code {
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

func cuStreamWaitEvent(d *Device, s *stream, a []uintptr) code {
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
