package driver

import "github.com/robocache/robocache/cudadrv"

func cuStreamBeginCapture(d *Device, s *stream, a []uintptr) code {
	if a[1] > modeRelaxed {
		return cudadrv.ErrInvalidValue
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.capture != nil {
		return codeIllegalState
	}
	c := &capture{mode: a[1], thread: threadID(), origin: s, graph: &graph{}}
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
