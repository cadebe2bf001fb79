package memory

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

const (
	globalBase = uint64(0x7f00_0000_0000) // the lowest address

	allocAlign = 512
	guardGap   = 4096 // unused bytes after an allocation
	graves     = 4096 // freed allocations that faults can name
)

// ErrNoMemory is the error of an allocation that does not fit.
var ErrNoMemory = errors.New("out of device memory")

var errNoAlloc = errors.New("not the address of an allocation")

// Space is the address space that all devices share. Its methods may be called from any goroutine.
// An address is never used twice, so that a use after free is found.
type Space struct {
	limit uint64

	mu   sync.Mutex
	next uint64
	used uint64
	list atomic.Pointer[[]*Allocation] // by address; replaced as a whole, never modified
	dead []*Allocation                 // by address, the oldest dropped first
}

// Allocation is one range of device memory. Init has a bit for each byte, set once a kernel or a copy has written the byte.
type Allocation struct {
	Addr, Size uint64
	Kind       string
	Data       []byte
	Init       []uint64    // nil: all bytes count as written
	Whole      atomic.Bool // all bytes count as written, and Init is ignored
	Freed      atomic.Bool
	Host       bool   // not counted against the limit
	Owner      *Owner // nil: every device may access it
	Pooled     bool   // from the owner's pool, which may be open to other devices
}

// Owner is the identity of a device in the space.
type Owner struct {
	Index   int           // the device's ordinal
	Several bool          // the driver has more devices
	Peers   atomic.Uint64 // the devices to which the pool is open, a bit for each
}

// New returns an empty space of limit bytes.
func New(limit uint64) *Space {
	s := &Space{limit: limit, next: globalBase}
	s.list.Store(&[]*Allocation{})
	return s
}

// Alloc allocates size bytes, aligned to 512, which count as never written. A size of zero is an error.
func (s *Space) Alloc(size uint64, kind string) (uint64, error) {
	return s.AllocFor(nil, false, size, kind)
}

// AllocFor is Alloc for one device's memory. If pooled is set, the memory is from the device's pool, which may be open to other
// devices.
func (s *Space) AllocFor(owner *Owner, pooled bool, size uint64, kind string) (uint64, error) {
	if size == 0 || size > 1<<46 {
		return 0, fmt.Errorf("allocation of %d bytes: %w", size, ErrNoMemory)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+size > s.limit {
		return 0, fmt.Errorf("%d bytes wanted, %d of %d in use: %w", size, s.used, s.limit, ErrNoMemory)
	}
	a := &Allocation{Size: size, Kind: kind, Data: AlignedBytes(size), Init: make([]uint64, (size+63)/64), Owner: owner, Pooled: pooled}
	s.used += size
	s.place(a)
	return a.Addr, nil
}

// MapHost maps b, so that kernels can access it. The caller keeps b alive until it frees the address. b must be aligned to 8.
func (s *Space) MapHost(b []byte) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &Allocation{Size: uint64(len(b)), Kind: "host", Data: b, Host: true}
	s.place(a)
	return a.Addr
}

// Adopt maps the memory of another space at an address in this one, for a device. Writes are not recorded: all bytes count as
// written.
func (s *Space) Adopt(of *Allocation, by *Owner) *Allocation {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := &Allocation{Size: of.Size, Kind: "another process's", Data: of.Data, Host: true, Owner: by}
	s.place(a)
	return a
}

// place assigns an address to a; s.mu is held.
func (s *Space) place(a *Allocation) {
	a.Addr = s.next
	s.next = (s.next + a.Size + guardGap + allocAlign - 1) / allocAlign * allocAlign
	list := append(slices.Clone(*s.list.Load()), a) // the newest address is the highest
	s.list.Store(&list)
}

// Free ends an allocation. addr must be an address from Alloc, MapHost or Adopt.
func (s *Space) Free(addr uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := *s.list.Load()
	i, ok := search(list, addr)
	if !ok || list[i].Addr != addr {
		return fmt.Errorf("%#x: %w", addr, errNoAlloc)
	}
	a := list[i]
	list = slices.Delete(slices.Clone(list), i, i+1)
	s.list.Store(&list)
	a.Freed.Store(true)
	a.Data, a.Init = []byte{}, nil
	if !a.Host {
		s.used -= a.Size
	}
	s.dead = append(s.dead, a)
	if len(s.dead) > graves {
		s.dead = slices.Delete(s.dead, 0, 1)
	}
	return nil
}

// search returns the index of the last allocation that begins at or before addr. It returns false if there is none.
func search(list []*Allocation, addr uint64) (int, bool) {
	lo, hi := 0, len(list)
	for lo < hi {
		m := (lo + hi) / 2
		if list[m].Addr <= addr {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo - 1, lo > 0
}

// Find returns the live allocation that contains addr, or false if there is none.
func (s *Space) Find(addr uint64) (*Allocation, bool) {
	list := *s.list.Load()
	if i, ok := search(list, addr); ok && addr-list[i].Addr < list[i].Size {
		return list[i], true
	}
	return nil, false
}

// Grave returns the freed allocation that contained addr, or false if none did or it was forgotten.
func (s *Space) Grave(addr uint64) (*Allocation, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range slices.Backward(s.dead) {
		if addr-a.Addr < a.Size {
			return a, true
		}
	}
	return nil, false
}

// Nearest returns the live allocation closest to addr, if there is any.
func (s *Space) Nearest(addr uint64) (*Allocation, bool) {
	list := *s.list.Load()
	if len(list) == 0 {
		return nil, false
	}
	i, ok := search(list, addr)
	if !ok {
		return list[0], true
	}
	before := list[i]
	if i+1 < len(list) && list[i+1].Addr-addr < addr-(before.Addr+before.Size-1) {
		return list[i+1], true
	}
	return before, true
}

// Bytes returns n bytes of device memory, which must lie in one allocation. If write is set, they count as written from then on.
// The slice is valid until the allocation is freed.
func (s *Space) Bytes(addr, n uint64, write bool) ([]byte, error) {
	a, ok := s.Find(addr)
	if !ok || n > a.Size-(addr-a.Addr) {
		return nil, s.outside(addr, n)
	}
	off := addr - a.Addr
	if write {
		a.Mark(off, n)
	}
	return a.Data[off : off+n : off+n], nil
}

// outside returns the error for n bytes at addr that do not lie in one allocation.
func (s *Space) outside(addr, n uint64) error {
	if g, ok := s.Grave(addr); ok {
		return fmt.Errorf("%d bytes at %#x: use after free of %v", n, addr, g)
	}
	if a, ok := s.Nearest(addr); ok {
		return fmt.Errorf("%d bytes at %#x: outside of %v", n, addr, a)
	}
	return fmt.Errorf("%d bytes at %#x: nothing is allocated", n, addr)
}

// Move copies n bytes within the device, as memmove does. The destination takes over which bytes were written.
func (s *Space) Move(dst, src, n uint64) error {
	from, err := s.Bytes(src, n, false)
	if err != nil {
		return err
	}
	to, err := s.Bytes(dst, n, false)
	if err != nil {
		return err
	}
	a, _ := s.Find(src)
	b, _ := s.Find(dst)
	if a.Written(src-a.Addr, n) {
		copy(to, from)
		b.Mark(dst-b.Addr, n)
		return nil
	}
	known := make([]bool, n)
	for i := range known {
		known[i] = a.Written(src-a.Addr+uint64(i), 1)
	}
	copy(to, from)
	for i, k := range known {
		if k {
			b.Mark(dst-b.Addr+uint64(i), 1)
		} else {
			b.unmark(dst - b.Addr + uint64(i))
		}
	}
	return nil
}

// Opened reports whether a device may access the allocation.
func (a *Allocation) Opened(to *Owner) bool {
	return a.Owner == nil || a.Owner == to || a.Pooled && a.Owner.Peers.Load()>>to.Index&1 != 0
}

func (a *Allocation) String() string {
	if a.Owner != nil && a.Owner.Several {
		return fmt.Sprintf("the %d bytes of %s memory of device %d at %#x", a.Size, a.Kind, a.Owner.Index, a.Addr)
	}
	return fmt.Sprintf("the %d bytes of %s memory at %#x", a.Size, a.Kind, a.Addr)
}

// Mark records that the n bytes at off were written.
func (a *Allocation) Mark(off, n uint64) {
	if a.Init == nil || a.Whole.Load() {
		return
	}
	if n == a.Size {
		a.Whole.Store(true)
		return
	}
	for n > 0 {
		word, bit := off/64, off%64
		k := min(n, 64-bit)
		m := (^uint64(0) >> (64 - k)) << bit
		if w := &a.Init[word]; atomic.LoadUint64(w)&m != m {
			atomic.OrUint64(w, m)
		}
		off, n = off+k, n-k
	}
}

// MarkAll records that all bytes were written, for a launch without that check. Else a later, checked launch would report false faults.
func (a *Allocation) MarkAll() {
	if a.Init != nil && !a.Whole.Load() {
		a.Whole.Store(true)
	}
}

// unmark records that the byte at off was not written.
func (a *Allocation) unmark(off uint64) {
	if a.Init == nil {
		return
	}
	if a.Whole.Load() {
		for i := range a.Init {
			atomic.StoreUint64(&a.Init[i], ^uint64(0))
		}
		a.Whole.Store(false)
	}
	atomic.AndUint64(&a.Init[off/64], ^(uint64(1) << (off % 64)))
}

// Written reports whether each of the n bytes at off was written.
func (a *Allocation) Written(off, n uint64) bool {
	if a.Init == nil || a.Whole.Load() {
		return true
	}
	for n > 0 {
		word, bit := off/64, off%64
		k := min(n, 64-bit)
		m := (^uint64(0) >> (64 - k)) << bit
		if atomic.LoadUint64(&a.Init[word])&m != m {
			return false
		}
		off, n = off+k, n-k
	}
	return true
}

// Where describes the place of n bytes at addr, in the allocation or next to it, for the report of a fault.
func (a *Allocation) Where(addr, n uint64) string {
	end := a.Addr + a.Size
	switch {
	case addr < a.Addr:
		return fmt.Sprintf("%d bytes before %v", a.Addr-addr, a)
	case addr >= end:
		return fmt.Sprintf("%d bytes after the end of %v", addr-end, a)
	case n > end-addr:
		return fmt.Sprintf("%d bytes over the end of %v", addr+n-end, a)
	}
	return fmt.Sprintf("at byte %d of %v", addr-a.Addr, a)
}
