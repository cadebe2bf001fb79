package cudasim

import (
	"encoding/binary"
	"sync"
	"sync/atomic"

	"github.com/robocache/robocache/cudadrv"
)

// memory counts what is allocated, and keeps the pool's books. The pool's cache is a number only: addresses are never
// given out twice.
type memory struct {
	d         *Device
	total     uint64
	pool      uintptr // handle
	mu        sync.Mutex
	used      uint64 // of the pool
	cached    uint64 // held by the pool, and in nobody's use
	unpooled  uint64 // of cuMemAlloc
	usedHigh  uint64
	heldHigh  uint64
	threshold uint64
	blocks    map[uint64]*holding // by address, of every kind
	peers     atomic.Uint64       // the devices that the pool is open to, a bit for each
	adopted   map[uint64]uintptr  // handles of what lies in another driver's memory, by address
}

// holding is device memory that was given out.
type holding struct {
	handle  uintptr
	size    uint64
	pooled  bool
	freeing bool // a free of it is queued
}

type memPool struct{}

func (m *memory) init(d *Device) {
	m.d, m.total = d, d.cfg.memory()
	m.blocks = map[uint64]*holding{}
	m.pool = d.add(kindInner, &memPool{}, 0)
}

func (c Config) memory() uint64 {
	if c.Memory > 0 {
		return c.Memory
	}
	return defaultMemory
}

// get allocates n bytes, from the pool or not. Before it gives up it waits for what is queued: frees may be among it.
func (m *memory) get(n uint64, pooled bool) (uint64, code) {
	addr, c := m.take(n, pooled)
	if c == cudadrv.ErrOutOfMemory && n <= m.total {
		m.d.waitAll()
		return m.take(n, pooled)
	}
	return addr, c
}

func (m *memory) take(n uint64, pooled bool) (uint64, code) {
	if n == 0 {
		return 0, cudadrv.ErrInvalidValue
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	inUse := m.used + m.unpooled
	if n > m.total || inUse > m.total-n {
		return 0, cudadrv.ErrOutOfMemory
	}
	addr, err := m.d.space.allocFor(m.d, pooled, n, "device")
	if err != nil {
		return 0, cudadrv.ErrOutOfMemory
	}
	b := &holding{size: n, pooled: pooled}
	b.handle = m.d.add(kindMemory, b, int64(n))
	m.blocks[addr] = b
	if pooled {
		m.used += n
		m.cached -= min(n, m.cached)
		m.usedHigh = max(m.usedHigh, m.used)
	} else {
		m.unpooled += n
	}
	m.cached = min(m.cached, m.total-m.used-m.unpooled)
	m.heldHigh = max(m.heldHigh, m.used+m.cached)
	return addr, cudadrv.Success
}

// release ends an allocation now.
func (m *memory) release(addr uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.blocks[addr]
	if b == nil {
		return
	}
	delete(m.blocks, addr)
	m.d.drop(b.handle)
	if b.pooled {
		m.used -= b.size
		m.cached += b.size
	} else {
		m.unpooled -= b.size
	}
	_ = m.d.space.free(addr) // it is there: blocks says so
}

// synchronised is what the pool does at a synchronisation: it keeps no more than its threshold.
func (m *memory) synchronised() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trim(m.threshold)
}

func (m *memory) trim(keep uint64) {
	if held := m.used + m.cached; held > keep {
		m.cached -= min(m.cached, held-keep)
	}
}

// claim marks the block at an address as being freed.
func (m *memory) claim(addr uint64) code {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.blocks[addr]
	if b == nil || b.freeing {
		return cudadrv.ErrInvalidValue
	}
	b.freeing = true
	return cudadrv.Success
}

// usable reports whether n bytes of device or mapped host memory are there for the device, in one piece whose free is not queued.
func (m *memory) usable(addr, n uint64) bool {
	a, ok := m.d.space.find(addr)
	if !ok || n > a.size-(addr-a.addr) || !a.opened(m.d) {
		return false
	}
	if a.owner == nil {
		return true
	}
	m = &a.owner.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.blocks[a.addr]
	return b == nil || !b.freeing
}

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
	if m, ok := d.space.find(addr); ok && m.owner != nil {
		d = m.owner
	}
	if c := d.memory.claim(addr); c != cudadrv.Success {
		return c
	}
	d.waitAll()
	d.memory.release(addr)
	return d.lost()
}

func cuMemAllocAsync(d *Device, a []uintptr) code {
	s, ok := lookup[*stream](d, a[2])
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
	if c := s.uncaptured(); c != cudadrv.Success {
		return c
	}
	addr, c := d.memory.get(uint64(a[1]), true)
	if c != cudadrv.Success {
		return c
	}
	return put64(a[0], addr)
}

// cuMemFreeAsync frees when the stream gets there. Work that names the memory is refused from the call on.
func cuMemFreeAsync(d *Device, a []uintptr) code {
	s, ok := lookup[*stream](d, a[1])
	if !ok {
		return cudadrv.ErrInvalidHandle
	}
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
	return d.onDevice(a[1], func() code { return put64(a[0], uint64(d.memory.pool)) })
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

func cuMemPoolSetAttribute(d *Device, a []uintptr) code {
	if _, ok := lookup[*memPool](d, a[0]); !ok || a[2] == 0 {
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

func cuMemPoolGetAttribute(d *Device, a []uintptr) code {
	if _, ok := lookup[*memPool](d, a[0]); !ok {
		return cudadrv.ErrInvalidValue
	}
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

// cuMemPoolSetAccess opens the pool to devices, or closes it: to its own it is always open.
func cuMemPoolSetAccess(d *Device, a []uintptr) code {
	if _, ok := lookup[*memPool](d, a[0]); !ok || a[2] > 0 && a[1] == 0 {
		return cudadrv.ErrInvalidValue
	}
	const descriptorBytes, onDevice, readWrite = 12, 1, 3
	peers := d.memory.peers.Load()
	for i := range a[2] {
		b := cudadrv.View(a[1]+i*descriptorBytes, descriptorBytes)
		u := func(at int) uint32 { return binary.NativeEndian.Uint32(b[at:]) }
		switch id, flags := u(4), u(8); {
		case u(0) != onDevice || flags != 0 && flags != readWrite, flags == 0 && id == uint32(d.index):
			return cudadrv.ErrInvalidValue
		case id >= uint32(len(d.devices)):
			return cudadrv.ErrInvalidDevice
		case flags == readWrite:
			peers |= 1 << id
		default:
			peers &^= 1 << id
		}
	}
	d.memory.peers.Store(peers)
	return cudadrv.Success
}

func cuMemPoolTrimTo(d *Device, a []uintptr) code {
	if _, ok := lookup[*memPool](d, a[0]); !ok {
		return cudadrv.ErrInvalidValue
	}
	m := &d.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trim(uint64(a[1]))
	return cudadrv.Success
}
