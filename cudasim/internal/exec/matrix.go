package exec

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/robocache/robocache/cudasim/internal/memory"
	"github.com/robocache/robocache/cudasim/report"
	"github.com/robocache/robocache/internal/tensorcore"
)

// The instructions of a whole warp on matrices. A matrix of 8 rows and 8 columns of 16 bits lies in one register of the warp: lane 4r+c
// holds elements 2c and 2c+1 of row r, the first in the lower half.

// rows finds the rows of x.N matrices: lane i holds the address of row i, and w.ofs gets its offset. A row has 16 bytes.
func (w *Warp) rows(in *Inst, kind accessKind) (*memory.Allocation, Status) {
	lanes := ^uint32(0) >> (32 - 8*in.X.N)
	m, here, rest, sp, st := w.access(in, lanes, 16, accessNone)
	if st != StatusNext {
		return nil, st
	}
	if sp != SpaceShared || rest != 0 {
		lane := 0
		if sp == SpaceShared {
			lane = bits.TrailingZeros32(rest) & 31
		}
		w.badAddress(report.OutOfBounds, in, lane, SpaceGlobal, w.Regs[in.A][lane]+in.X.Off, 16)
		w.b.fault.Detail = "a matrix lies in shared memory"
		return nil, statusFault
	}
	if w.b.watching {
		if st := w.b.observe(w, in, m, sp, here, 16, kind); st != StatusNext {
			return nil, st
		}
	} else if kind == accessWrite {
		m.MarkAll()
	}
	return m, StatusNext
}

// MoveMatrices returns the step of ldmatrix, which writes the registers in.X.DD. If store is set, it returns the step of stmatrix, which
// reads the registers in.X.AA. Each register holds one matrix. With trans, rows and columns are exchanged.
func MoveMatrices(trans, store bool) Step {
	kind := accessRead
	if store {
		kind = accessWrite
	}
	return wholeWarp(func(w *Warp, in *Inst) Status {
		m, st := w.rows(in, kind)
		if st != StatusNext {
			return st
		}
		regs := in.X.DD
		if store {
			regs = in.X.AA
		}
		for k, r := range regs {
			v, ofs := &w.Regs[r], w.ofs[8*k:8*k+8]
			for i := range v {
				row, col := uint64(i>>2), uint64(i&3)
				lo := m.Data[ofs[row]+4*col:]
				hi := lo[2:]
				if trans {
					lo, hi = m.Data[ofs[2*col]+2*row:], m.Data[ofs[2*col+1]+2*row:]
				}
				if store {
					binary.LittleEndian.PutUint16(lo, uint16(v[i]))
					binary.LittleEndian.PutUint16(hi, uint16(v[i]>>16))
				} else {
					v[i] = uint64(binary.LittleEndian.Uint16(lo)) | uint64(binary.LittleEndian.Uint16(hi))<<16
				}
			}
		}
		return StatusNext
	})
}

// TransposeMatrix executes movmatrix from in.A to in.D.
var TransposeMatrix = wholeWarp(func(w *Warp, in *Inst) Status {
	d, a := &w.Regs[in.D], &w.Regs[in.A]
	for i := range d {
		row, col := i>>2, i&3
		half := row & 1 * 16
		d[i] = a[8*col+row>>1]>>half&0xffff | a[8*col+4+row>>1]>>half&0xffff<<16
	}
	return StatusNext
})

// MultiplyMatrices returns the step of mma. in.X.AA holds the registers of the factor a, of the factor b and of the summand c;
// the registers in.X.DD get a*b + c.
func MultiplyMatrices(format tensorcore.Format, nA, nB int) Step {
	return wholeWarp(func(w *Warp, in *Inst) Status {
		aa := in.X.AA
		w.mma(format, in.X.DD, aa[:nA], aa[nA:nA+nB], aa[nA+nB:])
		return StatusNext
	})
}

// mma is one instruction. A register of a holds a quarter of 8 rows and columns: rows 0 to 7 come first, then columns 0 to 7.
// A register of b holds 8 products, and a lane has a column where it has a row of a. The registers of c and d lie as those of a do, with
// one register for each of a lane's two elements.
func (w *Warp) mma(format tensorcore.Format, d, a, b, c []int32) {
	var rows [16][16]tensorcore.Decoded
	var cols [16][8]tensorcore.Decoded
	for k, r := range a {
		for i, v := range w.Regs[r] {
			row := &rows[i>>2+k&1*8]
			at := i&3*2 + k>>1*8
			row[at], row[at+1] = format.Decode(uint16(v)), format.Decode(uint16(v>>16))
		}
	}
	for k, r := range b {
		for i, v := range w.Regs[r] {
			at, col := i&3*2+k*8, i>>2
			cols[at][col], cols[at+1][col] = format.Decode(uint16(v)), format.Decode(uint16(v>>16))
		}
	}
	var sums [16][8]float32
	spread := func(regs []int32, f func(reg *uint64, sum *float32)) {
		for k, r := range regs {
			for i := range w.Regs[r] {
				f(&w.Regs[r][i], &sums[i>>2+k>>1*8][i&3*2+k&1])
			}
		}
	}
	spread(c, func(reg *uint64, sum *float32) { *sum = math.Float32frombits(uint32(*reg)) })
	deep := 8 * len(b)
	for i := range sums {
		tensorcore.Hopper.Dot8(&sums[i], rows[i][:deep], cols[:deep])
	}
	spread(d, func(reg *uint64, sum *float32) { *reg = uint64(math.Float32bits(*sum)) })
}
