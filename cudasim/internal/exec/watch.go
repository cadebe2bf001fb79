package exec

import (
	"math/bits"

	"github.com/robocache/robocache/cudasim/internal/memory"
	"github.com/robocache/robocache/cudasim/report"
)

// observe runs the checks on the accesses of lanes before they happen: n bytes for each lane, at w.ofs in m.
func (b *block) observe(w *Warp, in *Inst, m *memory.Allocation, sp SpaceKind, here uint32, n uint64, kind accessKind) Status {
	if sp == SpaceLocal || sp == SpaceParam || here == 0 {
		return StatusNext
	}
	if b.counts != nil {
		b.counts.access(w, m, sp, here, n, kind)
	}
	if b.run.checks&report.CheckRaces != 0 {
		if st := b.raced(w, in, m, sp, here, n, kind); st != StatusNext {
			return st
		}
	}
	if b.run.checks&report.CheckUninitialised == 0 {
		if kind != accessRead {
			m.MarkAll()
		}
		return StatusNext
	}
	if m.Init == nil || m.Whole.Load() {
		return StatusNext
	}
	for e := here; e != 0; e &= e - 1 {
		i := bits.TrailingZeros32(e) & 31
		switch kind {
		case accessWrite:
			m.Mark(w.ofs[i], n)
		case accessRead, accessAtomic:
			if !m.Written(w.ofs[i], n) {
				return w.badAddress(report.Uninitialised, in, i, sp, m.Addr+w.ofs[i], n)
			}
		}
	}
	return StatusNext
}
