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
)

// cell is who touched a byte last.
type cell struct{}

// checkState is what the checks know of a warp, checkBlock of a block.
type checkState struct{}

type checkBlock struct {
	watching bool // observe is to see every access
}

func (c *checkBlock) reset(b *block) {
	c.watching = b.run.checks != 0 || b.counts != nil
}

// observe sees the accesses of here, n bytes each, before they happen.
func (b *block) observe(w *warp, in *inst, m *allocation, sp spaceKind, here uint32, n uint64, kind accessKind) status {
	if b.run.checks&CheckUninitialised != 0 && sp != spaceLocal && sp != spaceParam {
		for e := here; e != 0; e &= e - 1 {
			i := bits.TrailingZeros32(e) & 31
			if kind == accessWrite {
				m.mark(w.ofs[i], n)
			} else if !m.written(w.ofs[i], n) {
				st := w.badAddress(Uninitialised, in, i, sp, m.addr+w.ofs[i], n, m)
				b.fault.Near = m.place(m.addr+w.ofs[i], n)
				return st
			}
		}
	}
	return statusNext
}

// place says where n bytes at addr lie with respect to the allocation.
func (a *allocation) place(addr, n uint64) string {
	switch {
	case addr < a.addr:
		return fmt.Sprintf("%d bytes before %v", a.addr-addr, a)
	case addr+n > a.addr+a.size:
		return fmt.Sprintf("%d bytes after the end of %v", addr+n-(a.addr+a.size), a)
	}
	return fmt.Sprintf("at byte %d of %v", addr-a.addr, a)
}

func (w *warp) synced(uint32)            {}
func (w *warp) fenced(uint32)            {}
func (w *warp) arrived(*barrier, uint32) {}
func (b *block) completed(*barrier)      {}
