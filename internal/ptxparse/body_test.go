package ptxparse

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const regs = ".reg .pred p, q; .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .f32 %f<4>; .shared .align 16 .b8 tile[64];\n"

// instructions is one body for each form of operand.
var instructions = []string{
	"mov.b64 {%r1, _}, %rd1;", "setp.lt.and.s32 p|q, %r1, -7, !p;", "@!p bra L; L: ret;", "ld.shared.u32 %r1, [tile+4];",
	"st.global.v2.u32 [%rd1+-8], {%r1, 0x10};", "mov.f32 %f1, 0f3F800000;", "mov.u64 %rd1, tile+8;", "mov.u32 %r1, %tid.x;",
	"ld.global.u32 %r1, [16];", "add.f32 %f1, 1.5, -2.0;", "call.uni (%r1), f, (%r2, 3);", "{ .reg .b32 t; L: bra L; } { L: bra L; }",
	"T: .branchtargets A, B; A: brx.idx %r1, T; B: ret;", "mov.u32 %r1, WARP_SZ;", "mov.b64 %rd1, 0d3FF0000000000000;",
}

func function(t *testing.T, body string) *Func {
	m, err := Parse([]byte(head + ".entry k() {" + regs + body + "}"))
	require.NoError(t, err, body)
	return m.Funcs[0]
}

func TestOperandsAreResolved(t *testing.T) {
	reg := func(f *Func, name string) int {
		for i, r := range f.Regs {
			if r.Name == name {
				return i
			}
		}
		t.Fatalf("no register %s", name)
		return -1
	}
	f := function(t, instructions[0])
	assert.Equal(t, "mov.b64", f.Body[0].Op)
	assert.Equal(t, []Operand{{Kind: KindReg, Reg: reg(f, "%r1")}, {Kind: KindSink}}, f.Body[0].Args[0].Elems)
	f = function(t, instructions[1])
	assert.Equal(t, KindPair, f.Body[0].Args[0].Kind)
	assert.Equal(t, Operand{Kind: KindInt, Value: ^uint64(6)}, f.Body[0].Args[2])
	assert.Equal(t, Operand{Kind: KindReg, Not: true, Reg: reg(f, "p")}, f.Body[0].Args[3])
	f = function(t, instructions[2])
	assert.True(t, f.Body[0].GuardNot)
	assert.Equal(t, 1, f.Body[0].Args[0].Target)
	f = function(t, instructions[3])
	assert.Equal(t, int64(4), f.Body[0].Args[1].Off)
	assert.Equal(t, f.Vars[0], f.Body[0].Args[1].Var)
	f = function(t, instructions[4])
	assert.Equal(t, Operand{Kind: KindAddress, Reg: reg(f, "%rd1"), Off: -8}, f.Body[0].Args[0])
	assert.Equal(t, uint64(16), f.Body[0].Args[1].Elems[1].Value)
	assert.Equal(t, uint64(math.Float32bits(1)), function(t, instructions[5]).Body[0].Args[1].Value)
	assert.Equal(t, int64(8), function(t, instructions[6]).Body[0].Args[1].Off)
	assert.Equal(t, Operand{Kind: KindSpecial, Name: "%tid.x"}, function(t, instructions[7]).Body[0].Args[1])
	assert.Equal(t, Operand{Kind: KindAddress, Reg: -1, Off: 16}, function(t, instructions[8]).Body[0].Args[1])
	f = function(t, instructions[9])
	assert.Equal(t, math.Float64bits(1.5), f.Body[0].Args[1].Value)
	assert.Equal(t, math.Float64bits(-2), f.Body[0].Args[2].Value)
	f = function(t, instructions[10])
	assert.Equal(t, Operand{Kind: KindFunc, Name: "f", Target: -1}.Name, f.Body[0].Args[1].Name)
	assert.Equal(t, KindFunc, f.Body[0].Args[1].Kind)
	assert.Len(t, f.Body[0].Args[2].Elems, 2)
}

func TestLabelsBelongToTheirBlock(t *testing.T) {
	f := function(t, instructions[11])
	assert.Equal(t, 0, f.Body[0].Args[0].Target)
	assert.Equal(t, 1, f.Body[1].Args[0].Target)
	f = function(t, "{ bra L; } L: ret;")
	assert.Equal(t, 1, f.Body[0].Args[0].Target)
	f = function(t, instructions[12])
	require.Equal(t, KindTargets, f.Body[0].Args[1].Kind)
	assert.Equal(t, 0, f.Body[0].Args[1].Elems[0].Target)
	assert.Equal(t, 1, f.Body[0].Args[1].Elems[1].Target)
}

func TestARegisterOfAnInnerBlockHidesTheOuterOne(t *testing.T) {
	f := function(t, "mov.b32 %r1, 0; { .reg .b64 %r1; mov.b64 %r1, 0; } mov.b32 %r1, 0;")
	assert.Equal(t, "b64", f.Regs[f.Body[1].Args[0].Reg].Type)
	assert.Equal(t, f.Body[0].Args[0].Reg, f.Body[2].Args[0].Reg)
	assert.NotEqual(t, f.Body[0].Args[0].Reg, f.Body[1].Args[0].Reg)
}

func TestInitialValuesAreLittleEndianBytesAndAddresses(t *testing.T) {
	m, err := Parse([]byte(head + `
.global .align 4 .b8 bytes[6] = {1, 0xff, -1};
.const .f32 half = 0f3F000000;
.global .u16 table[2][2] = {{1, 2}, {3, 4}};
.global .u64 there[2] = {generic(bytes)+4, 7};
.const .b32 plain[] = {5, 6};
`))
	require.NoError(t, err)
	assert.Equal(t, []byte{1, 255, 255, 0, 0, 0}, m.Vars[0].Data)
	assert.Equal(t, []byte{0, 0, 0, 0x3f}, m.Vars[1].Data)
	assert.Equal(t, []byte{1, 0, 2, 0, 3, 0, 4, 0}, m.Vars[2].Data)
	assert.Equal(t, []Reloc{{At: 0, Size: 8, Name: "bytes", Add: 4, Generic: true}}, m.Vars[3].Relocs)
	assert.Equal(t, 8, m.Vars[4].Size)
}
