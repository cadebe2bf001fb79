package driver

import (
	"sync"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim/internal/memory"
)

const page = 4096

// pages returns zeroed memory that begins on a page, as pinned memory does.
func pages(n uint64) []byte {
	b := memory.AlignedBytes(n + page)
	off := -cudadrv.Addr(b) & (page - 1)
	return b[off:][:n:n]
}

// hosts is the host memory that kernels can access. All devices can access memory that one of them pins or registers.
type hosts struct {
	mu     sync.Mutex
	blocks map[uintptr]*hostBlock // by host address
}

// hostBlock is one range of host memory.
type hostBlock struct {
	handle     uintptr
	bytes      []byte // keeps the memory alive
	base       uint64 // address in the simulated address space
	device     uint64 // the device address of its first byte
	registered bool
}

// keep maps host memory into the address space of the devices, and counts it for device d. The caller holds m.mu.
func (m *hosts) keep(d *Device, b []byte, registered bool) {
	kind := kindHost
	if registered {
		kind = kindRegistered
	}
	odd := cudadrv.Addr(b) & 7 // the mapping begins at a multiple of 8
	h := &hostBlock{bytes: b, registered: registered}
	h.base = d.space.MapHost(cudadrv.View(cudadrv.Addr(b)-odd, len(b)+int(odd)))
	h.device = h.base + uint64(odd)
	h.handle = d.add(kind, h, int64(len(b)))
	m.blocks[cudadrv.Addr(b)] = h
}

// forget waits for the devices, and then unmaps the host memory at an address. It returns false if keep has not mapped such memory.
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
	_ = r.space.Free(h.base) // it exists, because blocks has it
	return true
}

// find returns the block that contains n bytes at a host address, or nil.
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
