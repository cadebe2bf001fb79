package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ptx"
)

func TestEachInstructionIsChangedByItsOwnRules(t *testing.T) {
	cases := []struct{ line, rule, want string }{
		{"add.s32 	%r1, %r2, 4;", "add becomes sub", "sub.s32 	%r1, %r2, 4;"},
		{"add.rn.f32 	%f1, %f2, %f3;", ".rn becomes .rz", "add.rz.f32 	%f1, %f2, %f3;"},
		{"mul.rn.f32 	%f1, %f2, %f3;", "mul becomes add", "add.rn.f32 	%f1, %f2, %f3;"},
		{"mul.lo.s32 	%r1, %r2, %r3;", ".lo. becomes .hi.", "mul.hi.s32 	%r1, %r2, %r3;"},
		{"shl.b64 	%rd1, %rd2, 3;", "shl becomes shr", "shr.u64 	%rd1, %rd2, 3;"},
		{"shr.u32 	%r1, %r2, 3;", "shr becomes shl", "shl.b32 	%r1, %r2, 3;"},
		{"setp.lt.s32 	%p1, %r1, %r2;", ".lt becomes .le", "setp.le.s32 	%p1, %r1, %r2;"},
		{"setp.geu.f32 	%p1, %f1, %f2;", ".geu becomes .ltu", "setp.ltu.f32 	%p1, %f1, %f2;"},
		{"selp.b32 	%r1, %r2, %r3, %p1;", "the choice is turned round", "selp.b32 	%r1, %r3, %r2, %p1;"},
		{"ld.global.nc.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];", "one element further", "ld.global.nc.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1+16];"},
		{"st.shared.v2.b32 	[%r1+8], {%r2, %f1};", "one element further", "st.shared.v2.b32 	[%r1+16], {%r2, %f1};"},
		{"cvt.rn.f16.f32 %rs1, %f1;", ".rn. becomes .rz.", "cvt.rz.f16.f32 %rs1, %f1;"},
		{"atom.global.min.u64 %rd1, [%rd2], %rd3;", ".min. becomes .max.", "atom.global.max.u64 %rd1, [%rd2], %rd3;"},
	}
	for _, c := range cases {
		m := instruction.FindStringSubmatch(c.line)
		require.NotNil(t, m, c.line)
		got := map[string]string{}
		for _, change := range changes(m[2], m[4]) {
			got[change[0]] = m[1] + change[1] + m[3] + change[2]
		}
		assert.Equal(t, c.want, got[c.rule], c.line)
	}
	for _, line := range []string{"ld.param.u64 	%rd1, [k_param_0];", "mov.u32 	%r1, %tid.x;", "ret;"} {
		if m := instruction.FindStringSubmatch(line); m != nil {
			assert.Empty(t, changes(m[2], m[4]), line)
		}
	}
}

func TestOnlyWhatRanIsChangedAndOneLineEach(t *testing.T) {
	text := imageOf("voxel_count")
	none := candidates("voxel_count", text, nil)
	assert.Greater(t, none.instructions, 1000)
	assert.Empty(t, none.mutants)
	lines := strings.Split(string(text), "\n")
	ran := map[int]bool{}
	for i := range lines {
		ran[i+1] = true
	}
	all := candidates("voxel_count", text, ran)
	assert.Equal(t, all.instructions, all.ran)
	assert.Greater(t, len(all.mutants), 500)
	for i, m := range all.mutants {
		if i%8 > 0 {
			continue
		}
		assert.Equal(t, lines[m.Line-1], m.Old)
		assert.NotEqual(t, m.Old, m.New)
		family, _, ok := ptx.Lookup(m.Kernel)
		assert.True(t, ok && family == "voxel_count", m.Kernel)
		changed := strings.Split(string(replaceLine(text, m.Line, m.New)), "\n")
		require.Len(t, changed, len(lines))
		assert.Equal(t, m.New, changed[m.Line-1])
	}
}

func TestWhatChangesNothingIsNotDrawn(t *testing.T) {
	ran := map[int]bool{2: true}
	for _, c := range []struct {
		text  string
		drawn int
	}{
		{"setp.lt.s32 	%p1, %r1, %r2;\nselp.b32 	%r3, %r1, %r2, %p1;", 0},
		{"setp.lt.s32 	%p1, %r1, %r2;\nselp.b32 	%r3, %r2, %r1, %p1;", 0},
		{"setp.lt.s32 	%p1, %r1, %r2;\nselp.b32 	%r3, %r1, %r4, %p1;", 1},
		{"setp.lt.s32 	%p1, %r1, %r2;\nselp.b32 	%r3, %r1, %r2, %p1;\n@%p1 bra 	$L;", 1},
		{"setp.lt.s32 	%p1, %r1, %r2;\nselp.b32 	%r3, %r1, %r2, %p11;", 1},
		{"setp.gt.f64 	%p1, %fd1, 0d43D0000000000000;\nselp.f64 	%fd2, 0d43D0000000000000, %fd1, %p1;", 0},
		{"setp.gt.f64 	%p1, %fd1, %fd2;\nselp.f64 	%fd3, %fd2, %fd1, %p1;", 1},
		{"setp.gt.f64 	%p1, %fd1, 0d0000000000000000;\nselp.f64 	%fd2, 0d0000000000000000, %fd1, %p1;", 1},
		{"@%p1 bra 	$L1;\n// why\n$L0:\n$L1:\nret;", 0},
		{"@%p1 bra 	$L1;\nadd.s32 	%r1, %r1, %r1;\n$L1:\nret;", 1},
		{"@%p1 bra 	$L1;\nbra.uni 	$L1;\nret;", 0},
		{"bra.uni 	$L1;\nadd.s32 	%r1, %r1, %r1;\n$L1:\nret;", 0},
		{"bra 	$L1;\nadd.s32 	%r1, %r1, %r1;\n$L1:\nret;", 0},
		{"@%p1 bra.uni 	$L1;\nadd.s32 	%r1, %r1, %r1;\n$L1:\nret;", 1},
		{"@%p1 bra 	$L1;\nbra.uni 	$L2;\nret;", 1},
		{"cvt.rn.f64.u32 	%fd1, %r1;", 0},
		{"cvt.rn.f64.s64 	%fd1, %rd1;", 1},
		{"cvt.rn.f32.u32 	%f1, %r1;", 1},
		{"cvt.rn.f16.f32 	%rs1, %f1;\nmov.f32 	%f1, 0f7FC00000;", 0},
		{"cvt.rn.f16.f32 	%rs1, %f1;\nmov.f32 	%f1, 0f7FC00000;\nmov.f32 	%f1, %f2;", 1},
		{"cvt.rn.f16.f32 	%rs1, %f1;\nmov.f32 	%f1, 0f3F800001;", 1},
		{"cvt.rn.f16.f32 	%rs1, %f1;\nmov.f32 	%f11, 0f7FC00000;", 1},
	} {
		found := candidates("resample", []byte(".visible .entry k(\n"+c.text), ran)
		assert.Len(t, found.mutants, c.drawn, c.text)
	}
	const less = "setp.lt.u64 	%p1, %rd1, %rd2;"
	const lessOf32 = "setp.lt.u32 	%p1, %r1, %r2;"
	for _, c := range []struct {
		before, at, after string
		drawn             int
	}{
		{"add.s32 	%r1, %r3, 4;\nadd.s32 	%r2, %r3, 1;", lessOf32, "", 0},
		{"add.s32 	%r1, %r2, 4;", lessOf32, "", 0},
		{"add.s32 	%r1, %r3, 4;\nadd.s32 	%r2, %r3, 4;", lessOf32, "", 1},
		{"add.s32 	%r1, %r3, 4;\nadd.s32 	%r2, %r4, 1;", lessOf32, "", 1},
		{"add.s32 	%r1, %r3, 4;\nmov.u32 	%r3, %r5;\nadd.s32 	%r2, %r3, 1;", lessOf32, "", 1},
		{"add.s32 	%r1, %r3, 4;\n$L1:\nadd.s32 	%r2, %r3, 1;", lessOf32, "", 1},
		{"add.s32 	%r1, %r1, 4;", "setp.lt.u32 	%p1, %r1, %r1;", "", 1},
		{"cvt.u64.u32 	%rd2, %r2;", less, "cvt.u32.u64 	%r1, %rd1;\nselp.b32 	%r3, %r1, %r2, %p1;", 0},
		{"cvt.u64.u32 	%rd2, %r2;", less, "cvt.u32.u64 	%r1, %rd1;\nselp.b32 	%r3, %r2, %r1, %p1;", 0},
		{"cvt.u64.u32 	%rd2, %r2;", less, "cvt.u32.u64 	%r1, %rd3;\nselp.b32 	%r3, %r1, %r2, %p1;", 1},
		{"cvt.u64.u32 	%rd2, %r2;", less, "mov.u64 	%rd1, %rd3;\ncvt.u32.u64 	%r1, %rd1;\nselp.b32 	%r3, %r1, %r2, %p1;", 1},
		{"cvt.u64.u32 	%rd2, %r2;\nmov.u32 	%r2, 0;", less, "cvt.u32.u64 	%r1, %rd1;\nselp.b32 	%r3, %r1, %r2, %p1;", 1},
		{"cvt.u64.u32 	%rd2, %r2;\n$L1:", less, "cvt.u32.u64 	%r1, %rd1;\nselp.b32 	%r3, %r1, %r2, %p1;", 1},
	} {
		text := ".visible .entry k(\n// begin\n" + c.before + "\n" + c.at + "\n" + c.after
		found := candidates("resample", []byte(text), map[int]bool{3 + strings.Count(c.before, "\n") + 1: true})
		assert.Len(t, found.mutants, c.drawn, text)
	}
}

func TestASumWithZeroNeedsNoRounding(t *testing.T) {
	for line, want := range map[string]bool{
		"add.rn.f32 	%f1, %f2, 0f00000000;":           true,
		"add.rn.f64 	%fd1, 0d8000000000000000, %fd2;": true,
		"sub.rn.f64 	%fd1, 0d0000000000000000, %fd2;": true,
		"add.rn.f32 	%f1, %f2, 0f00000001;":           false,
		"add.rn.f32 	%f1, %f2, %f3;":                  false,
		"mul.rn.f32 	%f1, %f2, 0f00000000;":           false,
	} {
		assert.Equal(t, want, changesNothing([]string{line}, 0, 1, 0, ".rn becomes .rz"), line)
		assert.False(t, changesNothing([]string{line}, 0, 1, 0, "add becomes sub"), line)
	}
}

func TestAProductOfFloatsIsExactInFloat64(t *testing.T) {
	const times = "mul.rn.f64 	%fd1, %fd2, %fd3;"
	const one, other = "cvt.f64.f32 	%fd2, %f2;", "cvt.f64.f32 	%fd3, %f3;"
	for _, c := range []struct {
		before, at string
		want       bool
	}{
		{one + "\n" + other, times, true},
		{one + "\ncvt.f64.f32 	%fd4, %f4;", "mul.rn.f64 	%fd1, %fd2, %fd2;", true},
		{one, times, false},
		{one + "\nmov.f64 	%fd3, %fd4;", times, false},
		{one + "\n" + other + "\nadd.rn.f64 	%fd3, %fd3, %fd4;", times, false},
		{one + "\n" + other + "\n$L1:", times, false},
		{one + "\n" + other, "add.rn.f64 	%fd1, %fd2, %fd3;", false},
		{"cvt.rn.f64.s64 	%fd2, %rd2;\n" + other, times, false},
	} {
		lines := append([]string{"// begin"}, strings.Split(c.before+"\n"+c.at, "\n")...)
		assert.Equal(t, c.want, changesNothing(lines, 0, len(lines), len(lines)-1, ".rn becomes .rz"), c)
		assert.False(t, changesNothing(lines, 0, len(lines), len(lines)-1, "mul becomes add"), c)
	}
}

func TestAProductByOneNeedsNoRounding(t *testing.T) {
	const times = "mul.rn.f64 	%fd1, %fd2, %fd3;"
	for before, want := range map[string]bool{
		"selp.f64 	%fd2, 0dBFF0000000000000, 0d3FF0000000000000, %p1;":                                     true,
		"selp.f64 	%fd3, 0d3FF0000000000000, 0dBFF0000000000000, %p1;\nadd.rn.f64 	%fd4, %fd2, %fd2;":      true,
		"selp.f64 	%fd2, 0dBFF0000000000000, 0d3FF0000000000001, %p1;":                                     false,
		"selp.f64 	%fd2, 0dBFF0000000000000, %fd4, %p1;":                                                   false,
		"selp.f64 	%fd22, 0dBFF0000000000000, 0d3FF0000000000000, %p1;":                                    false,
		"selp.f64 	%fd2, 0dBFF0000000000000, 0d3FF0000000000000, %p1;\n$L1:":                               false,
		"selp.f64 	%fd2, 0dBFF0000000000000, 0d3FF0000000000000, %p1;\nadd.rn.f64 	%fd2, %fd2, %fd4;":      false,
		"selp.f64 	%fd2, 0d4000000000000000, 0d3FF0000000000000, %p1;\n// of two the least number is none": false,
	} {
		lines := append([]string{"// begin"}, strings.Split(before+"\n"+times, "\n")...)
		assert.Equal(t, want, changesNothing(lines, 0, len(lines), len(lines)-1, ".rn becomes .rz"), before)
		assert.False(t, changesNothing(lines, 0, len(lines), len(lines)-1, "mul becomes add"), before)
	}
}

func TestArgumentsHoldForTheirOwnTextOnly(t *testing.T) {
	for _, c := range []struct{ family, text, rule, want string }{
		{"resample", "cvt.rn.f32.u32 	%f1, %r1;", ".rn. becomes .rz.", "a count as a float"},
		{"voxel_sort voxel_histogram", "cvt.rn.f32.u32 	%f1, %r1;", ".rn. becomes .rz.", ""},
		{"fuse", "cvt.rn.f16.f32 	%rs1, %f1;", ".rn. becomes .rz.", ""},
		{"fuse", "mul.rn.f64 	%fd1, %fd2, 0d3EB0000000000000;", ".rn becomes .rz", "a product by a power of two"},
		{"fuse", "mul.rn.f64 	%fd1, %fd2, 0d3EB0000000000001;", ".rn becomes .rz", ""},
		{"fuse", "mul.rn.f64 	%fd1, %fd2, 0d3EB0000000000000;", "mul becomes add", ""},
		{"fuse", "add.rn.f64 	%fd1, %fd2, 0d3EFA01A01A01A01A;", ".rn becomes .rz", "a term of a series"},
		{"fuse", "add.rn.f64 	%fd1, %fd2, 0d3EFA01A01A01A01A;", "add becomes sub", ""},
		{"fuse", "setp.gt.u64 	%p1, %rd1, 16777215;", ".gt becomes .ge", "a quotient either way"},
		{"fuse", "setp.gt.u64 	%p1, %rd1, 16777217;", ".gt becomes .ge", ""},
		{"fuse", "or.b64  	%rd1, %rd2, %rd3;\nand.b64  	%rd4, %rd1, -4294967296;\nsetp.ne.s64 	%p1, %rd4, 0;", "or becomes and", "numbers that fit 32 bits"},
		{"fuse", "or.b64  	%rd1, %rd2, %rd3;\nand.b64  	%rd4, %rd1, -65536;\nsetp.ne.s64 	%p1, %rd4, 0;", "or becomes and", ""},
		{"fuse", "mul.rn.f64 	%fd1, %fd2, 0dBBA3198A2E037073;", ".rn becomes .rz", "a quarter turn's third part"},
		{"voxel_reduce", "@%p1 bra 	$L1;\nbra.uni 	$L2;\n$L1:\ncvt.u32.u64 	%r1, %rd1;\ncvt.u32.u64 	%r2, %rd2;\ndiv.u32 	%r3, %r1, %r2;", leftOut, "the long way to a quotient"},
		{"voxel_reduce", "@%p1 bra 	$L1;\nbra.uni 	$L2;\n$L1:\ndiv.u64 	%rd3, %rd1, %rd2;\ncvt.u32.u64 	%r1, %rd3;", leftOut, ""},
		{"voxel_group voxel_partition_points", "add.rn.f32 	%f1, %f2, 0fBF000000;", ".rn becomes .rz", "how sure a cell is"},
		{"voxel_group voxel_partition_points", "add.rn.f32 	%f1, %f2, 0fBF000000;", "add becomes sub", ""},
		{"voxel_sort voxel_histogram", "add.rn.f32 	%f1, %f2, 0fBF000000;", ".rn becomes .rz", ""},
		{"fuse", "add.rn.f64 	%fd1, %fd2, 0d3FC999999999999A;", ".rn becomes .rz", "a term of a series"},
		{"resample_channels", "sub.s64 	%rd1, %rd2, %rd3;\nsetp.lt.s64 	%p1, %rd1, 2147483648;", "sub becomes add", "the length of such a row"},
		{"resample_channels", "sub.s64 	%rd1, %rd2, %rd3;\nsetp.lt.s64 	%p1, %rd1, 2147483647;", "sub becomes add", ""},
		{"resample_fast", "setp.lt.u32 	%p1, %r1, %r2;\nselp.b32 	%r3, %r1, %r4, %p1;\nmul.wide.u32 	%rd1, %r3, 8;\nadd.s64 	%rd2, %rd3, %rd1;\ncvta.to.global.u64 	%rd4, %rd2;\n// begin inline asm\nld.global.nc.u64 	%rd5, [%rd4];",
			".lt becomes .le", "the search's end"},
		{"fuse_unaligned", "setp.lt.s32 	%p1, %r1, -1;\nsetp.lt.s32 	%p2, %r2, %r3;\nselp.b32 	%r4, %r2, %r5, %p2;\nselp.b32 	%r6, 0, %r4, %p1;", ".lt becomes .le", "an index cut at zero"},
		{"fuse_unaligned", "setp.lt.s32 	%p1, %r1, -1;\nsetp.lt.s32 	%p2, %r2, %r3;\nselp.b32 	%r4, %r2, %r5, %p2;\nselp.b32 	%r6, 1, %r4, %p1;", ".lt becomes .le", ""},
		{"resample_f64 resample_f64", "setp.gt.u32 	%p1, %r1, 2;", ".gt becomes .ge", "elements at once, of f64"},
		{"resample resample", "setp.gt.u32 	%p1, %r1, 2;", ".gt becomes .ge", ""},
		{"resample_channels resample_channels", "selp.f32 	%f3, %f1, %f2, %p1;\n// cvt.rz.f32.f64 or.b32 %r1, %r2, 1; cvt.rn.bf16.f32", "the choice is turned round", "rounded to odd on the way to 16 bits"},
		{"resample_channels resample_channels_f64", "selp.f32 	%f3, %f1, %f2, %p1;\n// cvt.rz.f32.f64 or.b32 %r1, %r2, 1; cvt.rn.bf16.f32", "the choice is turned round", ""},
		{"voxel_reduce", "setp.gt.s32 	%p1, %r1, -1;\nselp.b32 	%r2, 2, 3, %p1;\nselp.b32 	%r3, %r2, 1, %p2;", ".gt becomes .ge", ""},
		{"voxel_reduce voxel_reduce_large", "setp.lt.u16 	%p1, %rs1, %rs2;", ".lt becomes .le", "lanes that are left over"},
		{"voxel_reduce voxel_reduce", "div.rn.f64 	%fd1, %fd2, %fd3;\n// end inline asm\ncvt.rn.f32.f64 	%f1, %fd1;", ".rn becomes .rz", "a mean in float64"},
		{"voxel_group voxel_cells", "div.rn.f64 	%fd1, %fd2, %fd3;\n// end inline asm\ncvt.rn.f32.f64 	%f1, %fd1;", ".rn becomes .rz", "a mean in float64"},
		{"voxel_reduce voxel_reduce_large", "div.rn.f64 	%fd1, %fd2, %fd3;\n// end inline asm\ncvt.rn.f32.f64 	%f1, %fd1;", ".rn becomes .rz", ""},
		{"voxel_reduce voxel_reduce_large", "mul.rn.f64 	%fd1, %fd2, %fd3;\n// begin inline asm\nfma.rn.f64 %fd4, %fd5, %fd1, %fd6;", ".rn becomes .rz", "what a quotient begins with"},
		{"voxel_reduce voxel_reduce_large", "mul.rn.f64 	%fd1, %fd2, %fd3;\n// begin inline asm\nadd.rn.f64 %fd4, %fd5, %fd1;", ".rn becomes .rz", ""},
		{"voxel_sort voxel_histogram", "setp.gt.u64 	%p1, %rd1, %rd2;\nbar.sync 0;\n@%p1 bra 	$L;\n// begin inline asm\ngriddepcontrol.wait;", ".gt becomes .ge", "a block without points"},
		{"voxel_count voxel_partition_cells", "add.rn.f32 	%f1, %f2, 0fCB400000;", ".rn becomes .rz", "how sure a cell is"},
		{"voxel_count voxel_partition_cells", "add.rn.f32 	%f1, %f2, 0f4B400000;", ".rn becomes .rz", ""},
		{"voxel_count voxel_partition_cells", "mul.rn.f32 	%f1, %f2, 0f34800000;", ".rn becomes .rz", "a margin's scale"},
		{"voxel_count voxel_partition_cells", "mul.rn.f32 	%f1, %f2, 0f34800001;", ".rn becomes .rz", ""},
		{"voxel_count voxel_partition_cells", "mul.rn.f32 	%f1, %f2, 0f34800000;", "mul becomes add", ""},
		{"voxel_reduce voxel_hard", "setp.lt.u64 	%p1, %rd1, 4294967296;", ".lt becomes .le", "as many as 32 bits number"},
		{"voxel_sort voxel_histogram", "setp.lt.f32 	%p1, %f1, 0f4F000000;", ".lt becomes .le", "an index beyond any axis"},
		{"voxel_sort voxel_histogram", "setp.lt.f32 	%p1, %f1, 0f4EFFFFFF;", ".lt becomes .le", ""},
		{"voxel_write voxel_write", "@%p1 bra 	$L1;\n// %bb.1:\n// begin inline asm\ngriddepcontrol.wait;", leftOut, "a wait once more"},
		{"voxel_sort voxel_histogram", "@%p1 bra 	$L1;\n// %bb.1:\n// begin inline asm\ngriddepcontrol.wait;", leftOut, ""},
		{"voxel_reduce voxel_hard", "setp.lt.u64 	%p1, %rd1, 4294967295;", ".lt becomes .le", ""},
		{"voxel_write voxel_write", "@%p1 bra 	$L1;\nbra.uni 	$L2;\n$L1:\ncvt.u32.u64 	%r1, %rd1;\ncvt.u32.u64 	%r2, %rd2;\nmad.lo.s32 	%r3, %r4, %r2, %r5;\nmad.lo.s32 	%r6, %r3, %r7, %r8;\nmad.lo.s32 	%r9, %r6, %r1, %r10;\ncvt.u64.u32 	%rd3, %r9;",
			leftOut, "the long way to a key"},
		{"voxel_write voxel_write", "@%p1 bra 	$L1;\nbra.uni 	$L2;\n$L1:\ncvt.u32.u64 	%r1, %rd1;\ncvt.u32.u64 	%r2, %rd2;\nmad.lo.s32 	%r3, %r4, %r2, %r5;\nmad.lo.s32 	%r6, %r3, %r7, %r8;\ncvt.u64.u32 	%rd3, %r6;", leftOut, ""},
		{"fuse fuse", "and.b64 	%rd1, %rd2, 4294967295;\n>setp.lt.s64 	%p1, %rd3, %rd1;\ncvt.u32.u64 	%r1, %rd3;\nselp.b32 	%r2, %r1, 0, %p1;", ".lt becomes .le", "a row's end found twice"},
		{"fuse fuse", "and.b64 	%rd1, %rd2, 4294967295;\n>setp.lt.s64 	%p1, %rd3, %rd1;\ncvt.u32.u64 	%r1, %rd3;\nselp.b32 	%r2, %r1, %r3, %p1;", ".lt becomes .le", ""},
		{"matmul matmul_nn_128", "setp.le.f32 	%p1, %f1, 0f00000000;\nselp.f32 	%f1, 0f00000000, %f1, %p1;", ".le becomes .lt", "a sign of zero that a sum has not"},
		{"matmul matmul_nn_128", "setp.le.f32 	%p1, %f1, 0f3F800000;\nselp.f32 	%f1, 0f00000000, %f1, %p1;", ".le becomes .lt", ""},
		{"matmul matmul_nn_128", "setp.le.f32 	%p1, %f1, 0f00000000;\nselp.f32 	%f1, 0f3F800000, %f1, %p1;", ".le becomes .lt", ""},
		{"fuse_unaligned fuse_unaligned", "mul.rn.f32 	%f1, %f2, %f3;\nadd.rn.f32 	%f4, %f1, %f5;\ncvt.rzi.u32.f32 	%r1, %f4;", ".rn becomes .rz", "where a search looks next"},
		{"fuse_unaligned fuse_unaligned", "mul.rn.f32 	%f1, %f2, %f3;\nadd.rn.f32 	%f4, %f1, %f5;\ncvt.rn.bf16x2.f32 	%r1, %f4, %f1;", ".rn becomes .rz", ""},
		{"fuse_unaligned fuse_unaligned", "mul.rn.f32 	%f1, %f2, %f3;\nadd.rn.f32 	%f4, %f1, %f5;\ncvt.rzi.u32.f32 	%r1, %f4;", "mul becomes add", ""},
		{"resample_curves resample_curves", "shr.u64 	%rd1, %rd2, 63;\n>add.s64 	%rd3, %rd2, %rd1;\nshr.s64 	%rd4, %rd3, 1;", "add becomes sub", "half of a sum"},
		{"resample_curves resample_curves", ">add.s64 	%rd2, %rd5, %rd6;\nshr.u64 	%rd1, %rd2, 63;\nadd.s64 	%rd3, %rd2, %rd1;\nshr.s64 	%rd4, %rd3, 1;", "add becomes sub", ""},
		{"resample_curves resample_curves", "shr.u64 	%rd1, %rd2, 62;\n>add.s64 	%rd3, %rd2, %rd1;\nshr.s64 	%rd4, %rd3, 2;", "add becomes sub", ""},
		{"fuse fuse", "setp.gt.u32 	%p1, %r1, -5;", ".gt becomes .ge", ""},
		{"fuse_unaligned fuse_unaligned", "setp.gt.s32 	%p1, %r1, -5;", ".gt becomes .ge", ""},
		{"resample_curves resample_curves", "add.rn.f64 	%fd1, %fd2, %fd3;\nmul.rn.f64 	%fd4, %fd5, 0d3F87A4A044ADC375;", ".rn becomes .rz", "a term of slerp's ratios"},
		{"resample_curves resample_curves", "add.rn.f64 	%fd1, %fd2, %fd3;\nmul.rn.f64 	%fd4, %fd5, 0d3F87A4A044ADC375;", "add becomes sub", ""},
		{"resample_curves resample_curves", "add.rn.f64 	%fd1, %fd2, %fd3;\nmul.rn.f64 	%fd4, %fd5, 0d3F87A4A044ADC376;", ".rn becomes .rz", ""},
	} {
		lines := strings.Split(c.text, "\n")
		at := max(0, slices.IndexFunc(lines, func(line string) bool { return line[0] == '>' })) // the changed line, if it is not the first
		lines[at] = strings.TrimPrefix(lines[at], ">")
		family, kernel, _ := strings.Cut(c.family, " ")
		assert.Equal(t, c.want, argued(lines, &Mutant{Family: family, Kernel: kernel, Line: at + 1, Old: lines[at], Rule: c.rule}), c.text)
	}
}

func TestArgumentsLookAtTheLinesBefore(t *testing.T) {
	const sure = "add.rn.f32 	%f1, %f2, 0fBF000000;\nabs.f32 	%f3, %f1;\n"
	const adds = "\n// %bb.1:\nshl.b64 	%rd1, %rd2, 3;\nadd.s64 	%rd3, %rd4, %rd1;\ncvt.u64.u32 	%rd5, %r1;\n// begin inline asm\nred.global.add.u64 [%rd3], %rd5;"
	const votes = "\n// %bb.58:\n// begin inline asm\n{\n.reg .pred p;\nsetp.ne.u32 p, %r1, 0;\nvote.sync.ballot.b32 %r1, p, 0xffffffff;\n}\n// end inline asm\n// begin inline asm\npopc.b32 %r2, %r1;"
	const order = "and.b32  	%r1, %r2, 2147483647;\nnot.b32 	%r3, %r2;\n"
	const round = "setp.lt.u32 	%p1, %r1, %r2;\n@%p1 bra 	$L1;\nbra.uni 	$L2;\n$L1:                            // =>This Inner Loop Header: Depth=1\n"
	const skip = "\ncvt.u64.u32 	%rd1, %r1;\nmov.b32 	%r3, "
	const warps = "add.s32 	%r2, %r3, -1;\nselp.b32 	%r4, 0, %r2, %p1;\n"
	for _, c := range []struct{ family, before, at, after, rule, want string }{
		{"voxel_count voxel_partition_cells", sure, "setp.lt.f32 	%p1, %f3, %f4;", "", ".lt becomes .le", "a cell that is just sure"},
		{"voxel_count voxel_partition_cells", "neg.f32 	%f3, %f1;\n", "setp.lt.f32 	%p1, %f3, %f4;", "", ".lt becomes .le", ""},
		{"voxel_sort voxel_histogram", sure, "setp.lt.f32 	%p1, %f3, %f4;", "", ".lt becomes .le", ""},
		{"voxel_write voxel_write", sure, "setp.geu.f32 	%p1, %f3, %f4;", "", ".ge becomes .gt", "a cell that is just not sure"},
		{"voxel_count voxel_partition_cells", "setp.lt.f64 	%p1, %fd1, 0d41E0000000000000;\n", "cvt.rzi.u32.f64 	%r1, %fd1;", "", ".rzi. becomes .rpi.", "a floor as an integer"},
		{"voxel_count voxel_partition_cells", "setp.lt.f32 	%p1, %f1, 0f4F000000;\n", "cvt.rzi.u32.f32 	%r1, %f1;", "", ".rzi. becomes .rpi.", "a floor as an integer"},
		{"voxel_count voxel_partition_cells", "setp.lt.f64 	%p1, %fd1, 0d41F0000000000000;\n", "cvt.rzi.u32.f64 	%r1, %fd1;", "", ".rzi. becomes .rpi.", ""},
		{"voxel_reduce voxel_reduce", order, "setp.lt.s32 	%p1, %r2, 0;", "\nselp.b32 	%r4, %r1, %r3, %p1;", ".lt becomes .le", "the bits of no number"},
		{"voxel_reduce voxel_reduce", order, "setp.lt.s32 	%p1, %r2, 1;", "\nselp.b32 	%r4, %r1, %r3, %p1;", ".lt becomes .le", ""},
		{"voxel_write voxel_write", "setp.eq.s32 	%p1, %r1, 0;\n", "@%p1 bra 	$L1;", adds, leftOut, "nothing to add"},
		{"voxel_write voxel_write", "setp.eq.s32 	%p1, %r1, 1;\n", "@%p1 bra 	$L1;", adds, leftOut, ""},
		{"resample_thread_per_row resample_thread_per_row", "selp.b32 	%r1, %r2, %r3, %p1;\n", "setp.le.f64 	%p2, %fd1, %fd2;", "\nsetp.gt.f64 	%p3, %fd3, %fd2;\nand.pred 	%p4, %p2, %p3;\n@%p4 bra 	$L1;", ".le becomes .lt", "a window asked again"},
		{"resample_fast resample_fast", "selp.b32 	%r1, %r2, %r3, %p1;\n", "setp.le.f64 	%p2, %fd1, %fd2;", "\nsetp.gt.f64 	%p3, %fd3, %fd2;\nand.pred 	%p4, %p2, %p3;\n@%p4 bra 	$L1;", ".le becomes .lt", ""},
		{"resample_thread_per_row resample_thread_per_row", "selp.b32 	%r1, %r2, %r3, %p1;\nselp.b32 	%r4, %r5, %r6, %p1;\nadd.s32 	%r7, %r1, 1;\n", "setp.ge.u32 	%p2, %r7, %r4;", "\n@%p2 bra 	$L1;", ".ge becomes .gt", "a cut of nothing"},
		{"resample_thread_per_row resample_thread_per_row", "selp.b32 	%r1, %r2, %r3, %p1;\nselp.b32 	%r4, %r5, %r6, %p1;\nadd.s32 	%r7, %r1, 2;\n", "setp.ge.u32 	%p2, %r7, %r4;", "\n@%p2 bra 	$L1;", ".ge becomes .gt", ""},
		{"resample_thread_per_row resample_thread_per_row", "setp.lt.u32 	%p1, %r1, %r2;\n", "add.s32 	%r3, %r4, -2;", "\nselp.b32 	%r5, %r1, %r3, %p1;", "add becomes sub", "within the row all the same"},
		{"resample_thread_per_row resample_thread_per_row", "setp.le.u32 	%p1, %r1, %r2;\n", "add.s32 	%r3, %r4, -2;", "\nselp.b32 	%r5, %r1, %r3, %p1;", "add becomes sub", ""},
		{"resample_thread_per_row resample_thread_per_row", "", "setp.gt.u32 	%p1, %r1, 1;", "\nselp.s32 	%r2, -1, 0, %p1;", ".gt becomes .ge", "a row of one sample"},
		{"resample_fast resample_fast", "", "setp.gt.u32 	%p1, %r1, 1;", "\nselp.s32 	%r2, -1, 0, %p1;", ".gt becomes .ge", ""},
		{"voxel_reduce voxel_reduce_large", "setp.eq.s32 	%p1, %r1, 0;\n", "@%p1 bra 	$L1;", adds, leftOut, ""},
		{"voxel_sort voxel_number", "selp.u32 	%r1, 1, 0, %p2;\nsetp.lt.u32 	%p1, %r3, 8;\n", "@%p1 bra 	$L1;", votes, leftOut, "none to count"},
		{"voxel_sort voxel_number", "selp.u32 	%r1, 1, 0, %p2;\nsetp.lt.u32 	%p1, %r3, 1;\n", "@%p1 bra 	$L1;", votes, leftOut, ""},
		{"voxel_sort voxel_number", "selp.u32 	%r1, 0, 1, %p2;\nsetp.lt.u32 	%p1, %r3, 8;\n", "@%p1 bra 	$L1;", votes, leftOut, ""},
		{"voxel_sort voxel_sort_pass", "selp.u32 	%r1, 1, 0, %p2;\nsetp.lt.u32 	%p1, %r3, 8;\n", "@%p1 bra 	$L1;", votes, leftOut, ""},
		{"voxel_sort voxel_number", warps, "add.s32 	%r5, %r6, -1;", "", "add becomes sub", "all rows' voxels"},
		{"voxel_sort voxel_number", "add.s64 	%rd1, %rd2, %rd3;\nsetp.lt.u32 	%p1, %r7, 32;\n", "add.s32 	%r2, %r3, -1;", "\nselp.b32 	%r4, 0, %r2, %p1;\nadd.s32 	%r5, %r6, -1;", "add becomes sub", ""},
		{"resample resample", round, "setp.ge.u32 	%p2, %r1, %r2;", skip + "4;", ".ge becomes .gt", "a turn's first target"},
		{"resample resample", round, "setp.ge.u32 	%p2, %r1, %r2;", skip + "3;", ".ge becomes .gt", ""},
		{"resample resample", "add.s32 	%r1, %r1, %r4;\n", "setp.ge.u32 	%p2, %r1, %r2;", skip + "4;", ".ge becomes .gt", ""},
		{"voxel_sort voxel_sort_pass", warps, "add.s32 	%r5, %r6, -1;", "", "add becomes sub", ""},
	} {
		text := c.before + c.at + c.after
		family, kernel, _ := strings.Cut(c.family, " ")
		m := &Mutant{Family: family, Kernel: kernel, Line: strings.Count(c.before, "\n") + 1, Old: c.at, Rule: c.rule}
		assert.Equal(t, c.want, argued(strings.Split(text, "\n"), m), text)
	}
}

func TestTheInnermostFailureIsNamed(t *testing.T) {
	out := "--- FAIL: TestTrial (1s)\n    --- FAIL: TestTrial/named (1s)\n        --- FAIL: TestTrial/named/ramp (0s)\nFAIL\n"
	assert.Equal(t, "TestTrial/named/ramp (0s)", firstFailure(out))
	assert.Equal(t, "panic: test timed out after 3m0s", firstFailure("panic: test timed out after 3m0s\nrunning tests:\n"))
}

func TestWrongUsageIsCodeTwo(t *testing.T) {
	for _, args := range [][]string{{"-nonsense"}, {"word"}, {"-n", "x"}} {
		assert.Equal(t, 2, run(args, &strings.Builder{}, &strings.Builder{}), args)
	}
}

// TestSuitesAreOfTheFamilies: a family without a suite gets no mutants, so only families that no operation launches may have none.
func TestSuitesAreOfTheFamilies(t *testing.T) {
	families := slices.DeleteFunc(ptx.Families(), func(name string) bool { return name == "copy" || name == "meet" })
	assert.ElementsMatch(t, families, slices.Collect(maps.Keys(suites)))
	for family, suite := range suites {
		assert.Equal(t, partsOf[suite] != nil, samples[suite] > 0, family)
	}
}

// TestEveryArgumentIsAboutSomeLine: an argument that matches no line of the shipped kernels is out of date.
func TestEveryArgumentIsAboutSomeLine(t *testing.T) {
	var missing []string
	for _, a := range arguments {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(suites)), a.fits) {
			missing = append(missing, a.name)
		}
	}
	assert.Empty(t, missing)
}

// fits reports whether an argument matches a line of a family's kernels.
func (a *argument) fits(family string) bool {
	lines, name := strings.Split(string(imageOf(family)), "\n"), ""
	for i, line := range lines {
		if _, after, ok := strings.Cut(line, ".entry "); ok {
			name, _, _ = strings.Cut(after, "(")
		}
		if a.families.MatchString(family+" "+name) && a.line.MatchString(line) && a.around.MatchString(strings.Join(lines[max(i-a.reach, 0):min(i+1+a.reach, len(lines))], "\n")) {
			return true
		}
	}
	return false
}
