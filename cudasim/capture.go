package cudasim

import (
	"encoding/binary"
	"slices"

	"github.com/robocache/robocache/cudadrv"
)

// Capture modes (CUstreamCaptureMode).
const (
	modeGlobal = iota
	modeThread
	modeRelaxed
)

// capture is the recording of a stream's work, and of the streams that events join to it. Device.mu guards it.
type capture struct {
	id      uint64
	mode    uintptr
	thread  int
	origin  *stream
	joined  []*stream // without the origin
	graph   *graph
	invalid bool
}

// has reports whether a stream of a device is captured.
func (c *capture) has(d *Device) bool {
	return c.origin.d == d || slices.ContainsFunc(c.joined, func(s *stream) bool { return s.d == d })
}

// forbidden reports whether a call that may wait for the device is forbidden on this thread, by a capture that the
// thread began or by one of global mode; it spoils these captures.
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

// uncaptured refuses what the device does not model in a capture.
func (s *stream) uncaptured() code {
	if s.captured() {
		return cudadrv.ErrUnsupported
	}
	return cudadrv.Success
}

// refuseCaptured refuses, and spoils, a wait for a stream that is being captured.
func (s *stream) refuseCaptured() code {
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	if s.capture == nil {
		return cudadrv.Success
	}
	s.capture.invalid = true
	return cudadrv.ErrCaptureUnsupported
}

func cuStreamBeginCapture(d *Device, a []uintptr) code {
	s, ok := lookup[*stream](d, a[0])
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	if a[1] > modeRelaxed {
		return cudadrv.ErrInvalidValue
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.capture != nil {
		return codeIllegalState
	}
	d.lastID++
	c := &capture{id: d.lastID, mode: a[1], thread: threadID(), origin: s, graph: &graph{}}
	s.capture, s.after = c, nil
	d.captures[c] = struct{}{}
	return cudadrv.Success
}

func cuStreamEndCapture(d *Device, a []uintptr) code {
	s, ok := lookup[*stream](d, a[0])
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	if a[1] == 0 {
		return cudadrv.ErrInvalidValue
	}
	put64(a[1], 0)
	g, c := d.endCapture(s)
	if c != cudadrv.Success {
		return c
	}
	return put64(a[1], uint64(d.add(kindGraph, g, 0)))
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

// reaches reports whether n is one of nodes, or something that they depend on.
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

// cuStreamGetCaptureInfo tells the state, the capture's number, its graph, and what the next node would depend on.
func cuStreamGetCaptureInfo(d *Device, a []uintptr) code {
	s, ok := lookup[*stream](d, a[0])
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	const none, active, invalid = 0, 1, 2
	c := s.capture
	switch {
	case c == nil:
		return put32(a[1], none)
	case c.invalid:
		return put32(a[1], invalid)
	}
	put32(a[1], active)
	s.depsOut = s.depsOut[:0]
	for _, n := range s.after {
		s.depsOut = binary.NativeEndian.AppendUint64(s.depsOut, uint64(n.handle))
	}
	for i, v := range []uint64{c.id, 0, uint64(cudadrv.Addr(s.depsOut)), uint64(len(s.after))} {
		if a[2+i] != 0 {
			put64(a[2+i], v)
		}
	}
	return cudadrv.Success
}

// cuStreamGetCaptureInfoV3 tells of edges too, none of which carries data here.
func cuStreamGetCaptureInfoV3(d *Device, a []uintptr) code {
	if a[5] != 0 {
		put64(a[5], 0)
	}
	return cuStreamGetCaptureInfo(d, []uintptr{a[0], a[1], a[2], a[3], a[4], a[6]})
}

// captureWork makes a node of work, if the stream is being captured; done says whether it is, and the work is given back
// then.
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
	own.launch.params = slices.Clone(o.launch.params)
	d.next += 0x10
	n := &node{handle: d.next, after: s.after, op: &own}
	s.capture.graph.nodes = append(s.capture.graph.nodes, n)
	s.after = []*node{n}
	return true, cudadrv.Success
}

// captureRecord makes an event stand for a place in a capture, if the stream is in one.
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

// captureWait joins the stream to the event's capture, or a capture of its own to what the event stands for.
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
