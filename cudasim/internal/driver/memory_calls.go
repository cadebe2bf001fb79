package driver

import (
	"encoding/binary"

	"github.com/robocache/robocache/cudadrv"
)

func cuMemGetInfo(d *Device, a []uintptr) code {
	m := &d.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	put64(a[0], m.total-m.used-m.cached-m.unpooled)
	return put64(a[1], m.total)
}

func cuMemAlloc(d *Device, a []uintptr) code {
	addr, c := d.memory.get(uint64(a[1]), false)
	if c != cudadrv.Success {
		return c
	}
	return put64(a[0], addr)
}

// cuMemFree waits for the device, as the driver does.
func cuMemFree(d *Device, a []uintptr) code {
	if a[0] == 0 {
		return cudadrv.Success
	}
	addr := uint64(a[0])
	if m, ok := d.space.Find(addr); ok && m.Owner != nil {
		d = d.devices[m.Owner.Index]
	}
	if c := d.memory.claim(addr); c != cudadrv.Success {
		return c
	}
	d.waitAll()
	d.memory.release(addr)
	return d.lost()
}

func cuMemAllocAsync(d *Device, s *stream, a []uintptr) code {
	if c := s.uncaptured(); c != cudadrv.Success {
		return c
	}
	addr, c := d.memory.get(uint64(a[1]), true)
	if c != cudadrv.Success {
		return c
	}
	return put64(a[0], addr)
}

// cuMemFreeAsync frees in stream order. From the call on, new work on the memory is refused.
func cuMemFreeAsync(d *Device, s *stream, a []uintptr) code {
	if c := s.uncaptured(); c != cudadrv.Success {
		return c
	}
	if a[0] == 0 {
		return cudadrv.Success
	}
	if c := d.memory.claim(uint64(a[0])); c != cudadrv.Success {
		return c
	}
	o := d.tasks.get()
	o.kind, o.dst = taskFree, uint64(a[0])
	return s.push(o)
}

func cuDeviceGetMemPool(d *Device, a []uintptr) code {
	return put64(a[0], uint64(d.memory.pool))
}

// The pool's attributes that cudadrv uses (CUmemPool_attribute).
const (
	poolReuseFollow      = 1
	poolReuseOpportunist = 2
	poolReuseInternal    = 3
	poolThreshold        = 4
	poolHeld             = 5
	poolHeldHigh         = 6
	poolUsed             = 7
	poolUsedHigh         = 8
)

func cuMemPoolSetAttribute(d *Device, _ *memPool, a []uintptr) code {
	if a[2] == 0 {
		return cudadrv.ErrInvalidValue
	}
	m := &d.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	switch a[1] {
	case poolThreshold:
		m.threshold = get64(a[2])
	case poolReuseFollow, poolReuseOpportunist, poolReuseInternal:
	case poolHeldHigh, poolUsedHigh:
		if get64(a[2]) != 0 {
			return cudadrv.ErrInvalidValue
		}
		if a[1] == poolHeldHigh {
			m.heldHigh = m.used + m.cached
		} else {
			m.usedHigh = m.used
		}
	default:
		return cudadrv.ErrInvalidValue
	}
	return cudadrv.Success
}

func cuMemPoolGetAttribute(d *Device, _ *memPool, a []uintptr) code {
	m := &d.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	switch a[1] {
	case poolReuseFollow, poolReuseOpportunist, poolReuseInternal:
		return put32(a[2], 1)
	case poolThreshold:
		return put64(a[2], m.threshold)
	case poolHeld:
		return put64(a[2], m.used+m.cached)
	case poolHeldHigh:
		return put64(a[2], m.heldHigh)
	case poolUsed:
		return put64(a[2], m.used)
	case poolUsedHigh:
		return put64(a[2], m.usedHigh)
	}
	return cudadrv.ErrInvalidValue
}

// cuMemPoolSetAccess opens or closes the pool to devices. For its own device it is always open.
func cuMemPoolSetAccess(d *Device, _ *memPool, a []uintptr) code {
	if a[2] > 0 && a[1] == 0 {
		return cudadrv.ErrInvalidValue
	}
	const descriptorBytes, onDevice, readWrite = 12, 1, 3
	peers := d.owner.Peers.Load()
	for i := range a[2] {
		b := cudadrv.View(a[1]+i*descriptorBytes, descriptorBytes)
		u := func(at int) uint32 { return binary.NativeEndian.Uint32(b[at:]) }
		switch id, flags := u(4), u(8); {
		case u(0) != onDevice || flags != 0 && flags != readWrite, flags == 0 && id == uint32(d.owner.Index):
			return cudadrv.ErrInvalidValue
		case id >= uint32(len(d.devices)):
			return cudadrv.ErrInvalidDevice
		case flags == readWrite:
			peers |= 1 << id
		default:
			peers &^= 1 << id
		}
	}
	d.owner.Peers.Store(peers)
	return cudadrv.Success
}

func cuMemPoolTrimTo(d *Device, _ *memPool, a []uintptr) code {
	m := &d.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trim(uint64(a[1]))
	return cudadrv.Success
}
