package cudasim

import (
	"encoding/binary"
	"sync"

	"github.com/robocache/robocache/cudadrv"
)

// exports is the memory that drivers have shown each other, by the number in its handle. Devices of other drivers stand for those of other processes:
// to each the memory has an address of its own, as it has there.
var exports struct {
	mu   sync.Mutex
	last uint64
	list map[uint64]*allocation // of any driver
}

// cuIpcGetMemHandle writes a handle of memory that did not come from a pool.
func cuIpcGetMemHandle(d *Device, a []uintptr) code {
	m, ok := d.space.find(uint64(a[1]))
	if !ok || a[0] == 0 || m.owner != d || m.pooled || m.host || m.addr != uint64(a[1]) {
		return cudadrv.ErrInvalidValue
	}
	exports.mu.Lock()
	defer exports.mu.Unlock()
	for number, other := range exports.list {
		if other.freed.Load() {
			delete(exports.list, number)
		}
	}
	exports.last++
	if exports.list == nil {
		exports.list = map[uint64]*allocation{}
	}
	exports.list[exports.last] = m
	b := cudadrv.View(a[0], cudadrv.HandleBytes)
	clear(b)
	copy(b[8:], "simulated")
	binary.NativeEndian.PutUint64(b, exports.last)
	return cudadrv.Success
}

// cuIpcOpenMemHandle gives the memory an address here. As a real one it refuses a handle of the same driver.
func cuIpcOpenMemHandle(d *Device, a []uintptr) code {
	const enablePeerAccess = 1
	b := cudadrv.View(a[1], cudadrv.HandleBytes)
	if a[0] == 0 || b == nil || a[2] != enablePeerAccess {
		return cudadrv.ErrInvalidValue
	}
	exports.mu.Lock()
	m := exports.list[binary.NativeEndian.Uint64(b)]
	exports.mu.Unlock()
	if m == nil || m.freed.Load() {
		return cudadrv.ErrInvalidValue
	}
	if m.owner.driver == d.driver {
		return cudadrv.ErrInvalidContext
	}
	return put64(a[0], d.memory.adopt(m))
}

// adopt places the memory of another driver. What was written there is not followed: all of it counts as written.
func (m *memory) adopt(of *allocation) uint64 {
	s := m.d.space
	s.mu.Lock()
	here := &allocation{size: of.size, kind: "another process's", data: of.data, host: true, owner: m.d}
	s.place(here)
	s.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.adopted == nil {
		m.adopted = map[uint64]uintptr{}
	}
	m.adopted[here.addr] = m.d.add(kindMemory, here, int64(of.size))
	return here.addr
}

// cuIpcCloseMemHandle waits for the device, as the driver does.
func cuIpcCloseMemHandle(d *Device, a []uintptr) code {
	m := &d.memory
	m.mu.Lock()
	handle, ok := m.adopted[uint64(a[0])]
	delete(m.adopted, uint64(a[0]))
	m.mu.Unlock()
	if !ok {
		return cudadrv.ErrInvalidValue
	}
	d.waitAll()
	d.drop(handle)
	_ = d.space.free(uint64(a[0])) // it is there: adopted says so
	return d.lost()
}
