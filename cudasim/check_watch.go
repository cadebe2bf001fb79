package cudasim

import (
	"fmt"
	"math/bits"
)

// accessKind is how an instruction touches memory.
type accessKind uint8

const (
	accessRead accessKind = iota
	accessWrite
	accessAtomic
	accessCopy // a write that lands later
)

// observe sees the accesses of lanes before they happen: n bytes each, at w.ofs in m.
func (b *block) observe(w *warp, in *inst, m *allocation, sp spaceKind, here uint32, n uint64, kind accessKind) status {
	if sp == spaceLocal || sp == spaceParam || here == 0 {
		return statusNext
	}
	if b.counts != nil {
		b.counts.access(w, m, sp, here, n, kind)
	}
	if b.run.checks&CheckRaces != 0 {
		if st := b.raced(w, in, m, sp, here, n, kind); st != statusNext {
			return st
		}
	}
	if b.run.checks&CheckUninitialised == 0 {
		if kind != accessRead && m.init != nil && !m.whole.Load() {
			m.whole.Store(true) // nobody looks during this launch; later ones are not to be misled
		}
		return statusNext
	}
	if m.init == nil || m.whole.Load() {
		return statusNext
	}
	for e := here; e != 0; e &= e - 1 {
		i := bits.TrailingZeros32(e) & 31
		switch kind {
		case accessWrite:
			m.mark(w.ofs[i], n)
		case accessRead, accessAtomic:
			if !m.written(w.ofs[i], n) {
				return w.badAddress(Uninitialised, in, i, sp, m.addr+w.ofs[i], n)
			}
		}
	}
	return statusNext
}

// badAddress is the fault of one lane's access.
func (w *warp) badAddress(kind FaultKind, in *inst, lane int, sp spaceKind, addr, n uint64) status {
	f := w.fault(kind, in, 1<<lane, "")
	f.Space, f.Address, f.Bytes = spaceNames[sp], addr, int(n)
	switch sp {
	case spaceGlobal:
		if a, ok := w.b.run.sp.find(addr); ok {
			f.Near = a.place(addr, n)
			if !a.opened(w.b.run.device) {
				f.Detail = fmt.Sprintf("device %d has no access to it", w.b.run.device.index)
			}
		} else if g, ok := w.b.run.sp.grave(addr); ok {
			f.Near = "in " + g.String() + ", which was freed"
			if kind == OutOfBounds {
				f.Kind = UseAfterFree
			}
		} else if a, ok := w.b.run.sp.nearest(addr); ok {
			f.Near = a.place(addr, n)
		}
	case spaceShared:
		f.Near = w.b.shared.place(addr, n)
	}
	w.b.fault = f
	return statusFault
}

// place says where n bytes at addr lie with respect to the allocation.
func (a *allocation) place(addr, n uint64) string {
	end := a.addr + a.size
	switch {
	case addr < a.addr:
		return fmt.Sprintf("%d bytes before %v", a.addr-addr, a)
	case addr >= end:
		return fmt.Sprintf("%d bytes after the end of %v", addr-end, a)
	case n > end-addr:
		return fmt.Sprintf("%d bytes over the end of %v", addr+n-end, a)
	}
	return fmt.Sprintf("at byte %d of %v", addr-a.addr, a)
}
