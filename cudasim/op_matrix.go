package cudasim

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"github.com/robocache/robocache/internal/ptxparse"
	"github.com/robocache/robocache/internal/tensorcore"
)

// The instructions of a whole warp on matrices. A matrix of 8 rows and 8 columns of 16 bits lies in one register of the warp: lane 4r+c
// holds elements 2c and 2c+1 of row r, the first in the lower half.

func addMatrix() {
	handlers["ldmatrix"] = compileLoadMatrix
	handlers["stmatrix"] = compileStoreMatrix
	handlers["movmatrix"] = compileTransposeMatrix
	handlers["mma"] = compileMMA
}

// wholeWarp makes fn wait for all 32 lanes of the warp. It is an error if there are fewer.
func wholeWarp(fn func(w *warp, in *inst) status) func(w *warp, in *inst, exec uint32) status {
	return func(w *warp, in *inst, exec uint32) status {
		switch all := ^uint32(0); {
		case exec == all:
			w.synced(exec)
			return fn(w, in)
		case w.alive != all:
			return w.fail(DivergentBarrier, in, exec, fmt.Sprintf("all lanes of a warp are to come here, and lanes %#x have ended or never were", ^w.alive))
		}
		return w.park(exec, waitGather, 0)
	}
}

// matrices takes what ldmatrix and stmatrix have in common, and gives the micro-operation and the registers' operands.
func (c *compiler) matrices(address, regs ptxparse.Operand) (inst, []ptxparse.Operand) {
	if !c.q.has("sync") || !c.q.has("aligned") || !c.q.has("m8n8") {
		fail("sync, aligned and m8n8 expected")
	}
	n := map[string]int{"x1": 1, "x2": 2, "x4": 4}[c.q.one("x1", "x2", "x4")]
	if n == 0 {
		fail("x1, x2 or x4 expected")
	}
	in := none(kindFn, classMemory)
	in.apart = true
	in.x = &extra{n: n, space: spaceByName[c.q.one("shared", "shared::cta")]}
	c.setAddress(&in, address)
	if c.q.typ() != "b16" {
		fail("a type of b16 expected")
	}
	return in, elements(regs, n)
}

// rows finds the rows of x.n matrices, which the first 8 x.n lanes name: 16 bytes each, in w.ofs.
func (w *warp) rows(in *inst, kind accessKind) (*allocation, status) {
	lanes := ^uint32(0) >> (32 - 8*in.x.n)
	m, here, rest, sp, st := w.access(in, lanes, 16)
	if st != statusNext {
		return nil, st
	}
	if sp != spaceShared || rest != 0 {
		lane := 0
		if sp == spaceShared {
			lane = bits.TrailingZeros32(rest) & 31
		}
		w.badAddress(OutOfBounds, in, lane, spaceGlobal, w.regs[in.a][lane]+in.x.off, 16)
		w.b.fault.Detail = "a matrix lies in shared memory"
		return nil, statusFault
	}
	if w.b.watching {
		if st := w.b.observe(w, in, m, sp, here, 16, kind); st != statusNext {
			return nil, st
		}
	} else if kind == accessWrite && m.init != nil && !m.whole.Load() {
		m.whole.Store(true)
	}
	return m, statusNext
}

func compileLoadMatrix(c *compiler) {
	args := c.args(2)
	trans := c.q.has("trans")
	in, regs := c.matrices(args[1], args[0])
	for _, o := range regs {
		in.x.dd = append(in.x.dd, c.dst(o, "b32"))
	}
	in.fn = wholeWarp(func(w *warp, in *inst) status {
		m, st := w.rows(in, accessRead)
		if st != statusNext {
			return st
		}
		for k, r := range in.x.dd {
			d, ofs := &w.regs[r], w.ofs[8*k:8*k+8]
			for i := range d {
				row, col := uint64(i>>2), uint64(i&3)
				if trans {
					lo := binary.LittleEndian.Uint16(m.data[ofs[2*col]+2*row:])
					hi := binary.LittleEndian.Uint16(m.data[ofs[2*col+1]+2*row:])
					d[i] = uint64(lo) | uint64(hi)<<16
				} else {
					d[i] = uint64(binary.LittleEndian.Uint32(m.data[ofs[row]+4*col:]))
				}
			}
		}
		return statusNext
	})
	c.emit(in)
}

func compileStoreMatrix(c *compiler) {
	args := c.args(2)
	trans := c.q.has("trans")
	in, regs := c.matrices(args[0], args[1])
	for _, o := range regs {
		in.x.aa = append(in.x.aa, c.src(o, "b32"))
	}
	in.fn = wholeWarp(func(w *warp, in *inst) status {
		m, st := w.rows(in, accessWrite)
		if st != statusNext {
			return st
		}
		for k, r := range in.x.aa {
			a, ofs := &w.regs[r], w.ofs[8*k:8*k+8]
			for i := range a {
				row, col := uint64(i>>2), uint64(i&3)
				if trans {
					binary.LittleEndian.PutUint16(m.data[ofs[2*col]+2*row:], uint16(a[i]))
					binary.LittleEndian.PutUint16(m.data[ofs[2*col+1]+2*row:], uint16(a[i]>>16))
				} else {
					binary.LittleEndian.PutUint32(m.data[ofs[row]+4*col:], uint32(a[i]))
				}
			}
		}
		return statusNext
	})
	c.emit(in)
}

// compileTransposeMatrix is movmatrix, which transposes one matrix.
func compileTransposeMatrix(c *compiler) {
	for _, q := range []string{"sync", "aligned", "m8n8", "trans", "b16"} {
		if !c.q.has(q) {
			fail("%s expected", q)
		}
	}
	args := c.args(2)
	in := none(kindFn, classSync)
	in.apart = true
	in.d, in.a = c.dst(args[0], "b32"), c.src(args[1], "b32")
	in.fn = wholeWarp(func(w *warp, in *inst) status {
		d, a := &w.regs[in.d], &w.regs[in.a]
		for i := range d {
			row, col := i>>2, i&3
			half := row & 1 * 16
			d[i] = a[8*col+row>>1]>>half&0xffff | a[8*col+4+row>>1]>>half&0xffff<<16
		}
		return statusNext
	})
	c.emit(in)
}

// compileMMA is mma.sync of 16 rows, 8 columns and 8 or 16 products with 32-bit sums, by the tensor cores' rule of compute capability 9.0.
func compileMMA(c *compiler) {
	if !c.q.has("sync") || !c.q.has("aligned") {
		fail("sync and aligned expected")
	}
	deep := map[string]int{"m16n8k8": 8, "m16n8k16": 16}[c.q.one("m16n8k8", "m16n8k16")]
	if deep == 0 || !c.q.has("row") || !c.q.has("col") {
		fail("a shape of m16n8k8 or m16n8k16, row and col expected")
	}
	var types [4]string
	for i := range types {
		types[i] = c.q.typ()
	}
	format := tensorcore.BFloat16
	if types[1] == "f16" {
		format = tensorcore.Float16
	} else if types[1] != "bf16" {
		fail("factors of bf16 or f16 expected")
	}
	if types != [4]string{"f32", types[1], types[1], "f32"} {
		fail("sums of f32 and factors of one type expected")
	}
	args := c.args(4)
	in := none(kindFn, classTensor)
	in.apart = true
	in.x = &extra{}
	for _, o := range elements(args[0], 4) {
		in.x.dd = append(in.x.dd, c.dst(o, "f32"))
	}
	nA, nB := deep/4, deep/8
	for i, n := range []int{nA, nB, 4} {
		for _, o := range elements(args[1+i], n) {
			in.x.aa = append(in.x.aa, c.src(o, []string{"b32", "b32", "f32"}[i]))
		}
	}
	in.fn = wholeWarp(func(w *warp, in *inst) status {
		aa := in.x.aa
		w.mma(format, in.x.dd, aa[:nA], aa[nA:nA+nB], aa[nA+nB:])
		return statusNext
	})
	c.emit(in)
}

// mma is one instruction: the registers of a hold its quarters of 8 rows and columns, those of rows 0 to 7 first, then of columns 0 to 7;
// those of b hold 8 products each, with a lane a column where a has a row; those of c and d lie as a's, with a register for each of a
// lane's two elements.
func (w *warp) mma(format tensorcore.Format, d, a, b, c []int32) {
	var rows [16][16]tensorcore.Decoded
	var cols [16][8]tensorcore.Decoded
	for k, r := range a {
		for i, v := range w.regs[r] {
			row := &rows[i>>2+k&1*8]
			at := i&3*2 + k>>1*8
			row[at], row[at+1] = format.Decode(uint16(v)), format.Decode(uint16(v>>16))
		}
	}
	for k, r := range b {
		for i, v := range w.regs[r] {
			at, col := i&3*2+k*8, i>>2
			cols[at][col], cols[at+1][col] = format.Decode(uint16(v)), format.Decode(uint16(v>>16))
		}
	}
	var sums [16][8]float32
	spread := func(regs []int32, f func(reg *uint64, sum *float32)) {
		for k, r := range regs {
			for i := range w.regs[r] {
				f(&w.regs[r][i], &sums[i>>2+k>>1*8][i&3*2+k&1])
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
