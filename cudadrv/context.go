package cudadrv

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

// Context is a reference to a device's primary context. Memory, streams, events, modules and graphs are made in it and belong to
// it.
type Context struct {
	dev      *Device
	drv      *Driver
	h        uintptr
	mu       sync.RWMutex // held for reading while something is made, for writing while closing
	closed   bool
	inner    *Stream // carries the synchronous copies
	memory   *Stream // carries allocations, so that they do not wait behind a copy
	live     [kindCount]atomic.Int64
	streamMu sync.Mutex
	streams  map[*Stream]struct{}
}

// Primary returns a Context for the device's primary context, which is shared by everything in the process that uses the device.
// The first call starts the device, which takes about a tenth of a second. Close releases the Context.
func (dev *Device) Primary() (*Context, error) {
	if err := dev.Lost(); err != nil {
		return nil, err
	}
	f := getFrame()
	defer f.put()
	if err := dev.check(fnPrimaryCtxRetain, dev.drv.call(fnPrimaryCtxRetain, f, f.outAddr(0), dev.h)); err != nil {
		return nil, err
	}
	c := &Context{dev: dev, drv: dev.drv, h: uintptr(f.out[0]), streams: map[*Stream]struct{}{}}
	for _, s := range []**Stream{&c.inner, &c.memory} {
		var err error
		if *s, err = c.newStream(StreamOptions{}); err != nil {
			if c.inner != nil {
				err = errors.Join(err, c.inner.release())
			}
			dev.drv.call(fnPrimaryCtxRelease, f, dev.h)
			return nil, err
		}
		(*s).own = true
	}
	return c, nil
}

// Close releases the Context. If memory, streams, events, modules or graphs made in it are still open, it only returns an
// *[InUseError]. A second Close does nothing.
func (c *Context) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	open := map[string]int{}
	for k := range c.live {
		if n := c.live[k].Load(); n > 0 {
			open[kind(k).String()] = int(n)
		}
	}
	if len(open) > 0 {
		return &InUseError{Open: open}
	}
	c.closed = true
	errStream := errors.Join(c.inner.release(), c.memory.release())
	lost := c.dev.Lost() != nil
	f := getFrame()
	defer f.put()
	code := c.drv.call(fnPrimaryCtxRelease, f, c.dev.h)
	if lost {
		return errStream // releasing a lost context fails for that reason, which was reported where it was found
	}
	return errors.Join(errStream, c.dev.check(fnPrimaryCtxRelease, code))
}

// Device returns the context's device.
func (c *Context) Device() *Device { return c.dev }

// Synchronize waits for all work queued on the context's streams. If the context.Context cannot be cancelled, or is nil, the
// driver waits and holds a thread, and it also waits for work that others queued in the same primary context. If it can be
// cancelled, see [Stream.Synchronize].
func (c *Context) Synchronize(ctx context.Context) error {
	if err := c.enter("Synchronize"); err != nil {
		return err
	}
	defer c.leave()
	if err := ended(ctx); err != nil {
		return err
	}
	if !cancellable(ctx) {
		f := getFrame()
		defer f.put()
		return c.dev.check(fnCtxSynchronize, c.bound(fnCtxSynchronize, f))
	}
	c.streamMu.Lock()
	all := make([]*Stream, 0, len(c.streams))
	for s := range c.streams {
		all = append(all, s)
	}
	c.streamMu.Unlock()
	for _, s := range all {
		if err := s.Synchronize(ctx); err != nil && !s.isClosed() {
			return err
		}
	}
	return nil
}

// MemInfo returns the device's free and total memory in bytes.
func (c *Context) MemInfo() (free, total uint64, err error) {
	return c.pair("MemInfo", fnMemGetInfo)
}

// pair returns the two numbers that a function of the driver writes.
func (c *Context) pair(op string, s slot) (first, second uint64, err error) {
	if err := c.enter(op); err != nil {
		return 0, 0, err
	}
	defer c.leave()
	f := getFrame()
	defer f.put()
	err = c.dev.check(s, c.bound(s, f, f.outAddr(0), f.outAddr(1)))
	return f.out[0], f.out[1], err
}

// StreamPriorities returns the lowest and the highest stream priority. The smaller number has the higher priority: -5 comes
// before 0.
func (c *Context) StreamPriorities() (least, greatest int, err error) {
	low, high, err := c.pair("StreamPriorities", fnCtxStreamPriorityRange)
	return int(int32(low)), int(int32(high)), err
}

// enter begins a call: the context stays open until leave.
func (c *Context) enter(op string) error {
	c.mu.RLock()
	if c.closed {
		c.mu.RUnlock()
		return &ClosedError{Op: op, What: "context"}
	}
	if err := c.dev.Lost(); err != nil {
		c.mu.RUnlock()
		return err
	}
	return nil
}

func (c *Context) leave() { c.mu.RUnlock() }

// bound calls a function with the context current. The goroutine keeps its thread during the call, and the thread's earlier
// context is restored.
func (c *Context) bound(s slot, f *frame, args ...uintptr) Code {
	unbind, code := c.makeCurrent()
	if code != Success {
		return code
	}
	defer unbind()
	return c.drv.call(s, f, args...)
}

// Call calls a function of another library with the context current on the thread, such as one that creates a video decoder. op is
// the function's name. A result other than 0 is an [Error].
func (c *Context) Call(op string, p Proc, args ...uintptr) error {
	if err := c.enter(op); err != nil {
		return err
	}
	defer c.leave()
	unbind, code := c.makeCurrent()
	if code != Success {
		return c.dev.check(fnCtxPush, code)
	}
	defer unbind()
	if code = Code(int32(p(args))); code == Success {
		return nil
	}
	return c.dev.failed(c.drv.failure(op, code), code)
}

// makeCurrent makes the context current on this thread and keeps the goroutine there until unbind.
func (c *Context) makeCurrent() (unbind func(), code Code) {
	runtime.LockOSThread()
	f := getFrame()
	if code := c.drv.call(fnCtxPush, f, c.h); code != Success {
		f.put()
		runtime.UnlockOSThread()
		return nil, code | codeOfPush
	}
	return func() {
		c.drv.call(fnCtxPop, f, f.outAddr(0))
		f.put()
		runtime.UnlockOSThread()
	}, Success
}

// free calls a function that takes a stream, event or graph and so needs no current context on the drivers
// that we know. Where one answers 201 all the same, the function is called with the context current, from
// then on at once.
func (c *Context) free(s slot, f *frame, args ...uintptr) Code {
	if !c.drv.bind[s].Load() {
		code := c.drv.call(s, f, args...)
		if code != ErrInvalidContext {
			return code
		}
		c.drv.bind[s].Store(true)
	}
	return c.bound(s, f, args...)
}
