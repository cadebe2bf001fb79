package exec

import (
	"fmt"
	"math/bits"

	"github.com/robocache/robocache/cudasim/internal/memory"
	"github.com/robocache/robocache/cudasim/report"
)

// land copies the bytes and counts them as complete at the mbarrier.
func (p *bulkCopy) land(b *block) {
	copy(p.dst, p.src)
	p.to.Mark(p.off, uint64(len(p.dst)))
	if p.bar != ^uint64(0) {
		m := readMbar(b, p.bar)
		m.tx -= int64(len(p.dst))
		m.settle()
		m.write(b, p.bar)
	}
}

// landBulk lands the copies for which match returns true.
func (b *block) landBulk(match func(p *bulkCopy) bool) {
	kept := b.bulk[:0]
	for _, p := range b.bulk {
		if match(&p) {
			p.land(b)
		} else {
			kept = append(kept, p)
		}
	}
	b.bulk = kept
}

// CommitBulk executes cp.async.bulk.commit_group.
func CommitBulk(w *Warp, _ *Inst, exec uint32) Status {
	for ; exec != 0; exec &= exec - 1 {
		w.bulkOpen[bits.TrailingZeros32(exec)&31]++
	}
	return StatusNext
}

// WaitBulk returns the step that waits for all but the last keep groups of bulk copies.
func WaitBulk(keep uint64) Step {
	return func(w *Warp, _ *Inst, exec uint32) Status {
		w.b.landBulk(func(p *bulkCopy) bool {
			return p.warp == w.index && exec>>p.lane&1 != 0 && p.bar == ^uint64(0) && uint64(p.group)+keep < uint64(w.bulkOpen[p.lane])
		})
		return StatusNext
	}
}

// CopyBulk returns the step of cp.async.bulk: each lane copies in.A bytes. in.X.AA holds the registers of three addresses: source,
// destination and mbarrier. from, to and bar hold their spaces and offsets; bar is nil if there is no mbarrier.
func CopyBulk(from, to, bar *Extra) Step {
	return func(w *Warp, in *Inst, exec uint32) Status {
		for ; exec != 0; exec &= exec - 1 {
			i := bits.TrailingZeros32(exec) & 31
			n := w.Regs[in.A][i]
			if n == 0 || n&15 != 0 {
				return w.Fail(report.Misaligned, in, 1<<i, fmt.Sprintf("a bulk copy of %d bytes is no multiple of 16", n))
			}
			p := bulkCopy{bar: ^uint64(0), warp: w.index, lane: i, group: w.bulkOpen[i]}
			find := func(x *Extra, r int32, kind accessKind) (*memory.Allocation, uint64, Status) {
				at := Inst{X: x, A: r, Line: in.Line}
				m, _, _, sp, st := w.accessLong(&at, i, n)
				if st == StatusNext && w.b.watching {
					st = w.b.observe(w, &at, m, sp, 1<<i, n, kind)
				}
				return m, w.ofs[i], st
			}
			m, off, st := find(from, in.X.AA[0], accessRead)
			if st != StatusNext {
				return st
			}
			p.src = m.Data[off : off+n]
			if p.to, p.off, st = find(to, in.X.AA[1], accessCopy); st != StatusNext {
				return st
			}
			p.dst = p.to.Data[p.off : p.off+n]
			if bar != nil {
				at := Inst{X: bar, A: in.X.AA[2], Line: in.Line}
				_, _, _, _, st := w.access(&at, 1<<i, 8, accessNone)
				if st != StatusNext {
					return st
				}
				p.bar = w.ofs[i]
				w.releaseTo(p.bar)
			}
			w.b.bulk = append(w.b.bulk, p)
		}
		return StatusNext
	}
}
