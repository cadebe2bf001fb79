package program_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/internal/test/gputest"
)

// vector is one instruction with what it gives. In inst, D is the result and A, B and C are the operands; several
// instructions may stand there.
type vector struct {
	inst string
	d    string                      // type of the result
	src  string                      // types of the operands
	want func(a, b, c uint64) uint64 // bits
	same func(got, want uint64) bool // nil: equal bits
	skip func(a, b, c uint64) bool   // inputs for which PTX defines nothing
	more [][3]uint64                 // operands to try beside those that rows draws

	// other is what another reading of PTX gives, and rule names it: a failure says how many results it explains.
	other func(a, b, c uint64) uint64
	rule  string
}

// class is the register that holds a type.
func class(t string) string {
	switch t {
	case "u8", "s8", "u16", "s16", "f16", "bf16":
		return "b16"
	case "u32", "s32", "f16x2", "bf16x2", "tf32", "octet", "octets":
		return "b32"
	case "u64", "s64":
		return "b64"
	}
	return t
}

func bitsOf(t string) int {
	switch t {
	case "octet": // what a register of 32 bits holds for an instruction that PTX defines for 0 to 255 only
		return 8
	case "octets": // two of them in one
		return 16
	}
	switch class(t) {
	case "pred":
		return 1
	case "b16":
		return 16
	case "b64", "f64":
		return 64
	}
	return 32
}

var operand = regexp.MustCompile(`\b[DABC]\b`)

// kernelText is an entry that applies the vector to n rows of three operands.
func (v vector) kernelText(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".visible .entry %s(.param .u64 in, .param .u64 out, .param .u32 n)\n{\n", name)
	b.WriteString("\t.reg .pred %done, %t; .reg .b16 %h; .reg .b32 %i, %n, %w; .reg .b64 %in, %out, %at, %v;\n")
	names := map[string]string{"D": "d", "A": "a", "B": "b", "C": "c"}
	types := append([]string{v.d}, strings.Fields(v.src)...)
	for i, t := range types {
		fmt.Fprintf(&b, "\t.reg .%s %s;\n", class(t), "dabc"[i:i+1])
	}
	b.WriteString(`	ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; ld.param.u32 %n, [n];
	cvta.to.global.u64 %in, %in; cvta.to.global.u64 %out, %out;
	mov.u32 %i, %ctaid.x; mov.u32 %w, %ntid.x; mul.lo.u32 %i, %i, %w; mov.u32 %w, %tid.x; add.u32 %i, %i, %w;
	setp.ge.u32 %done, %i, %n;
	@%done ret;
	mul.wide.u32 %at, %i, 24; add.u64 %in, %in, %at;
	mul.wide.u32 %at, %i, 8; add.u64 %out, %out, %at;
`)
	for i, t := range types[1:] {
		r := "abc"[i : i+1]
		fmt.Fprintf(&b, "\tld.global.u64 %%v, [%%in+%d];\n", 8*i)
		switch class(t) {
		case "pred":
			fmt.Fprintf(&b, "\tsetp.ne.u64 %s, %%v, 0;\n", r)
		case "b16":
			fmt.Fprintf(&b, "\tcvt.u16.u64 %s, %%v;\n", r)
		case "b32":
			fmt.Fprintf(&b, "\tcvt.u32.u64 %s, %%v;\n", r)
		case "f32":
			fmt.Fprintf(&b, "\tcvt.u32.u64 %%w, %%v;\n\tmov.b32 %s, %%w;\n", r)
		default:
			fmt.Fprintf(&b, "\tmov.b64 %s, %%v;\n", r)
		}
	}
	fmt.Fprintf(&b, "\t%s\n", operand.ReplaceAllStringFunc(v.inst, func(s string) string { return names[s] }))
	switch class(v.d) {
	case "pred":
		b.WriteString("\tselp.u64 %v, 1, 0, d;\n")
	case "b16":
		b.WriteString("\tcvt.u64.u16 %v, d;\n")
	case "b32":
		b.WriteString("\tcvt.u64.u32 %v, d;\n")
	case "f32":
		b.WriteString("\tmov.b32 %w, d;\n\tcvt.u64.u32 %v, %w;\n")
	default:
		b.WriteString("\tmov.b64 %v, d;\n")
	}
	b.WriteString("\tst.global.u64 [%out], %v;\n\tret;\n}\n")
	return b.String()
}

// edges are the values of each type at which something changes.
var edges = map[string][]uint64{
	"pred":  {0, 1},
	"octet": {0, 1, 2, 7, 8, 15, 16, 31, 32, 33, 63, 64, 65, 127, 128, 254, 255},
	"b16":   {0, 1, 2, 15, 16, 17, 0x7f, 0x80, 0xff, 0x100, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xaaaa, 0xfffe, 0xffff},
	"b32": {0, 1, 2, 3, 5, 7, 8, 31, 32, 33, 0x7f, 0x80, 0xff, 0x100, 0x7fff, 0x8000, 0xffff, 0x10000, 0x00ffffff, 0x01000000, 0x55555555, 0x7ffffffe,
		0x7fffffff, 0x80000000, 0x80000001, 0xaaaaaaaa, 0xffff0000, 0xfffffffe, 0xffffffff},
	"b64": {0, 1, 2, 7, 31, 32, 63, 64, 65, 0xff, 0xffff, 0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<63 - 1, 1 << 63, 1<<63 + 1,
		0x7ffffffffffffc00, 0x7ffffffffffffbff, 0x7ffffffffffffe00, 0xfffffffffffff400, 0xaaaaaaaaaaaaaaaa, 0xffffffff00000000, ^uint64(0) - 1, ^uint64(0)},
	"f32": {0, 1 << 31, 1, 1<<31 | 1, 0x007fffff, 0x00800000, 0x80800000, 0x00800001, 0x33000000, 0x33000001, 0x33800000, 0x387fc000, 0x38800000, 0x3effffff, 0x3f000000, 0x3f7fffff,
		0x3f800000, 0x3f800001, 0xbf800000, 0x3fc00000, 0x40000000, 0x40200000, 0x40490fdb, 0x477fe000, 0x477ff000, 0x477fefff, 0x4b000000, 0x4b000001, 0x4b7fffff, 0x4effffff, 0x4f000000,
		0xcf000000, 0xcf000001, 0x4f7fffff, 0x4f800000, 0x5effffff, 0x5f000000, 0x5f7fffff, 0x5f800000, 0x7f000000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7f800001,
		0x7fc00000, 0xffc00000, 0x7fffffff},
	"f64": {0, 1 << 63, 1, 1<<63 | 1, 1<<52 - 1, 1 << 52, 0x3690000000000000, 0x36a0000000000000, 0x36a0000000000001, 0x380fffffffffffff, 0x3810000000000000, 0x3fe0000000000000,
		0x3fefffffffffffff, 0x3ff0000000000000, 0x3ff0000000000001, 0xbff0000000000000, 0x3ff0000010000000, 0x3ff0000030000000, 0x3ff0000010000001, 0x3ff8000000000000, 0x4000000000000000,
		0x4004000000000000, 0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000000000, 0xc1e0000000200000, 0x41efffffffe00000, 0x41f0000000000000, 0x43dfffffffffffff,
		0x43e0000000000000, 0xc3e0000000000000, 0x43efffffffffffff, 0x43f0000000000000, 0x47efffffe0000000, 0x47efffffefffffff, 0x47effffff0000000, 0x7fefffffffffffff,
		0xffefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff0000000000001, 0x7ff8000000000000, 0xfff8000000000123},
	"f16":  {0, 0x8000, 1, 0x8001, 0x03ff, 0x0400, 0x3555, 0x3bff, 0x3c00, 0x3c01, 0xbc00, 0x3e00, 0x4000, 0x4900, 0x6400, 0x7800, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7c01, 0x7e00, 0xffff},
	"bf16": {0, 0x8000, 1, 0x8001, 0x007f, 0x0080, 0x3f00, 0x3f7f, 0x3f80, 0x3f81, 0xbf80, 0x3fc0, 0x4000, 0x4120, 0x7f00, 0x7f7f, 0xff7f, 0x7f80, 0xff80, 0x7f81, 0x7fc0, 0xffff},
}

func edgesOf(t string) []uint64 {
	if list, ok := edges[t]; ok {
		return list
	}
	if t == "octets" {
		var list []uint64
		for _, a := range edges["octet"] {
			for _, b := range edges["octet"] {
				list = append(list, a<<8|b)
			}
		}
		return list
	}
	if base, ok := strings.CutSuffix(t, "x2"); ok {
		var list []uint64
		for i, v := range edges[base] {
			list = append(list, v|edges[base][(i*7+3)%len(edges[base])]<<16)
		}
		return list
	}
	return edges[class(t)]
}

// rows are the operands that a vector is tried on: every pair of edges, or many triples, and random bits.
func (v vector) rows() [][3]uint64 {
	rng := rand.New(rand.NewPCG(1, uint64(len(v.inst))))
	types := strings.Fields(v.src)
	draw := func(i int) uint64 {
		if i >= len(types) {
			return 0
		}
		list := edgesOf(types[i])
		switch m := uint64(1)<<(bitsOf(types[i])-1)<<1 - 1; rng.IntN(3) {
		case 0:
			return list[rng.IntN(len(list))]
		case 1:
			return (list[rng.IntN(len(list))] + rng.Uint64N(7) - 3) & m
		default:
			return rng.Uint64() >> rng.IntN(64) & m
		}
	}
	var rows [][3]uint64
	switch len(types) {
	case 1:
		for _, a := range edgesOf(types[0]) {
			rows = append(rows, [3]uint64{a})
		}
	case 2:
		for _, a := range edgesOf(types[0]) {
			for _, b := range edgesOf(types[1]) {
				rows = append(rows, [3]uint64{a, b})
			}
		}
	}
	for range 700 {
		rows = append(rows, [3]uint64{draw(0), draw(1), draw(2)})
	}
	rows = append(rows, v.more...)
	if v.skip == nil {
		return rows
	}
	var kept [][3]uint64
	for _, r := range rows {
		if !v.skip(r[0], r[1], r[2]) {
			kept = append(kept, r)
		}
	}
	return kept
}

// apply runs a list of vectors on whatever device gputest gives, and compares.
func apply(t *testing.T, list []vector) {
	t.Helper()
	c := gputest.Context(t)
	var text strings.Builder
	text.WriteString(".version 7.8\n.target sm_90\n.address_size 64\n")
	for i, v := range list {
		text.WriteString(v.kernelText(fmt.Sprintf("v%d", i)))
	}
	m, err := c.LoadModule([]byte(text.String()))
	require.NoError(t, err)
	s, err := c.NewStream(cudadrv.StreamOptions{})
	require.NoError(t, err)
	defer func() {
		require.NoError(t, s.Close())
		require.NoError(t, m.Close())
	}()
	for i, v := range list {
		rows := v.rows()
		require.NotEmpty(t, rows)
		in := make([]byte, 24*len(rows))
		for j, r := range rows {
			for k, x := range r {
				binary.LittleEndian.PutUint64(in[24*j+8*k:], x)
			}
		}
		mem, err := c.Malloc(context.Background(), int64(32*len(rows)))
		require.NoError(t, err)
		out := mem.Ptr() + cudadrv.DevicePtr(len(in))
		require.NoError(t, c.CopyToDevice(context.Background(), mem.Ptr(), in))
		k, err := m.Kernel(fmt.Sprintf("v%d", i))
		require.NoError(t, err)
		if _, known := k.Params(); !known {
			require.NoError(t, k.Declare([]int{8, 8, 4}))
		}
		l, err := k.Bind(cudadrv.LaunchConfig{Grid: [3]uint32{uint32(len(rows)+127) / 128}, Block: [3]uint32{128}}, mem.Ptr(), out, uint32(len(rows)))
		require.NoError(t, err)
		require.NoError(t, l.Run(s))
		require.NoError(t, s.Synchronize(context.Background()))
		got := make([]byte, 8*len(rows))
		require.NoError(t, c.CopyToHost(context.Background(), got, out))
		require.NoError(t, mem.Close())
		wrong, explained := 0, 0
		for j, r := range rows {
			g, w := binary.LittleEndian.Uint64(got[8*j:]), v.want(r[0], r[1], r[2])
			if g == w || v.same != nil && v.same(g, w) {
				continue
			}
			if v.other != nil && g == v.other(r[0], r[1], r[2]) {
				explained++
			}
			if wrong++; wrong <= 3 {
				t.Errorf("%s of %#x: got %#x, want %#x", v.inst, r[:len(strings.Fields(v.src))], g, w)
			}
		}
		if wrong > 3 {
			t.Errorf("%s: %d of %d wrong", v.inst, wrong, len(rows))
		}
		if wrong > 0 && v.other != nil {
			t.Errorf("%s: %d of these %d are right if %s", v.inst, explained, wrong, v.rule)
		}
	}
}

// The vectors' expected values come from Go's integers, math/big and tables, by other ways than the simulated device's. On a GPU
// the same vectors say whether PTX was read rightly.
func TestIntegerInstructionsMatchTheDevice(t *testing.T) {
	gputest.Both(t, func(t *testing.T) { apply(t, integerVectors()) })
}

func TestBitInstructionsMatchTheDevice(t *testing.T) {
	gputest.Both(t, func(t *testing.T) { apply(t, bitVectors()) })
}

func TestFloatInstructionsMatchTheDevice(t *testing.T) {
	gputest.Both(t, func(t *testing.T) { apply(t, floatVectors()) })
}

func TestConversionsMatchTheDevice(t *testing.T) {
	gputest.Both(t, func(t *testing.T) { apply(t, convertVectors()) })
}

func TestComparisonsMatchTheDevice(t *testing.T) {
	gputest.Both(t, func(t *testing.T) { apply(t, compareVectors()) })
}
