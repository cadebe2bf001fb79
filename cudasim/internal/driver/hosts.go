package driver

import (
	"sync"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim/internal/memory"
)

const page = 4096

// pages makes zeroed memory that begins on a page, as pinned memory does.
func pages(n uint64) []byte {
	b := memory.AlignedBytes(n + page)
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
	h.base = d.space.MapHost(cudadrv.View(cudadrv.Addr(b)-odd, len(b)+int(odd)))
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
	_ = r.space.Free(h.base) // it is there: blocks says so
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
