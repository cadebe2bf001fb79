package driver

import (
	"encoding/binary"

	"github.com/robocache/robocache/cudadrv"
)

func cuStreamBeginCapture(d *Device, s *stream, a []uintptr) code {
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

func cuStreamEndCapture(d *Device, s *stream, a []uintptr) code {
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

// cuStreamGetCaptureInfo writes the state, the capture's number, its graph, and the dependencies of the next node.
func cuStreamGetCaptureInfo(d *Device, s *stream, a []uintptr) code {
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

// cuStreamGetCaptureInfoV3 also writes the data of edges, which is always empty here.
func cuStreamGetCaptureInfoV3(d *Device, s *stream, a []uintptr) code {
	if a[5] != 0 {
		put64(a[5], 0)
	}
	return cuStreamGetCaptureInfo(d, s, []uintptr{a[0], a[1], a[2], a[3], a[4], a[6]})
}
