package cudadrv

import (
	"context"
	"encoding/binary"
	"math"
	"sync"
	"time"
)

// Event marks a point in a stream's work. Other streams and the host can wait for it, and two events measure the time between
// them.
type Event struct {
	child
	mu     sync.RWMutex // held for reading while a driver call uses h
	h      uintptr
	closed bool
}

// EventOptions are the options of an event.
type EventOptions struct {
	NoTiming bool // makes the event cheaper; Elapsed is then an error
}

// NewEvent makes an event. Before its first Record it counts as done.
func (c *Context) NewEvent(o EventOptions) (*Event, error) {
	if err := c.enter("NewEvent"); err != nil {
		return nil, err
	}
	defer c.leave()
	flags := uintptr(0)
	if o.NoTiming {
		flags = 2
	}
	f := getFrame()
	defer f.put()
	if err := c.dev.check(fnEventCreate, c.bound(fnEventCreate, f, f.outAddr(0), flags)); err != nil {
		return nil, err
	}
	e := &Event{h: uintptr(f.out[0])}
	e.child = c.adopt(kindEvent, 0)
	return e, nil
}

func (e *Event) begin(op string) (uintptr, error) {
	if e == nil {
		return 0, &ValueError{Op: op, What: "the event", Kind: ErrMissing, Got: "nil", Want: "an event"}
	}
	e.mu.RLock()
	if e.closed {
		e.mu.RUnlock()
		return 0, &ClosedError{Op: op, What: "event"}
	}
	if err := e.ctx.dev.Lost(); err != nil {
		e.mu.RUnlock()
		return 0, err
	}
	return e.h, nil
}

func (e *Event) end() { e.mu.RUnlock() }

// Close destroys the event. Streams that already wait for it still do. A second Close does nothing.
func (e *Event) Close() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil
	}
	e.closed = true
	defer e.drop()
	c := e.ctx
	if c.dev.Lost() != nil {
		return nil
	}
	f := getFrame()
	defer f.put()
	return c.dev.check(fnEventDestroy, c.free(fnEventDestroy, f, e.h))
}

// Query reports whether the work before the latest Record is done.
func (e *Event) Query() (bool, error) {
	h, err := e.begin("Query")
	if err != nil {
		return false, err
	}
	defer e.end()
	f := getFrame()
	defer f.put()
	code := e.ctx.free(fnEventQuery, f, h)
	if code == ErrNotReady {
		return false, nil
	}
	return code == Success, e.ctx.dev.check(fnEventQuery, code)
}

// Synchronize waits for the work before the latest Record. See [Stream.Synchronize] for the kinds of wait.
func (e *Event) Synchronize(ctx context.Context) error {
	if cancellable(ctx) {
		return e.ctx.dev.poller.wait(ctx, e)
	}
	h, err := e.begin("Synchronize")
	if err != nil {
		return err
	}
	defer e.end()
	f := getFrame()
	defer f.put()
	return e.ctx.dev.check(fnEventSynchronize, e.ctx.free(fnEventSynchronize, f, h))
}

// Elapsed returns the device time from since to e. If an event is not done, the error is ErrNotReady; if it was never recorded,
// ErrInvalidHandle. The driver's resolution is about half a microsecond.
func (e *Event) Elapsed(since *Event) (time.Duration, error) {
	h, err := e.begin("Elapsed")
	if err != nil {
		return 0, err
	}
	defer e.end()
	from := h
	if since != e { // a second hold on the same lock could wait for a Close in between
		if from, err = since.begin("Elapsed"); err != nil {
			return 0, err
		}
		defer since.end()
	}
	f := getFrame()
	defer f.put()
	code := e.ctx.bound(fnEventElapsedTime, f, f.outAddr(0), from, h)
	if err := e.ctx.dev.check(fnEventElapsedTime, code); err != nil {
		return 0, err
	}
	var raw [8]byte
	binary.NativeEndian.PutUint64(raw[:], f.out[0])
	ms := math.Float32frombits(binary.NativeEndian.Uint32(raw[:4]))
	return time.Duration(math.Round(float64(ms) * 1e6)), nil
}
