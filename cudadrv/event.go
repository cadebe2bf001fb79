package cudadrv

import (
	"context"
	"encoding/binary"
	"math"
	"time"
)

// Event is a point in a stream's work: it orders streams, is waited for, and tells the time.
type Event struct {
	handle
}

// EventOptions are an event's options.
type EventOptions struct {
	NoTiming bool // cheaper; Elapsed is an error
}

// NewEvent makes an event. Until it is recorded it counts as done.
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

// Close destroys the event. Streams that were told to wait for it still do. Closing twice is fine.
func (e *Event) Close() error { return e.destroy(fnEventDestroy, e.ctx.free) }

// Query reports whether the work recorded last is done.
func (e *Event) Query() (bool, error) { return e.query(fnEventQuery) }

// Synchronize waits for the work recorded last; see [Stream.Synchronize] for how.
func (e *Event) Synchronize(ctx context.Context) error {
	if cancellable(ctx) {
		return e.ctx.dev.poller.wait(ctx, e)
	}
	return e.do("Synchronize", fnEventSynchronize, func(f *frame, h uintptr) Code { return e.ctx.free(fnEventSynchronize, f, h) })
}

// Elapsed is the time on the device from since to e. Both must be recorded and done (ErrNotReady, ErrInvalidHandle).
// The driver's resolution is about half a microsecond.
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
