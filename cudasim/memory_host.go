package cudasim

import (
	"sync"

	"github.com/robocache/robocache/cudadrv"
)

const page = 4096

// pages makes zeroed memory that begins on a page, as pinned memory does.
func pages(n uint64) []byte {
	b := alignedBytes(n + page)
	off := -cudadrv.Addr(b) & (page - 1)
	return b[off:][:n:n]
}

// hosts is the host memory that the devices know: what one pins or registers, all of them reach.
type hosts struct {
	mu     sync.Mutex
	blocks map[uintptr]*hostBlock // by address
}

// hostBlock is one piece of it.
type hostBlock struct {
	handle     uintptr
	bytes      []byte // keeps it alive
	base       uint64 // what the space calls it
	device     uint64 // the device address of its first byte
	registered bool
}

// keep makes host memory known to the devices. The caller holds m.mu, and names the device whose memory it counts as.
func (m *hosts) keep(d *Device, b []byte, registered bool) {
	kind := kindHost
	if registered {
		kind = kindRegistered
	}
	odd := cudadrv.Addr(b) & 7 // a device sees memory from a multiple of 8 on
	h := &hostBlock{bytes: b, registered: registered}
	h.base = d.space.mapHost(cudadrv.View(cudadrv.Addr(b)-odd, len(b)+int(odd)))
	h.device = h.base + uint64(odd)
	h.handle = d.add(kind, h, int64(len(b)))
	m.blocks[cudadrv.Addr(b)] = h
}

// forget waits for the devices and ends what keep began.
func (r *driver) forget(addr uintptr, registered bool) bool {
	for _, d := range r.devices {
		d.waitAll()
	}
	m := &r.hosts
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.blocks[addr]
	if h == nil || h.registered != registered {
		return false
	}
	delete(m.blocks, addr)
	r.drop(h.handle)
	_ = r.space.free(h.base) // it is there: blocks says so
	return true
}

// find gives the memory that holds n bytes at a host address.
func (m *hosts) find(addr, n uintptr) *hostBlock {
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.blocks[addr]; h != nil && n <= uintptr(len(h.bytes)) {
		return h
	}
	for base, h := range m.blocks {
		if addr >= base && n <= uintptr(len(h.bytes)) && addr-base <= uintptr(len(h.bytes))-n {
			return h
		}
	}
	return nil
}

// cuMemHostAlloc takes 0 bytes, unlike cuMemAlloc and as a real driver does: there is no memory then, at address 0.
func cuMemHostAlloc(d *Device, a []uintptr) code {
	if a[2]&^7 != 0 {
		return cudadrv.ErrInvalidValue
	}
	if a[1] == 0 {
		return put64(a[0], 0)
	}
	if uint64(a[1]) > d.memory.total { // host memory has a limit too; a real one's is the system's
		return cudadrv.ErrOutOfMemory
	}
	b := pages(uint64(a[1]))
	d.hosts.mu.Lock()
	defer d.hosts.mu.Unlock()
	d.hosts.keep(d, b, false)
	return put64(a[0], uint64(cudadrv.Addr(b)))
}

func cuMemFreeHost(d *Device, a []uintptr) code {
	if a[0] == 0 {
		return cudadrv.Success
	}
	if !d.forget(a[0], false) {
		return cudadrv.ErrInvalidValue
	}
	return d.lost()
}

func cuMemHostGetDevicePointer(d *Device, a []uintptr) code {
	if a[2] != 0 {
		return cudadrv.ErrInvalidValue
	}
	h := d.hosts.find(a[1], 1)
	if h == nil {
		return cudadrv.ErrInvalidValue
	}
	return put64(a[0], h.device+uint64(a[1]-cudadrv.Addr(h.bytes)))
}

func cuMemHostRegister(d *Device, a []uintptr) code {
	if a[0] == 0 || a[1] == 0 || a[2]&^15 != 0 {
		return cudadrv.ErrInvalidValue
	}
	m := &d.hosts
	m.mu.Lock()
	defer m.mu.Unlock()
	for base, h := range m.blocks {
		if a[0] < base+uintptr(len(h.bytes)) && base < a[0]+a[1] {
			return cudadrv.ErrAlreadyRegistered
		}
	}
	m.keep(d, cudadrv.View(a[0], int(a[1])), true)
	return cudadrv.Success
}

func cuMemHostUnregister(d *Device, a []uintptr) code {
	if a[0] == 0 {
		return cudadrv.ErrInvalidValue
	}
	if !d.forget(a[0], true) {
		return cudadrv.ErrNotRegistered
	}
	return d.lost()
}
