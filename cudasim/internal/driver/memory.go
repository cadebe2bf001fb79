package driver

import (
	"sync"

	"github.com/robocache/robocache/cudadrv"
)

// deviceMemory counts a device's allocations and the bytes of its memory pool. The pool's cache is only a number, because an address
// is never used twice.
type deviceMemory struct {
	d         *Device
	total     uint64
	pool      uintptr // handle
	mu        sync.Mutex
	used      uint64 // bytes in use from the pool
	cached    uint64 // bytes that the pool keeps for later allocations
	unpooled  uint64 // bytes from cuMemAlloc, which are in no pool
	usedHigh  uint64
	heldHigh  uint64
	threshold uint64
	blocks    map[uint64]*holding // allocations of every kind, by address
	adopted   map[uint64]uintptr  // handles of another driver's memory, by address
}

// holding is an allocation that a program has not freed.
type holding struct {
	handle  uintptr
	size    uint64
	pooled  bool
	freeing bool // its free is queued on a stream
}

type memPool struct{}

func (m *deviceMemory) init(d *Device) {
	m.d, m.total = d, d.cfg.memory()
	m.blocks = map[uint64]*holding{}
	m.pool = d.add(kindInner, &memPool{}, 0)
}

// get allocates n bytes, from the pool if pooled is set. If too little memory is free, it first waits for queued work, because that
// may free some.
func (m *deviceMemory) get(n uint64, pooled bool) (uint64, code) {
	addr, c := m.take(n, pooled)
	if c == cudadrv.ErrOutOfMemory && n <= m.total {
		m.d.waitAll()
		return m.take(n, pooled)
	}
	return addr, c
}

func (m *deviceMemory) take(n uint64, pooled bool) (uint64, code) {
	if n == 0 {
		return 0, cudadrv.ErrInvalidValue
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	inUse := m.used + m.unpooled
	if n > m.total || inUse > m.total-n {
		return 0, cudadrv.ErrOutOfMemory
	}
	addr, err := m.d.space.AllocFor(&m.d.owner, pooled, n, "device")
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

// release ends an allocation at once.
func (m *deviceMemory) release(addr uint64) {
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
	_ = m.d.space.Free(addr) // it exists, because blocks has it
}

// synchronised trims the pool to its threshold, as each synchronisation does.
func (m *deviceMemory) synchronised() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trim(m.threshold)
}

func (m *deviceMemory) trim(keep uint64) {
	if held := m.used + m.cached; held > keep {
		m.cached -= min(m.cached, held-keep)
	}
}

// claim marks the allocation at an address as being freed. It returns an error if there is no such allocation, or it is being freed
// already.
func (m *deviceMemory) claim(addr uint64) code {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.blocks[addr]
	if b == nil || b.freeing {
		return cudadrv.ErrInvalidValue
	}
	b.freeing = true
	return cudadrv.Success
}

// usable reports whether n bytes at an address lie in one allocation that is not being freed.
func (m *deviceMemory) usable(addr, n uint64) bool {
	a, ok := m.d.space.Find(addr)
	if !ok || n > a.Size-(addr-a.Addr) || !a.Opened(&m.d.owner) {
		return false
	}
	if a.Owner == nil {
		return true
	}
	m = &m.d.devices[a.Owner.Index].memory
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.blocks[a.Addr]
	return b == nil || !b.freeing
}
