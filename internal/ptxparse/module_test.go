package ptxparse

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const head = ".version 7.8\n.target sm_90\n.address_size 64\n"

func TestParametersAreReadInOrderWithSizeAndAlignment(t *testing.T) {
	cases := []struct {
		name, list string
		want       []Param
	}{
		{"none", "()", nil},
		{"no list", "", nil},
		{"scalars", "(.param .u64 a, .param .f32 b,\n\t.param .b16 c, .param .s8 d)", []Param{{"u64", 8, 8}, {"f32", 4, 4}, {"b16", 2, 2}, {"s8", 1, 1}}},
		{"pointer", "(.param .u64 .ptr .global .align 1 a)", []Param{{"u64", 8, 8}}},
		{"pointer without space", "(.param .u64 .ptr .align 16 a)", []Param{{"u64", 8, 8}}},
		{"struct", "(.param .align 8 .b8 a[24])", []Param{{"b8", 24, 8}}},
		{"array", "(.param .f64 a[3])", []Param{{"f64", 24, 8}}},
		{"over-aligned", "(.param .align 16 .u32 a)", []Param{{"u32", 4, 16}}},
		{"largest", "(.param .align 4 .b8 a[32764])", []Param{{"b8", 32764, 4}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, err := Parse([]byte(head + ".visible .entry k" + c.list + "\n{ ret; }\n"))
			require.NoError(t, err)
			require.Len(t, m.Entries(), 1)
			assert.Equal(t, "k", m.Entries()[0].Name)
			assert.Equal(t, c.want, m.Entries()[0].Params)
		})
	}
}

func TestAModuleIsOutlined(t *testing.T) {
	text := `// .entry comment()
/* .entry block( { */
.version 8.0
.target sm_80, texmode_independent
.address_size 64
.file 1 "a .entry name ( {.cu"
.extern .shared .align 16 .b8 tile[];
.global .align 4 .b8 table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
.section .debug_str { .b8 1, 2 { } }
.extern .func (.param .b32 r) elsewhere(.param .b32 a);
.func (.param .b32 r) helper(.param .b32 a) { .reg .f32 x; fma.rn.f32 x, x, x, x; ret; }
.visible .entry first(.param .u32 first_param_0)
.maxntid 32, 4, 2
.minnctapersm 2
{
	.reg .pred %p<3>;
	.reg .f32 %f<4>;
	.reg .b32 %r<5>;
	.reg .b64 %rd<2>;
	.loc 1 7 3
	ld.param.u32 	%r1, [first_param_0];
	ld.global.nc.L1::no_allocate.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];
	{ .reg .b32 t; mov.u32 t, %tid.x; }
$L__BB0_1:
	.pragma "nounroll; add.f32";
	@%p1 bra $L__BB0_1;
	@!%p2 add.rn.f32 %f1, %f2, %f3;
	@%p1 bra $L__BB0_1;
	ret;
}
.entry second { ret; }
`
	m, err := Parse([]byte(text))
	require.NoError(t, err)
	assert.Equal(t, 80, m.ISA)
	assert.Equal(t, "sm_80", m.Target)
	assert.Equal(t, []Entry{
		{Name: "first", Params: []Param{{"u32", 4, 4}}, MaxThreads: 256,
			Opcodes: []string{"ld.param.u32", "ld.global.nc.L1::no_allocate.v4.u32", "mov.u32", "bra", "add.rn.f32", "ret"}},
		{Name: "second", Opcodes: []string{"ret"}},
	}, m.Entries())
	_, ok := m.Func("helper")
	assert.True(t, ok)
	_, ok = m.Func("elsewhere")
	assert.False(t, ok)
}

func TestWhatCannotBeReadIsAnErrorWithItsLine(t *testing.T) {
	cases := []struct {
		name, text string
		line       int
	}{
		{"empty", "", 1},
		{"no target", ".version 7.8\n", 2},
		{"no version", ".target sm_90\n", 2},
		{"bad version", "\n.version x\n", 2},
		{"version of one number", ".version 8\n", 1},
		{"entry without body", head + ".entry k();", 4},
		{"entry cut off", head + ".entry k(", 4},
		{"entry without name", head + ".entry (.param .u32 a) {}", 4},
		{"body without end", head + ".entry k()\n{ ret;\n", 5},
		{"brace too many", head + "}", 4},
		{"comment without end", head + "/* a\nb", 4},
		{"string without end", head + ".file \"a\n\"", 4},
		{"unknown type", head + ".entry k(.param .q32 a) {}", 4},
		{"no type", head + ".entry k(.param a) {}", 4},
		{"no comma", head + ".entry k(.param .u32 a .param .u32 b) {}", 4},
		{"no brackets' end", head + ".entry k(.param .b8 a[3) {}", 4},
		{"length zero", head + ".entry k(.param .b8 a[0]) {}", 4},
		{"length too large", head + ".entry k(.param .b8 a[32765]) {}", 4},
		{"length past int", head + ".entry k(.param .b8 a[99999999999999999999]) {}", 4},
		{"sum too large", head + ".entry k(.param .b8 a[32764], .param .b8 b) {}", 4},
		{"array too large", head + ".entry k(.param .f64 a[4096]) {}", 4},
		{"odd alignment", head + ".entry k(.param .align 3 .b8 a[3]) {}", 4},
		{"register that is not declared", head + ".entry k() {\nmov.u32 %r1, %tid.x; }", 5},
		{"operand that is not declared", head + ".entry k() {\n.reg .b32 a;\nld.global.u32 a, [b]; }", 6},
		{"label that is not there", head + ".entry k() {\nbra L;\n}", 5},
		{"label twice", head + ".entry k() {\nL:\nL: }", 6},
		{"label of an inner block", head + ".entry k() {\nbra L; { L: ret; } }", 5},
		{"register twice", head + ".entry k() {\n.reg .b32 a;\n.reg .b64 a; }", 6},
		{"unknown register type", head + ".entry k() { .reg .q1 a; }", 4},
		{"guard that is no predicate", head + ".entry k() { .reg .b32 a;\n@a ret; }", 5},
		{"more initial values than bytes", head + ".global .b8 t[2] = {1, 2, 3};", 4},
		{"entry twice", head + ".entry k() {}\n.entry k() {}", 5},
		{"no such directive", head + ".nonsense 1;", 4},
		{"address size 32", ".version 7.8\n.target sm_90\n.address_size 32\n", 3},
		{"unfinished operand", head + ".entry k() { add.s32 ,; }", 4},
		{"vector of labels", head + ".entry k() { mov.b64 {a, b}, c; }", 4},
		{"block too large", head + ".entry k() .maxntid 1024, 1024, 1024, 1024 {}", 4},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m, err := Parse([]byte(c.text))
			assert.Nil(t, m)
			var syntax *SyntaxError
			require.True(t, errors.As(err, &syntax), "%v", err)
			assert.Equal(t, c.line, syntax.Line, err)
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, body := range instructions {
		f.Add([]byte(head + ".entry k(.param .align 8 .b8 a[24]) .maxntid 1,2,3 {" + regs + body + "}"))
	}
	f.Add([]byte("/*"))
	f.Add([]byte(".entry k(.param .u64 .ptr"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := Parse(text)
		if err != nil {
			var syntax *SyntaxError
			require.True(t, errors.As(err, &syntax), "%v", err)
			assert.Positive(t, syntax.Line)
			return
		}
		for _, fn := range m.Funcs {
			if fn.Entry {
				checkParams(t, fn)
			}
			for i := range fn.Body {
				checkArgs(t, fn, fn.Body[i].Args)
			}
		}
	})
}

func checkParams(t *testing.T, fn *Func) {
	total := 0
	for _, p := range fn.Params {
		require.Positive(t, p.Size)
		require.Zero(t, p.Align&(p.Align-1))
		total += p.Size
	}
	require.LessOrEqual(t, total, maxParams)
}

// checkArgs requires that every name of a function was resolved to something that is there.
func checkArgs(t *testing.T, fn *Func, args []Operand) {
	for _, o := range args {
		switch o.Kind {
		case KindReg:
			require.Less(t, o.Reg, len(fn.Regs))
		case KindAddress:
			require.Less(t, o.Reg, len(fn.Regs))
		case KindVar:
			require.NotNil(t, o.Var)
		case KindLabel:
			require.GreaterOrEqual(t, o.Target, 0)
			require.LessOrEqual(t, o.Target, len(fn.Body))
		}
		checkArgs(t, fn, o.Elems)
	}
}
