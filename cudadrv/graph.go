package cudadrv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// Graph is work that was recorded from a stream and not run. It holds addresses, not memory: what its nodes use
// stays open as long as an instance of it may be launched.
type Graph struct {
	child
	core *graphCore
	mu   sync.RWMutex
	open bool
}

// graphCore is the driver's graph. Its nodes name themselves to the instances made from it, so it lives as long as they.
type graphCore struct {
	h     uintptr
	refs  atomic.Int32
	nodes nodeLog
}

// nodeLog says which nodes a launch became, and with which attributes.
type nodeLog map[*Launch][]kernelNode

type kernelNode struct {
	h     uintptr
	attrs launchAttributes
}

// captures holds what running captures recorded, on whichever device, by the driver's number for the capture.
type captures struct {
	active atomic.Int32
	mu     sync.Mutex
	logs   map[uint64]nodeLog
}

// info asks which capture the stream is in, and which node the next one would follow.
func (c *Context) captureInfo(h uintptr) (id uint64, last uintptr, active bool, err error) {
	f := getFrame()
	defer f.put()
	s := fnStreamGetCaptureInfo
	code := c.free(s, f, h, f.outAddr(0), f.outAddr(1), f.outAddr(2), f.outAddr(3), f.outAddr(4))
	if code == codeLossyQuery { // the next node's edges carry data, which only the newer form can tell
		s = fnStreamGetCaptureInfoV3
		code = c.free(s, f, h, f.outAddr(0), f.outAddr(1), f.outAddr(2), f.outAddr(3), f.outAddr(5), f.outAddr(4))
	}
	if code != Success {
		return 0, 0, false, c.dev.check(s, code)
	}
	if f.out[4] == 1 { // one dependency: the node just made
		last = uintptr(binary.NativeEndian.Uint64(View(uintptr(f.out[3]), 8)))
	}
	return f.out[1], last, uint32(f.out[0]) == 1, nil
}

// record notes which node a launch became.
func (x *captures) record(c *Context, l *Launch, h uintptr) error {
	if !c.drv.has(fnStreamGetCaptureInfo) {
		return nil
	}
	id, node, active, err := c.captureInfo(h)
	if err != nil || !active || node == 0 {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if log := x.logs[id]; log != nil {
		log[l] = append(log[l], kernelNode{node, l.cfg.attributes()})
	}
	return nil
}

// Capture records what fn queues on s, and on streams that fn joins to it by events, as a graph; nothing of it
// runs. The streams may be of several devices of the driver: each node runs where it was queued. The goroutine keeps its OS thread meanwhile. Calls that wait for s are refused, and so are driver calls
// that the driver does not allow in a capture; the capture then ends, s is as before, and the error is a
// *[CaptureError]. So it is if fn returns an error. Calls that do not go to a captured stream, such as Malloc and the
// synchronous copies, are not recorded: they run at once.
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
	log, forget := c.drv.capture.open(c, h)
	defer forget()

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
	g := &Graph{core: &graphCore{h: graph, nodes: log}, open: true}
	g.core.refs.Store(1)
	g.child = c.adopt(kindGraph, 0)
	return g, nil
}

// open starts a log for the capture that the stream is in.
func (x *captures) open(c *Context, h uintptr) (log nodeLog, forget func()) {
	log = nodeLog{}
	if !c.drv.has(fnStreamGetCaptureInfo) {
		return log, func() {}
	}
	id, _, active, err := c.captureInfo(h)
	if err != nil || !active {
		return log, func() {} // UpdateLaunch will say that the node is not known
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.logs == nil {
		x.logs = map[uint64]nodeLog{}
	}
	x.logs[id] = log
	x.active.Add(1)
	return log, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		delete(x.logs, id)
		x.active.Add(-1)
	}
}

func (g *Graph) begin(op string) error {
	g.mu.RLock()
	if !g.open {
		g.mu.RUnlock()
		return &ClosedError{Op: op, What: "graph"}
	}
	if err := g.ctx.dev.Lost(); err != nil {
		g.mu.RUnlock()
		return err
	}
	return nil
}

// Nodes is the number of the graph's nodes.
func (g *Graph) Nodes() (int, error) {
	if err := g.begin("Nodes"); err != nil {
		return 0, err
	}
	defer g.mu.RUnlock()
	f := getFrame()
	defer f.put()
	err := g.ctx.dev.check(fnGraphGetNodes, g.ctx.free(fnGraphGetNodes, f, g.core.h, 0, f.outAddr(0)))
	return int(f.out[0]), err
}

// Close gives the graph up. Instances made from it stay usable. Closing twice is fine.
func (g *Graph) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.open {
		return nil
	}
	g.open = false
	defer g.drop()
	return g.core.release(g.ctx)
}

func (core *graphCore) release(c *Context) error {
	if core.refs.Add(-1) > 0 || c.dev.Lost() != nil {
		return nil
	}
	f := getFrame()
	defer f.put()
	return c.dev.check(fnGraphDestroy, c.free(fnGraphDestroy, f, core.h))
}

// GraphExec is a graph ready to launch. It may be used from any goroutine; calls on one wait for each other.
type GraphExec struct {
	child
	core   *graphCore
	mu     sync.Mutex
	h      uintptr
	closed bool
	call   [2]uintptr // the arguments of cuGraphLaunch
}

// Instantiate makes the graph ready to launch.
func (g *Graph) Instantiate() (*GraphExec, error) {
	if err := g.begin("Instantiate"); err != nil {
		return nil, err
	}
	defer g.mu.RUnlock()
	c := g.ctx
	if err := c.enter("Instantiate"); err != nil {
		return nil, err
	}
	defer c.leave()
	f := getFrame()
	defer f.put()
	if err := c.dev.check(fnGraphInstantiate, c.bound(fnGraphInstantiate, f, f.outAddr(0), g.core.h, 0)); err != nil {
		return nil, err
	}
	g.core.refs.Add(1)
	x := &GraphExec{core: g.core, h: uintptr(f.out[0])}
	x.child = c.adopt(kindExec, 0)
	return x, nil
}

// begin locks x for one call; the caller unlocks it if there is no error.
func (x *GraphExec) begin(op string) error {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return &ClosedError{Op: op, What: "graph exec"}
	}
	if err := x.ctx.dev.Lost(); err != nil {
		x.mu.Unlock()
		return err
	}
	return nil
}

// Launch queues the whole graph on s. It allocates nothing. Launches of one instance run one after the other.
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

// Update takes the parameters of g over: same nodes in the same order, other arguments and addresses. What was
// launched before keeps the old ones. A graph that does not fit is a *[GraphUpdateError]:
// instantiate that graph instead.
func (x *GraphExec) Update(g *Graph) error {
	if err := g.begin("Update"); err != nil {
		return err
	}
	defer g.mu.RUnlock()
	if err := x.begin("Update"); err != nil {
		return err
	}
	defer x.mu.Unlock()
	c := x.ctx
	f := getFrame()
	defer f.put()
	s, code, reason := fnGraphExecUpdate, Success, 0
	if c.drv.has(fnGraphExecUpdate) {
		// CUgraphExecUpdateResultInfo is a 4-byte result and two node handles: cells 0 to 2.
		f.out[1], f.out[2] = 0, 0
		code = c.bound(s, f, x.h, g.core.h, f.outAddr(0))
		reason = int(uint32(f.out[0]))
	} else {
		s = fnGraphExecUpdateV1
		code = c.bound(s, f, x.h, g.core.h, f.outAddr(1), f.outAddr(0))
		reason = int(uint32(f.out[0]))
	}
	err := c.dev.check(s, code)
	if code == ErrGraphUpdateFailure {
		return &GraphUpdateError{Err: err, Reason: reason}
	}
	return err
}

// UpdateLaunch gives the kernel nodes that l became when x's graph was captured the arguments, the grid, the block and the
// shared memory that l has now. The kernel stays the same, and so must what [LaunchConfig] has besides: another cluster, say, is a
// *[ValueError]. A launch that was not captured there is an error; so is a driver before CUDA 11.3, which does not tell the node.
func (x *GraphExec) UpdateLaunch(l *Launch) error {
	if err := x.begin("UpdateLaunch"); err != nil {
		return err
	}
	defer x.mu.Unlock()
	nodes := x.core.nodes[l]
	if len(nodes) == 0 {
		return &ValueError{Op: "UpdateLaunch", What: "the launch", Kind: ErrOption, Got: fmt.Sprintf("one of kernel %s that is not in the graph", l.k.name), Want: "one that was captured"}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.k.mod.begin("UpdateLaunch"); err != nil {
		return err
	}
	defer l.k.mod.end()
	for _, n := range nodes {
		if now := l.cfg.attributes(); now != n.attrs {
			return &ValueError{Op: "UpdateLaunch", What: "the launch's attributes", Kind: ErrOption, Got: fmt.Sprintf("%+v", now), Want: fmt.Sprintf("%+v, as captured", n.attrs)}
		}
	}
	c := x.ctx
	f := getFrame()
	defer f.put()
	f.node = kernelNodeParams{grid: l.cfg.Grid, block: l.cfg.Block, shared: l.cfg.Shared, params: l.call[9]}
	s := fnGraphExecKernelSetParams
	switch {
	case l.k.mod.library != 0:
		f.node.kernel, f.node.context = l.k.h, l.k.mod.ctx.h
	case c.drv.has(s):
		f.node.function, f.node.context = l.k.h, l.k.mod.ctx.h
	default:
		s, f.node.function = fnGraphExecKernelSetParamsV1, l.k.h
	}
	for _, n := range nodes {
		if err := c.dev.check(s, c.bound(s, f, x.h, n.h, f.nodeAddr())); err != nil {
			return err
		}
	}
	return nil
}

// Close destroys the instance. No launch of it may be queued or running. Closing twice is fine.
func (x *GraphExec) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return nil
	}
	x.closed = true
	defer x.drop()
	c := x.ctx
	if c.dev.Lost() != nil {
		return nil
	}
	f := getFrame()
	defer f.put()
	err := c.dev.check(fnGraphExecDestroy, c.free(fnGraphExecDestroy, f, x.h))
	return errors.Join(err, x.core.release(c))
}
