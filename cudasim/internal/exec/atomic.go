package exec

import "math/bits"

// Atomic replaces an element of each lane by x.RMW, one lane after the other. The registers x.DD get the old values.
func Atomic(w *Warp, in *Inst, exec uint32) Status {
	x := in.X
	n := x.Size * uint64(x.N)
	missed := false
	for rest := exec; rest != 0; {
		m, here, more, sp, st := w.access(in, rest, n, accessAtomic)
		if st != StatusNext {
			return st
		}
		rest = more
		for e := here; e != 0; e &= e - 1 {
			i := bits.TrailingZeros32(e) & 31
			for k, r := range x.AA {
				b, c := w.Regs[r][i], w.Regs[in.C][i]
				o := w.ofs[i] + uint64(k)*x.Size
				var old uint64
				switch {
				case sp != SpaceGlobal: // only this worker reaches it
					old = get(m.Data[o:], x.Size)
					put(m.Data[o:], x.Size, x.RMW(old, b, c))
				default:
					old = modify(m.Data, o, x.Size, func(old uint64) uint64 { return x.RMW(old, b, c) })
				}
				if k < len(x.DD) {
					w.Regs[x.DD[k]][i] = old
				}
				missed = missed || x.MayMiss && old != b
			}
		}
	}
	if missed {
		w.poll()
	}
	return StatusNext
}
