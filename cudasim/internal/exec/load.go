package exec

import (
	"encoding/binary"
	"math/bits"

	"github.com/robocache/robocache/cudasim/report"
)

// value extends an element to the width of its register.
func (x *Extra) value(v uint64) uint64 {
	if x.Signed {
		s := 64 - 8*x.Size
		v = uint64(int64(v<<s) >> s)
	}
	return v & x.Mask
}

// LoadParam reads kernel parameters. Lanes with equal addresses, which is the common case, share one read.
func LoadParam(w *Warp, in *Inst, exec uint32) Status {
	x := in.X
	p := w.b.run.Params
	a := &w.Regs[in.A]
	n := x.Size * uint64(x.N)
	for rest := exec; rest != 0; {
		first := bits.TrailingZeros32(rest) & 31
		same := rest
		if !x.Uniform {
			same = 0
			for e := rest; e != 0; e &= e - 1 {
				if i := bits.TrailingZeros32(e) & 31; a[i] == a[first] {
					same |= 1 << i
				}
			}
		}
		rest &^= same
		o := a[first] + x.Off
		if o > uint64(len(p)) || n > uint64(len(p))-o {
			return w.badAddress(report.OutOfBounds, in, first, SpaceParam, o, n)
		}
		if o&(n-1) != 0 {
			return w.badAddress(report.Misaligned, in, first, SpaceParam, o, n)
		}
		for k, r := range x.DD {
			d, v := &w.Regs[r], x.value(get(p[o+uint64(k)*x.Size:], x.Size))
			if same == ^uint32(0) {
				for i := range d {
					d[i] = v
				}
				continue
			}
			for e := same; e != 0; e &= e - 1 {
				d[bits.TrailingZeros32(e)&31] = v
			}
		}
	}
	return StatusNext
}

// Load reads x.N elements for each lane, one for each register of x.DD.
func Load(w *Warp, in *Inst, exec uint32) Status {
	x := in.X
	n := x.Size * uint64(x.N)
	if x.Strong {
		w.poll()
	}
	for rest := exec; rest != 0; {
		m, here, more, sp, st := w.access(in, rest, n, accessRead)
		if st != StatusNext {
			return st
		}
		rest = more
		switch {
		case x.Strong && sp == SpaceGlobal:
			for e := here; e != 0; e &= e - 1 {
				i := bits.TrailingZeros32(e) & 31
				for k, r := range x.DD {
					w.Regs[r][i] = x.value(atomicGet(m.Data, w.ofs[i]+uint64(k)*x.Size, x.Size))
				}
			}
		case x.N == 1 && x.Size == 4 && !x.Signed:
			d := &w.Regs[x.DD[0]]
			for e := here; e != 0; e &= e - 1 {
				i := bits.TrailingZeros32(e) & 31
				d[i] = uint64(binary.LittleEndian.Uint32(m.Data[w.ofs[i]:]))
			}
		case x.N == 1 && x.Size == 8:
			d := &w.Regs[x.DD[0]]
			for e := here; e != 0; e &= e - 1 {
				i := bits.TrailingZeros32(e) & 31
				d[i] = binary.LittleEndian.Uint64(m.Data[w.ofs[i]:])
			}
		default:
			for k, r := range x.DD {
				d := &w.Regs[r]
				for e := here; e != 0; e &= e - 1 {
					i := bits.TrailingZeros32(e) & 31
					d[i] = x.value(get(m.Data[w.ofs[i]+uint64(k)*x.Size:], x.Size))
				}
			}
		}
	}
	return StatusNext
}

// Store writes x.N elements for each lane, one from each register of x.AA.
func Store(w *Warp, in *Inst, exec uint32) Status {
	x := in.X
	n := x.Size * uint64(x.N)
	for rest := exec; rest != 0; {
		m, here, more, sp, st := w.access(in, rest, n, accessWrite)
		if st != StatusNext {
			return st
		}
		rest = more
		for k, r := range x.AA {
			v := &w.Regs[r]
			for e := here; e != 0; e &= e - 1 {
				i := bits.TrailingZeros32(e) & 31
				o := w.ofs[i] + uint64(k)*x.Size
				if x.Strong && sp == SpaceGlobal {
					atomicPut(m.Data, o, x.Size, v[i])
				} else {
					put(m.Data[o:], x.Size, v[i])
				}
			}
		}
	}
	return StatusNext
}

// Prefetch checks the address as Load does. It changes no state, except that the counters record the line.
func Prefetch(w *Warp, in *Inst, exec uint32) Status {
	for exec != 0 {
		m, here, rest, sp, st := w.access(in, exec, 1, accessNone)
		if st != StatusNext {
			return st
		}
		if w.b.counts != nil && sp == SpaceGlobal {
			w.b.counts.prefetch(w, m, here)
		}
		exec = rest
	}
	return StatusNext
}
