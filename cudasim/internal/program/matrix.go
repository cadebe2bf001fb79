package program

import (
	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/internal/tensorcore"
)

func addMatrix() {
	handlers["ldmatrix"] = func(c *compiler) { compileMoveMatrices(c, false) }
	handlers["stmatrix"] = func(c *compiler) { compileMoveMatrices(c, true) }
	handlers["movmatrix"] = compileTransposeMatrix
	handlers["mma"] = compileMMA
}

// compileMoveMatrices compiles ldmatrix, or stmatrix if store is set.
func compileMoveMatrices(c *compiler, store bool) {
	args := c.args(2)
	trans := c.q.has("trans")
	c.require("sync", "aligned", "m8n8")
	n := map[string]int{"x1": 1, "x2": 2, "x4": 4}[c.q.one("x1", "x2", "x4")]
	if n == 0 {
		fail("x1, x2 or x4 expected")
	}
	in := newStep(exec.ClassMemory)
	in.Apart = true
	in.X = &extra{N: n, Space: spaceByName[c.q.one("shared", "shared::cta")]}
	regs, address := args[0], args[1]
	if store {
		regs, address = address, regs
	}
	c.setAddress(&in, address)
	if c.q.typ() != "b16" {
		fail("a type of b16 expected")
	}
	for _, o := range elements(regs, n) {
		if store {
			in.X.AA = append(in.X.AA, c.src(o, "b32"))
		} else {
			in.X.DD = append(in.X.DD, c.dst(o, "b32"))
		}
	}
	in.Fn = exec.MoveMatrices(trans, store)
	c.emit(in)
}

// compileTransposeMatrix compiles movmatrix, which transposes one matrix.
func compileTransposeMatrix(c *compiler) {
	c.require("sync", "aligned", "m8n8", "trans", "b16")
	args := c.args(2)
	in := newStep(exec.ClassSync)
	in.Apart = true
	in.D, in.A = c.dst(args[0], "b32"), c.src(args[1], "b32")
	in.Fn = exec.TransposeMatrix
	c.emit(in)
}

// compileMMA compiles mma.sync of 16 rows, 8 columns and 8 or 16 products with 32-bit sums, as tensor cores of compute capability 9.0 sum.
func compileMMA(c *compiler) {
	c.require("sync", "aligned")
	deep := map[string]int{"m16n8k8": 8, "m16n8k16": 16}[c.q.one("m16n8k8", "m16n8k16")]
	if deep == 0 {
		fail("a shape of m16n8k8 or m16n8k16 expected")
	}
	c.require("row", "col")
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
	in := newStep(exec.ClassTensor)
	in.Apart = true
	in.X = &extra{}
	for _, o := range elements(args[0], 4) {
		in.X.DD = append(in.X.DD, c.dst(o, "f32"))
	}
	nA, nB := deep/4, deep/8
	for i, n := range []int{nA, nB, 4} {
		for _, o := range elements(args[1+i], n) {
			in.X.AA = append(in.X.AA, c.src(o, []string{"b32", "b32", "f32"}[i]))
		}
	}
	in.Fn = exec.MultiplyMatrices(format, nA, nB)
	c.emit(in)
}
