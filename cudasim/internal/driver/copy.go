package driver

import (
	"bytes"
	"encoding/binary"

	"github.com/robocache/robocache/cudadrv"
)

// Copies of pinned memory are asynchronous. For other host memory, an upload copies the source before it returns,
// and a download returns when it is done, as with the driver.

func cuMemcpyHtoDAsync(d *Device, s *stream, a []uintptr) code {
	return d.queue(s, a[2], func(o *task) code {
		if !d.memory.usable(uint64(a[0]), uint64(a[2])) || a[1] == 0 {
			return cudadrv.ErrInvalidValue
		}
		o.kind, o.dst, o.n, o.host = taskUpload, uint64(a[0]), uint64(a[2]), cudadrv.View(a[1], int(a[2]))
		if d.hosts.find(a[1], a[2]) == nil && !s.captured() {
			o.host = bytes.Clone(o.host)
		}
		return cudadrv.Success
	}, false)
}

func cuMemcpyDtoHAsync(d *Device, s *stream, a []uintptr) code {
	return d.queue(s, a[2], func(o *task) code {
		if !d.memory.usable(uint64(a[1]), uint64(a[2])) || a[0] == 0 {
			return cudadrv.ErrInvalidValue
		}
		o.kind, o.src, o.n, o.host = taskDownload, uint64(a[1]), uint64(a[2]), cudadrv.View(a[0], int(a[2]))
		return cudadrv.Success
	}, d.hosts.find(a[0], a[2]) == nil)
}

func cuMemcpyDtoDAsync(d *Device, s *stream, a []uintptr) code {
	return d.queue(s, a[2], func(o *task) code {
		if !d.memory.usable(uint64(a[0]), uint64(a[2])) || !d.memory.usable(uint64(a[1]), uint64(a[2])) {
			return cudadrv.ErrInvalidValue
		}
		o.kind, o.dst, o.src, o.n = taskCopy, uint64(a[0]), uint64(a[1]), uint64(a[2])
		return cudadrv.Success
	}, false)
}

func cuMemsetD8Async(d *Device, s *stream, a []uintptr) code {
	return d.memset(s, a, 1)
}

func cuMemsetD32Async(d *Device, s *stream, a []uintptr) code {
	return d.memset(s, a, 4)
}

func (d *Device) memset(s *stream, a []uintptr, width uint8) code {
	return d.queue(s, a[2], func(o *task) code {
		if uint64(a[2]) > 1<<46 || uint64(a[0])%uint64(width) != 0 || !d.memory.usable(uint64(a[0]), uint64(a[2])*uint64(width)) {
			return cudadrv.ErrInvalidValue
		}
		o.kind, o.dst, o.n, o.value, o.width = taskSet, uint64(a[0]), uint64(a[2]), uint32(a[1]), width
		return cudadrv.Success
	}, false)
}

// queue fills a task by set and pushes it to the stream, or adds it as a node if the stream is captured. If n is 0
// there is no work: set is not called, and a captured stream gets an empty node. With wait, queue returns after the work.
func (d *Device) queue(s *stream, n uintptr, set func(o *task) code, wait bool) code {
	o := d.tasks.get()
	o.kind = taskEmpty
	if n != 0 {
		if c := set(o); c != cudadrv.Success {
			d.tasks.put(o)
			return c
		}
	}
	if done, c := s.captureWork(o); done {
		return c
	}
	if o.kind == taskEmpty {
		d.tasks.put(o)
		return d.lost()
	}
	if c := s.push(o); c != cudadrv.Success {
		return c
	}
	if wait {
		s.wait()
		return d.lost()
	}
	return cudadrv.Success
}

// Offsets in CUDA_MEMCPY2D_v2.
const (
	copy2DBytes                   = 128
	srcAt, dstAt, widthAt, tallAt = 0, 56, 112, 120
	xAt, yAt, typeAt, hostAt      = 0, 8, 16, 24
	deviceAt, arrayAt, pitchAt    = 32, 40, 48
)

// readSide reads one side of the copy. height rows of width bytes must lie in its memory.
func (d *Device) readSide(b []byte, width, height uint64) (s side, c code) {
	u64 := func(at int) uint64 { return binary.NativeEndian.Uint64(b[at:]) }
	const onHost, onDevice, unified = 1, 2, 4
	s.pitch = u64(pitchAt)
	if s.pitch == 0 {
		s.pitch = width
	}
	if s.pitch < width || s.pitch > 1<<31 || height > 1<<31 {
		return s, cudadrv.ErrInvalidValue
	}
	off := u64(yAt)*s.pitch + u64(xAt)
	span := (height-1)*s.pitch + width
	switch binary.NativeEndian.Uint32(b[typeAt:]) {
	case onHost:
		addr := uintptr(u64(hostAt))
		if addr == 0 {
			return s, cudadrv.ErrInvalidValue
		}
		s.host = cudadrv.View(addr+uintptr(off), int(span))
	case onDevice, unified:
		s.device = u64(deviceAt) + off
		if !d.memory.usable(s.device, span) {
			return s, cudadrv.ErrInvalidValue
		}
	default: // arrays
		return s, cudadrv.ErrUnsupported
	}
	return s, cudadrv.Success
}

func cuMemcpy2DAsync(d *Device, s *stream, a []uintptr) code {
	b := cudadrv.View(a[0], copy2DBytes)
	if b == nil {
		return cudadrv.ErrInvalidValue
	}
	r := &rows{width: binary.NativeEndian.Uint64(b[widthAt:]), height: binary.NativeEndian.Uint64(b[tallAt:])}
	if r.width == 0 || r.height == 0 {
		return d.queue(s, 0, nil, false)
	}
	var c code
	if r.src, c = d.readSide(b[srcAt:], r.width, r.height); c != cudadrv.Success {
		return c
	}
	if r.dst, c = d.readSide(b[dstAt:], r.width, r.height); c != cudadrv.Success {
		return c
	}
	pageable := func(s side) bool {
		return s.host != nil && d.hosts.find(cudadrv.Addr(s.host), uintptr(len(s.host))) == nil
	}
	return d.queue(s, 1, func(o *task) code {
		o.kind, o.rows = taskRows, r
		return cudadrv.Success
	}, pageable(r.dst) || pageable(r.src))
}
