package driver

import (
	"slices"

	"github.com/robocache/robocache/cudadrv"
)

// Capture modes (CUstreamCaptureMode).
const (
	modeGlobal = iota
	modeThread
	modeRelaxed
)

// capture records the work of a stream, and of the streams that events join to it. Device.mu guards it.
type capture struct {
	mode    uintptr
	thread  int
	origin  *stream
	joined  []*stream // without the origin
	graph   *graph
	invalid bool
}

// has reports whether the capture includes a stream of a device.
func (c *capture) has(d *Device) bool {
	return c.origin.d == d || slices.ContainsFunc(c.joined, func(s *stream) bool { return s.d == d })
}

// forbidden reports whether a capture forbids a call that may wait for the device: a capture that this thread began, or one
// of global mode. Such a call invalidates these captures.
func (d *Device) forbidden() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.captures) == 0 {
		return false
	}
	t, found := threadID(), false
	for c := range d.captures {
		if c.mode == modeGlobal || c.mode == modeThread && c.thread == t {
			c.invalid, found = true, true
		}
	}
	return found
}

func (s *stream) captured() bool {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	return s.capture != nil
}

// uncaptured returns an error for a call that the device does not model in a capture, if the stream is being captured.
func (s *stream) uncaptured() code {
	if s.captured() {
		return cudadrv.ErrUnsupported
	}
	return cudadrv.Success
}

// refuseCaptured returns an error and invalidates the capture if the stream is being captured, because the caller would wait for it.
func (s *stream) refuseCaptured() code {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if s.capture == nil {
		return cudadrv.Success
	}
	s.capture.invalid = true
	return cudadrv.ErrCaptureUnsupported
}

func (d *Device) endCapture(s *stream) (*graph, code) {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := s.capture
	if c == nil {
		return nil, codeIllegalState
	}
	if c.origin != s {
		c.invalid = true
		return nil, codeCaptureUnmatched
	}
	if c.mode != modeRelaxed && c.thread != threadID() {
		c.invalid = true
		return nil, cudadrv.ErrCaptureWrongThread
	}
	unjoined := false
	for _, j := range c.joined {
		for _, n := range j.after {
			unjoined = unjoined || !reaches(s.after, n)
		}
		j.capture, j.after = nil, nil
	}
	s.capture, s.after = nil, nil
	delete(d.captures, c)
	switch {
	case c.invalid:
		return nil, cudadrv.ErrCaptureInvalidated
	case unjoined:
		return nil, cudadrv.ErrCaptureUnjoined
	}
	return c.graph, cudadrv.Success
}

// reaches reports whether n is one of nodes or a dependency of one.
func reaches(nodes []*node, n *node) bool {
	seen := map[*node]bool{}
	var search func([]*node) bool
	search = func(list []*node) bool {
		for _, x := range list {
			if x == n {
				return true
			}
			if !seen[x] {
				seen[x] = true
				if search(x.after) {
					return true
				}
			}
		}
		return false
	}
	return search(nodes)
}

// captureWork adds work as a node to the graph if the stream is being captured. done is false, and the caller must queue the work, if
// it is not. Otherwise the task is back in its pool, and c is the call's result.
func (s *stream) captureWork(o *task) (done bool, c code) {
	d := s.d
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.capture == nil {
		return false, cudadrv.Success
	}
	defer d.tasks.put(o)
	if s.capture.invalid {
		return true, cudadrv.ErrCaptureInvalidated
	}
	own := *o
	own.dev = d
	own.launch.Params = slices.Clone(o.launch.Params)
	d.next += 0x10
	n := &node{handle: d.next, after: s.after, op: &own}
	s.capture.graph.nodes = append(s.capture.graph.nodes, n)
	s.after = []*node{n}
	return true, cudadrv.Success
}

// captureRecord records an event in a capture. done is false if the stream is not being captured.
func (s *stream) captureRecord(e *event) (done bool, c code) {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if s.capture == nil {
		return false, cudadrv.Success
	}
	if s.capture.invalid {
		return true, cudadrv.ErrCaptureInvalidated
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.captured, e.after = s.capture, s.after
	return true, cudadrv.Success
}

// captureWait adds the event's nodes as dependencies of the stream's next node, and joins the stream to the event's capture if it is
// in none. done is false if no capture is involved.
func (s *stream) captureWait(e *event) (done bool, c code) {
	d := s.d
	d.mu.Lock()
	defer d.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	from := e.captured
	if _, running := d.captures[from]; from != nil && !running {
		return true, codeCapturedEvent
	}
	switch {
	case s.capture == nil && from == nil:
		return false, cudadrv.Success
	case from != nil && from.invalid, s.capture != nil && s.capture.invalid:
		return true, cudadrv.ErrCaptureInvalidated
	case from == nil:
		if e.last == nil {
			return true, cudadrv.Success // never recorded: nothing to wait for
		}
		s.capture.invalid = true
		return true, codeCaptureIsolation
	case s.capture == nil:
		s.capture, s.after = from, slices.Clone(e.after)
		from.joined = append(from.joined, s)
	case s.capture != from:
		s.capture.invalid, from.invalid = true, true
		return true, codeCaptureMerge
	default:
		for _, n := range e.after {
			if !reaches(s.after, n) {
				s.after = append(slices.Clip(s.after), n)
			}
		}
	}
	return true, cudadrv.Success
}
