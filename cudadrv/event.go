package cudadrv

import (
	"context"
	"encoding/binary"
	"math"
	"time"
)

// Event marks a point in a stream's work. Other streams and the host can wait for it, and two events measure the time between
// them.
type Event struct {
	handle
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
	return &Event{handle{child: c.adopt(kindEvent, 0), h: uintptr(f.out[0])}}, nil
}

func (e *Event) begin(op string) (uintptr, error) {
	if e == nil {
		return 0, &ValueError{Op: op, What: "the event", Kind: ErrMissing, Got: "nil", Want: "an event"}
	}
	return e.handle.begin(op)
}

// Close destroys the event. Streams that already wait for it still do. A second Close does nothing.
func (e *Event) Close() error { return e.destroy(fnEventDestroy, e.ctx.free) }

// Query reports whether the work before the latest Record is done.
func (e *Event) Query() (bool, error) { return e.query(fnEventQuery) }

// Synchronize waits for the work before the latest Record. See [Stream.Synchronize] for the kinds of wait.
func (e *Event) Synchronize(ctx context.Context) error {
	if cancellable(ctx) {
		return e.ctx.dev.poller.wait(ctx, e)
	}
	return e.do("Synchronize", fnEventSynchronize, func(f *frame, h uintptr) Code { return e.ctx.free(fnEventSynchronize, f, h) })
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
