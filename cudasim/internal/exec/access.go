package exec

import (
	"math/bits"

	"github.com/robocache/robocache/cudasim/internal/memory"
	"github.com/robocache/robocache/cudasim/report"
)

// SharedBase is the address of a block's first byte of shared memory. It is not 0, because the system reserves the bytes before
// it, as on Hopper. So a kernel that uses an offset as an address causes a fault.
const SharedBase = uint64(ReservedShared)

// Windows are the generic addresses at which the spaces begin. Global memory lies above them and has equal generic addresses.
var Windows = [...]uint64{SpaceShared: 0x0a_0000_0000, SpaceLocal: 0x0b_0000_0000, SpaceParam: 0x0c_0000_0000}

const windowSize = uint64(1 << 24)

// SpaceOf returns the space that a generic address points to.
func SpaceOf(addr uint64) SpaceKind {
	for sp := SpaceShared; sp <= SpaceParam; sp++ {
		if addr-Windows[sp] < windowSize {
			return sp
		}
	}
	return SpaceGlobal
}

// access finds the allocation m and the space sp that the first lane in the mask exec accesses with n bytes. here is the mask of
// the lanes that access the same allocation; w.ofs gets their offsets in m. rest is the mask of the other lanes, for which the
// caller calls access again. Unless kind is accessNone, access runs the checks for data races and uninitialised memory before the
// caller reads or writes. It sets a fault if an address is in no allocation or misaligned, or if a check fails.
func (w *Warp) access(in *Inst, exec uint32, n uint64, kind accessKind) (m *memory.Allocation, here, rest uint32, sp SpaceKind, st Status) {
	x := in.X
	a := &w.Regs[in.A]
	first := bits.TrailingZeros32(exec) & 31
	addr := a[first] + x.Off
	if !x.Wide {
		addr = uint64(uint32(addr))
	}
	sp = x.Space
	base := uint64(0)
	if sp == SpaceGeneric {
		sp = SpaceOf(addr)
		base = Windows[sp]
	}
	align := n - 1
	switch sp {
	case SpaceShared:
		m = w.b.shared
		base += SharedBase
	case SpaceLocal:
		return w.accessLocal(in, exec, n, base)
	case SpaceParam:
		m = &memory.Allocation{Size: uint64(len(w.b.run.Params)), Data: w.b.run.Params, Kind: "param"}
	default:
		m = w.last
		if m == nil || addr-m.Addr >= m.Size || m.Freed.Load() {
			var ok bool
			if m, ok = w.b.run.sp.Find(addr); !ok || !m.Opened(w.b.run.Owner) {
				return nil, 0, 0, sp, w.badAddress(report.OutOfBounds, in, first, sp, addr, n)
			}
			w.last = m
		}
		base = m.Addr
	}
	off := x.Off - base
	size := m.Size
	if size < n {
		return nil, 0, 0, sp, w.badAddress(report.OutOfBounds, in, first, sp, addr-base+m.Addr, n)
	}
	most := size - n
	bad := uint64(0)
	if x.Wide {
		if exec == ^uint32(0) {
			for i := range w.ofs {
				o := a[i] + off
				w.ofs[i] = o
				bad |= o&align | (most-o)>>63 | o>>63
			}
		} else {
			for e := exec; e != 0; e &= e - 1 {
				i := bits.TrailingZeros32(e) & 31
				o := a[i] + off
				w.ofs[i] = o
				bad |= o&align | (most-o)>>63 | o>>63
			}
		}
	} else {
		for e := exec; e != 0; e &= e - 1 {
			i := bits.TrailingZeros32(e) & 31
			o := uint64(uint32(a[i] + off))
			w.ofs[i] = o
			bad |= o&align | (most-o)>>63
		}
	}
	if bad != 0 {
		for e := exec; e != 0; e &= e - 1 {
			i := bits.TrailingZeros32(e) & 31
			switch o := w.ofs[i]; {
			case o < size && o&align != 0:
				return nil, 0, 0, sp, w.badAddress(report.Misaligned, in, i, sp, o+m.Addr, n)
			case o < size && o > most, o >= size && (i == first || sp != SpaceGlobal && x.Space != SpaceGeneric):
				return nil, 0, 0, sp, w.badAddress(report.OutOfBounds, in, i, sp, o+m.Addr, n)
			case o >= size:
				rest |= 1 << i
			}
		}
	}
	here = exec &^ rest
	switch {
	case kind == accessNone:
	case w.b.watching:
		st = w.b.observe(w, in, m, sp, here, n, kind)
	case kind == accessWrite:
		m.MarkAll()
	}
	return m, here, rest, sp, st
}

// accessLocal is access for local memory. Each lane has its own.
func (w *Warp) accessLocal(in *Inst, exec uint32, n, base uint64) (m *memory.Allocation, here, rest uint32, sp SpaceKind, st Status) {
	x := in.X
	a := &w.Regs[in.A]
	each := uint64(w.b.run.Kernel.Local)
	for e := exec; e != 0; e &= e - 1 {
		i := bits.TrailingZeros32(e) & 31
		o := a[i] + x.Off
		if !x.Wide {
			o = uint64(uint32(o))
		}
		if base != 0 {
			if SpaceOf(o) != SpaceLocal {
				rest |= 1 << i
				continue
			}
			o -= base
		}
		if o > each || n > each-o {
			return nil, 0, 0, SpaceLocal, w.badAddress(report.OutOfBounds, in, i, SpaceLocal, o, n)
		}
		if o&(n-1) != 0 {
			return nil, 0, 0, SpaceLocal, w.badAddress(report.Misaligned, in, i, SpaceLocal, o, n)
		}
		w.ofs[i] = uint64(w.index*32+uint32(i))*each + o
	}
	return w.b.local, exec &^ rest, rest, SpaceLocal, StatusNext
}

// accessLong is access for n bytes of one lane, at an address that is a multiple of 16. It does not run the checks.
func (w *Warp) accessLong(in *Inst, lane int, n uint64) (m *memory.Allocation, here, rest uint32, sp SpaceKind, st Status) {
	m, here, rest, sp, st = w.access(in, 1<<lane, 16, accessNone)
	if st == StatusNext && n > m.Size-w.ofs[lane] {
		return nil, 0, 0, sp, w.badAddress(report.OutOfBounds, in, lane, sp, m.Addr+w.ofs[lane], n)
	}
	return m, here, rest, sp, st
}
