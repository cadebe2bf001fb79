package cudasim

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// The device's addresses. Global memory begins at globalBase; the windows through which a generic address reaches a
// block's shared memory, a thread's local memory and a kernel's parameters lie below it.
const (
	sharedWindow = uint64(0x0a_0000_0000)
	localWindow  = uint64(0x0b_0000_0000)
	paramWindow  = uint64(0x0c_0000_0000)
	windowSize   = uint64(1 << 24)
	globalBase   = uint64(0x7f00_0000_0000)

	// A block's shared memory begins behind what the system keeps of it, as on Hopper: so an offset that is taken for an address shows.
	sharedBase = uint64(blockReserved)

	allocAlign = 512
	guardGap   = 4096 // nothing lies this close behind an allocation
	graves     = 4096 // freed allocations that are remembered
)

var (
	errNoMemory = errors.New("out of device memory")
	errNoAlloc  = errors.New("not the address of an allocation")
)

// space is the device's one address space. Its methods may be called from any goroutine.
// An address is never given out twice, so that a use after free is found.
type space struct {
	limit  uint64
	stacks atomic.Bool // new allocations record who made them

	mu   sync.Mutex
	next uint64
	used uint64
	list atomic.Pointer[[]*allocation] // by address; replaced, never changed
	dead []*allocation                 // by address, the oldest dropped first

	cells cellPool // of the launch that runs: there is one at a time
}

// allocation is one piece of device memory. What a kernel or a copy has written is marked in init, a bit for each byte.
type allocation struct {
	addr, size uint64
	kind       string
	data       []byte
	init       []uint64    // nil: all of it counts as written
	whole      atomic.Bool // all of it was written, whatever init says
	freed      atomic.Bool
	host       bool    // not counted against the limit
	owner      *Device // nil: every device reaches it
	pooled     bool    // of the owner's pool, which may be open to others
	stack      []uintptr
}

func newSpace(limit uint64) *space {
	s := &space{limit: limit, next: globalBase}
	s.list.Store(&[]*allocation{})
	return s
}

// alloc gives size bytes, aligned to 512, whose contents count as never written. A size of zero is an error.
func (s *space) alloc(size uint64, kind string) (uint64, error) {
	return s.allocFor(nil, false, size, kind)
}

// allocFor is alloc for the memory of a device, of its pool or not.
func (s *space) allocFor(owner *Device, pooled bool, size uint64, kind string) (uint64, error) {
	if size == 0 || size > 1<<46 {
		return 0, fmt.Errorf("allocation of %d bytes: %w", size, errNoMemory)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+size > s.limit {
		return 0, fmt.Errorf("%d bytes wanted, %d of %d in use: %w", size, s.used, s.limit, errNoMemory)
	}
	a := &allocation{size: size, kind: kind, data: alignedBytes(size), init: make([]uint64, (size+63)/64), owner: owner, pooled: pooled}
	s.used += size
	s.place(a)
	return a.addr, nil
}

// mapHost lets kernels reach b, which the caller keeps alive until it frees the address. b must be aligned to 8.
func (s *space) mapHost(b []byte) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &allocation{size: uint64(len(b)), kind: "host", data: b, host: true}
	s.place(a)
	return a.addr
}

// place gives a an address; s.mu is held.
func (s *space) place(a *allocation) {
	a.addr = s.next
	s.next = (s.next + a.size + guardGap + allocAlign - 1) / allocAlign * allocAlign
	if s.stacks.Load() {
		a.stack = make([]uintptr, 32)
		a.stack = a.stack[:runtime.Callers(3, a.stack)]
	}
	list := append(slices.Clone(*s.list.Load()), a) // the newest address is the highest
	s.list.Store(&list)
}

// free ends an allocation. addr must be what alloc or mapHost gave.
func (s *space) free(addr uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := *s.list.Load()
	i, ok := search(list, addr)
	if !ok || list[i].addr != addr {
		return fmt.Errorf("%#x: %w", addr, errNoAlloc)
	}
	a := list[i]
	list = slices.Delete(slices.Clone(list), i, i+1)
	s.list.Store(&list)
	a.freed.Store(true)
	a.data, a.init = []byte{}, nil
	if !a.host {
		s.used -= a.size
	}
	s.dead = append(s.dead, a)
	if len(s.dead) > graves {
		s.dead = slices.Delete(s.dead, 0, 1)
	}
	return nil
}

// search finds the last allocation that begins at or before addr.
func search(list []*allocation, addr uint64) (int, bool) {
	lo, hi := 0, len(list)
	for lo < hi {
		m := (lo + hi) / 2
		if list[m].addr <= addr {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo - 1, lo > 0
}

// find returns the live allocation that holds addr.
func (s *space) find(addr uint64) (*allocation, bool) {
	list := *s.list.Load()
	if i, ok := search(list, addr); ok && addr-list[i].addr < list[i].size {
		return list[i], true
	}
	return nil, false
}

// grave returns the freed allocation that held addr.
func (s *space) grave(addr uint64) (*allocation, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range slices.Backward(s.dead) {
		if addr-a.addr < a.size {
			return a, true
		}
	}
	return nil, false
}

// nearest returns the live allocation closest to addr, if there is any.
func (s *space) nearest(addr uint64) (*allocation, bool) {
	list := *s.list.Load()
	if len(list) == 0 {
		return nil, false
	}
	i, ok := search(list, addr)
	if !ok {
		return list[0], true
	}
	before := list[i]
	if i+1 < len(list) && list[i+1].addr-addr < addr-(before.addr+before.size-1) {
		return list[i+1], true
	}
	return before, true
}

// bytes gives the host's side of n bytes of device memory, all in one allocation. With write they count as written from
// then on. The slice is good until the allocation is freed.
func (s *space) bytes(addr, n uint64, write bool) ([]byte, error) {
	a, ok := s.find(addr)
	if !ok || n > a.size-(addr-a.addr) {
		return nil, s.outside(addr, n)
	}
	off := addr - a.addr
	if write {
		a.mark(off, n)
	}
	return a.data[off : off+n : off+n], nil
}

// outside is the error for n bytes at addr that are not in one allocation.
func (s *space) outside(addr, n uint64) error {
	if g, ok := s.grave(addr); ok {
		return fmt.Errorf("%d bytes at %#x: use after free of %v", n, addr, g)
	}
	if a, ok := s.nearest(addr); ok {
		return fmt.Errorf("%d bytes at %#x: outside of %v", n, addr, a)
	}
	return fmt.Errorf("%d bytes at %#x: nothing is allocated", n, addr)
}

// move copies n bytes within the device, as memmove does, with what is known of their having been written.
func (s *space) move(dst, src, n uint64) error {
	from, err := s.bytes(src, n, false)
	if err != nil {
		return err
	}
	to, err := s.bytes(dst, n, false)
	if err != nil {
		return err
	}
	a, _ := s.find(src)
	b, _ := s.find(dst)
	if a.written(src-a.addr, n) {
		copy(to, from)
		b.mark(dst-b.addr, n)
		return nil
	}
	known := make([]bool, n)
	for i := range known {
		known[i] = a.written(src-a.addr+uint64(i), 1)
	}
	copy(to, from)
	for i, k := range known {
		if k {
			b.mark(dst-b.addr+uint64(i), 1)
		} else {
			b.unmark(dst - b.addr + uint64(i))
		}
	}
	return nil
}

// opened reports whether a device reaches the allocation.
func (a *allocation) opened(to *Device) bool {
	return a.owner == nil || a.owner == to || a.pooled && a.owner.memory.peers.Load()>>to.index&1 != 0
}

func (a *allocation) String() string {
	if a.owner != nil && len(a.owner.devices) > 1 {
		return fmt.Sprintf("the %d bytes of %s memory of device %d at %#x", a.size, a.kind, a.owner.index, a.addr)
	}
	return fmt.Sprintf("the %d bytes of %s memory at %#x", a.size, a.kind, a.addr)
}

// mark notes that the n bytes at off were written.
func (a *allocation) mark(off, n uint64) {
	if a.init == nil || a.whole.Load() {
		return
	}
	if n == a.size {
		a.whole.Store(true)
		return
	}
	for n > 0 {
		word, bit := off/64, off%64
		k := min(n, 64-bit)
		m := (^uint64(0) >> (64 - k)) << bit
		if w := &a.init[word]; atomic.LoadUint64(w)&m != m {
			atomic.OrUint64(w, m)
		}
		off, n = off+k, n-k
	}
}

// unmark notes that the byte at off holds nothing that was written.
func (a *allocation) unmark(off uint64) {
	if a.init == nil {
		return
	}
	if a.whole.Load() {
		for i := range a.init {
			atomic.StoreUint64(&a.init[i], ^uint64(0))
		}
		a.whole.Store(false)
	}
	atomic.AndUint64(&a.init[off/64], ^(uint64(1) << (off % 64)))
}

// written reports whether each of the n bytes at off was written.
func (a *allocation) written(off, n uint64) bool {
	if a.init == nil || a.whole.Load() {
		return true
	}
	for n > 0 {
		word, bit := off/64, off%64
		k := min(n, 64-bit)
		m := (^uint64(0) >> (64 - k)) << bit
		if atomic.LoadUint64(&a.init[word])&m != m {
			return false
		}
		off, n = off+k, n-k
	}
	return true
}
