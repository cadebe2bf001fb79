package cudadrv

import (
	"errors"
)

// Graph is work that was recorded from a stream and has not run. It holds addresses, not memory: everything that its nodes use
// must stay open as long as an instance of the graph may be launched.
type Graph struct {
	handle
}

// Capture records the work that fn queues on s as a graph and runs none of it. Work on other streams is recorded too if fn
// connects them to s by events. The streams may belong to several devices; each node runs on the device where it was queued.
//
// During fn, the goroutine keeps its OS thread. Waits for s and driver calls that a capture does not allow fail; then, or if fn
// returns an error, the capture ends, s is as before, and the error is a *[CaptureError]. Calls without a captured stream, such
// as Malloc and the synchronous copies, are not recorded and run at once.
func (s *Stream) Capture(fn func(*Stream) error) (*Graph, error) {
	c := s.ctx
	if !c.drv.has(fnStreamBeginCapture, fnStreamEndCapture, fnGraphDestroy) {
		return nil, c.drv.fail(fnStreamBeginCapture, codeMissing)
	}
	if !s.capturing.CompareAndSwap(false, true) {
		return nil, &CaptureError{Op: "Capture", Err: errors.New("the stream is capturing already")}
	}
	defer s.capturing.Store(false)
	h, err := s.begin("Capture")
	if err != nil {
		return nil, err
	}
	s.end() // Close refuses while capturing, so the stream and its context stay open; fn may take their locks
	unbind, code := c.makeCurrent()
	if code != Success {
		return nil, c.dev.check(fnCtxPush, code)
	}
	defer unbind()
	const threadLocal = 1
	f := getFrame()
	defer f.put()
	if err := c.dev.check(fnStreamBeginCapture, c.free(fnStreamBeginCapture, f, h, threadLocal)); err != nil {
		return nil, &CaptureError{Op: symbols[fnStreamBeginCapture].name, Err: err}
	}

	returned := false
	defer func() {
		if !returned { // fn panicked or ended its goroutine: leave the stream as it was
			if c.drv.call(fnStreamEndCapture, f, h, f.outAddr(0)) == Success && f.out[0] != 0 {
				c.drv.call(fnGraphDestroy, f, uintptr(f.out[0]))
			}
		}
	}()
	fnErr := fn(s)
	returned = true

	code = c.drv.call(fnStreamEndCapture, f, h, f.outAddr(0))
	graph := uintptr(f.out[0])
	err = c.dev.check(fnStreamEndCapture, code)
	if fnErr != nil || err != nil {
		if graph != 0 {
			c.drv.call(fnGraphDestroy, f, graph)
		}
		if fnErr != nil {
			return nil, &CaptureError{Op: "the captured function", Err: fnErr}
		}
		return nil, &CaptureError{Op: symbols[fnStreamEndCapture].name, Err: err}
	}
	return &Graph{handle{child: c.adopt(kindGraph, 0), h: graph}}, nil
}

// Nodes returns the number of the graph's nodes.
func (g *Graph) Nodes() (int, error) {
	n := 0
	err := g.do("Nodes", fnGraphGetNodes, func(f *frame, h uintptr) Code {
		code := g.ctx.free(fnGraphGetNodes, f, h, 0, f.outAddr(0))
		n = int(f.out[0])
		return code
	})
	return n, err
}

// Close releases the graph. Instances made from it stay usable. A second Close does nothing.
func (g *Graph) Close() error { return g.destroy(fnGraphDestroy, g.ctx.free) }

// GraphExec is a graph ready to launch. It may be used from any goroutine; calls on one wait for each other.
type GraphExec struct {
	handle
	call [2]uintptr // the arguments of cuGraphLaunch
}

// Instantiate makes the graph ready to launch.
func (g *Graph) Instantiate() (*GraphExec, error) {
	h, err := g.begin("Instantiate")
	if err != nil {
		return nil, err
	}
	defer g.end()
	c := g.ctx
	if err := c.enter("Instantiate"); err != nil {
		return nil, err
	}
	defer c.leave()
	f := getFrame()
	defer f.put()
	if err := c.dev.check(fnGraphInstantiate, c.bound(fnGraphInstantiate, f, f.outAddr(0), h, 0)); err != nil {
		return nil, err
	}
	return &GraphExec{handle: handle{child: c.adopt(kindExec, 0), h: uintptr(f.out[0])}}, nil
}

// begin locks x for one call; the caller unlocks it if there is no error.
func (x *GraphExec) begin(op string) error {
	x.mu.Lock()
	err := x.usable(op)
	if err != nil {
		x.mu.Unlock()
	}
	return err
}

// Launch queues the whole graph on s. It allocates nothing. Launches of one instance run one after another.
func (x *GraphExec) Launch(s *Stream) error {
	c := x.ctx
	if err := c.owns("Launch", s); err != nil {
		return err
	}
	if err := x.begin("Launch"); err != nil {
		return err
	}
	defer x.mu.Unlock()
	h, err := s.begin("Launch")
	if err != nil {
		return err
	}
	defer s.end()
	return c.dev.check(fnGraphLaunch, x.launch(h))
}

// launch calls the driver on the stream with handle h.
func (x *GraphExec) launch(h uintptr) Code {
	d := x.ctx.drv
	if p := d.procs[fnGraphLaunch]; p != nil && !d.bind[fnGraphLaunch].Load() {
		x.call = [2]uintptr{x.h, h}
		if code := Code(int32(p(x.call[:]))); code != ErrInvalidContext {
			return code
		}
	}
	f := getFrame()
	defer f.put()
	return x.ctx.free(fnGraphLaunch, f, x.h, h)
}

// Update gives the instance the parameters of g, which must have the same nodes in the same order but may have other arguments
// and addresses. Launches that are already queued keep the old ones. If g does not fit, the error is a *[GraphUpdateError];
// instantiate g instead.
func (x *GraphExec) Update(g *Graph) error {
	h, err := g.begin("Update")
	if err != nil {
		return err
	}
	defer g.end()
	if err := x.begin("Update"); err != nil {
		return err
	}
	defer x.mu.Unlock()
	c := x.ctx
	f := getFrame()
	defer f.put()
	s, code := fnGraphExecUpdate, Success
	if c.drv.has(fnGraphExecUpdate) {
		// CUgraphExecUpdateResultInfo is a 4-byte result and two node handles: cells 0 to 2.
		f.out[1], f.out[2] = 0, 0
		code = c.bound(s, f, x.h, h, f.outAddr(0))
	} else {
		s = fnGraphExecUpdateV1
		code = c.bound(s, f, x.h, h, f.outAddr(1), f.outAddr(0))
	}
	err = c.dev.check(s, code)
	if code == ErrGraphUpdateFailure {
		return &GraphUpdateError{Err: err, Reason: int(uint32(f.out[0]))}
	}
	return err
}

// Close destroys the instance. No launch of it may be queued or running. A second Close does nothing.
func (x *GraphExec) Close() error { return x.destroy(fnGraphExecDestroy, x.ctx.free) }
