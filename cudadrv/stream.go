package cudadrv

import (
	"context"
	"sync/atomic"
)

// Stream is a queue of work on the device. Work on one stream runs in order. Streams do not wait for each other or for the
// driver's default stream; events order them.
type Stream struct {
	handle
	capturing atomic.Bool
}

// StreamOptions are the options of a stream.
type StreamOptions struct {
	// Priority is the stream's priority: a smaller number comes first. Values outside [Context.StreamPriorities] are clamped to
	// that range.
	Priority int
}

// NewStream makes a stream.
func (c *Context) NewStream(o StreamOptions) (*Stream, error) {
	if err := c.enter("NewStream"); err != nil {
		return nil, err
	}
	defer c.leave()
	s, err := c.newStream(o)
	if err != nil {
		return nil, err
	}
	s.child = c.adopt(kindStream, 0)
	c.streamMu.Lock()
	c.streams[s] = struct{}{}
	c.streamMu.Unlock()
	return s, nil
}

// newStream makes one that is not counted.
func (c *Context) newStream(o StreamOptions) (*Stream, error) {
	const nonBlocking = 1
	f := getFrame()
	defer f.put()
	if err := c.dev.check(fnStreamCreate, c.bound(fnStreamCreate, f, f.outAddr(0), nonBlocking, uintptr(uint32(int32(o.Priority))))); err != nil {
		return nil, err
	}
	return &Stream{handle: handle{child: child{ctx: c, kind: kindStream}, h: uintptr(f.out[0])}}, nil
}

// owns checks that a stream is there and belongs to the context's device.
func (c *Context) owns(op string, s *Stream) error {
	if s == nil {
		return &ValueError{Op: op, What: "the stream", Kind: ErrMissing, Got: "nil", Want: "a stream"}
	}
	if s.ctx.dev != c.dev {
		return &ValueError{Op: op, What: "the stream", Kind: ErrWrongDevice, Got: "one of another device", Want: "one of this device"}
	}
	return nil
}

// Context returns the context that the stream was made in.
func (s *Stream) Context() *Context { return s.ctx }

// Close destroys the stream. Work that is queued on it still runs. It waits for calls on the stream that are in progress, for
// example a Synchronize without a cancellable context. A second Close does nothing.
func (s *Stream) Close() error {
	if s.capturing.Load() {
		return &CaptureError{Op: "Close", Err: ErrCaptureUnsupported}
	}
	s.ctx.streamMu.Lock()
	delete(s.ctx.streams, s)
	s.ctx.streamMu.Unlock()
	return s.release()
}

func (s *Stream) release() error { return s.destroy(fnStreamDestroy, s.ctx.free) }

func (s *Stream) isClosed() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.closed
}

// Query reports whether all work queued so far is done. It does not wait.
func (s *Stream) Query() (bool, error) {
	if s.capturing.Load() {
		return false, &CaptureError{Op: "Query", Err: ErrCaptureUnsupported}
	}
	return s.query(fnStreamQuery)
}

// Synchronize waits until all work queued so far is done. It returns an error if that work failed.
//
// If ctx is nil or cannot be cancelled, the driver waits: this is fastest, but holds an OS thread. If ctx can be cancelled,
// Synchronize polls the driver for a short time. Then one goroutine polls for the whole device, so that a thousand waits hold no
// thread; this adds up to a millisecond to a long wait. If ctx ends first, its error is returned, and the work continues.
func (s *Stream) Synchronize(ctx context.Context) error {
	if s.capturing.Load() {
		return &CaptureError{Op: "Synchronize", Err: ErrCaptureUnsupported}
	}
	if !cancellable(ctx) {
		return s.wait()
	}
	return s.ctx.dev.poller.wait(ctx, s)
}

// wait is Synchronize inside the driver.
func (s *Stream) wait() error {
	return s.do("Synchronize", fnStreamSynchronize, func(f *frame, h uintptr) Code { return s.ctx.free(fnStreamSynchronize, f, h) })
}

// WaitEvent makes later work on s wait for the work before the latest Record of e. e may belong to another device of the driver.
func (s *Stream) WaitEvent(e *Event) error {
	return s.withEvent("WaitEvent", e, fnStreamWaitEvent, func(f *frame, h, eh uintptr) (Code, error) {
		if e.ctx.drv != s.ctx.drv {
			return 0, &ValueError{Op: "WaitEvent", What: "the event", Kind: ErrWrongDevice, Got: "one of another driver", Want: "one of this driver's devices"}
		}
		return s.ctx.free(fnStreamWaitEvent, f, h, eh, 0), nil
	})
}

// withEvent runs one call with the handles of the stream and of an event.
func (s *Stream) withEvent(op string, e *Event, fn slot, call func(f *frame, h, eh uintptr) (Code, error)) error {
	h, err := s.begin(op)
	if err != nil {
		return err
	}
	defer s.end()
	eh, err := e.begin(op)
	if err != nil {
		return err
	}
	defer e.end()
	f := getFrame()
	defer f.put()
	code, err := call(f, h, eh)
	if err != nil {
		return err
	}
	return s.ctx.dev.check(fn, code)
}

// Record sets e, an event of the same device, to the work queued on s so far.
func (s *Stream) Record(e *Event) error {
	return s.withEvent("Record", e, fnEventRecord, func(f *frame, h, eh uintptr) (Code, error) {
		if e.ctx.dev != s.ctx.dev {
			return 0, &ValueError{Op: "Record", What: "the event", Kind: ErrWrongDevice, Got: "one of another device", Want: "one of this device"}
		}
		return s.ctx.free(fnEventRecord, f, eh, h), nil
	})
}

// Use calls do with the driver's handle, for functions of other libraries. The stream stays open meanwhile.
func (s *Stream) Use(op string, do func(handle uintptr) error) error {
	h, err := s.begin(op)
	if err != nil {
		return err
	}
	defer s.end()
	return do(h)
}
