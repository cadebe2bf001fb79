package driver

import (
	"encoding/binary"
	"sync"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim/internal/memory"
)

// exports is the memory that drivers have exported, by the number in its handle. A second driver takes the part of a second
// process: it maps the memory at an address of its own.
var exports struct {
	mu   sync.Mutex
	last uint64
	list map[uint64]export
}

// export is exported memory.
type export struct {
	of *memory.Allocation
	by *driver
}

// cuIpcGetMemHandle writes a handle of memory that is not from a pool.
func cuIpcGetMemHandle(d *Device, a []uintptr) code {
	m, ok := d.space.Find(uint64(a[1]))
	if !ok || a[0] == 0 || m.Owner != &d.owner || m.Pooled || m.Host || m.Addr != uint64(a[1]) {
		return cudadrv.ErrInvalidValue
	}
	exports.mu.Lock()
	defer exports.mu.Unlock()
	for number, other := range exports.list {
		if other.of.Freed.Load() {
			delete(exports.list, number)
		}
	}
	exports.last++
	if exports.list == nil {
		exports.list = map[uint64]export{}
	}
	exports.list[exports.last] = export{m, d.driver}
	b := cudadrv.View(a[0], cudadrv.HandleBytes)
	clear(b)
	copy(b[8:], "simulated")
	binary.NativeEndian.PutUint64(b, exports.last)
	return cudadrv.Success
}

// cuIpcOpenMemHandle maps the memory at an address here. As a real driver does, it refuses a handle of the same driver.
func cuIpcOpenMemHandle(d *Device, a []uintptr) code {
	const enablePeerAccess = 1
	b := cudadrv.View(a[1], cudadrv.HandleBytes)
	if a[0] == 0 || b == nil || a[2] != enablePeerAccess {
		return cudadrv.ErrInvalidValue
	}
	exports.mu.Lock()
	m, ok := exports.list[binary.NativeEndian.Uint64(b)]
	exports.mu.Unlock()
	if !ok || m.of.Freed.Load() {
		return cudadrv.ErrInvalidValue
	}
	if m.by == d.driver {
		return cudadrv.ErrInvalidContext
	}
	return put64(a[0], d.memory.adopt(m.of))
}

// adopt maps the memory of another driver here, and adds a handle for it.
func (m *deviceMemory) adopt(of *memory.Allocation) uint64 {
	here := m.d.space.Adopt(of, &m.d.owner)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.adopted == nil {
		m.adopted = map[uint64]uintptr{}
	}
	m.adopted[here.Addr] = m.d.add(kindMemory, here, int64(of.Size))
	return here.Addr
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
	_ = d.space.Free(uint64(a[0])) // it exists, because adopted has it
	return d.lost()
}
