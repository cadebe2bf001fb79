package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestArgumentsLookAtTheKernel: an argument relies on instructions anywhere in the kernel. If these differ, it must not apply.
func TestArgumentsLookAtTheKernel(t *testing.T) {
	const mask = "or.b32 	%r2, %r1, 24;\nor.b32 	%r4, %r3, 16;\n>setp.gt.u32 	%p1, %r2, %r4;\nor.b32 	%r6, %r5, 64;\nselp.b32 	%r7, %r6, %r5, %p1;\n"
	const seen = "add.s32 	%r2, %r1, 17;\nor.b32 	%r4, %r3, 24;\nsetp.gt.u32 	%p1, %r2, %r4;\n>or.b32 	%r6, %r5, 32;\nselp.b32 	%r7, %r6, %r5, %p1;\n"
	const backward = "add.s32 	%r2, %r1, 8;\nadd.s32 	%r4, %r3, 17;\n>setp.gt.u32 	%p1, %r2, %r4;\nselp.f32 	%f1, 0fFB800000, %f1, %p1;\n"
	const halves = "shl.b32 	%r1, %r2, 16;\nmov.b32 	%f1, %r1;\nand.b32 	%r3, %r4, -65536;\nmov.b32 	%f2, %r3;\n>mul.rn.f32 	%f3, %f1, %f2;\n"
	const zero = "mov.b32 	%r1, 0;\n>st.shared.u32 [%r2], %r1;\n"
	const depth = "ld.param.u32 	%r1, [k_param_0+32];\n>setp.gt.u32 	%p1, %r1, 511;\n"
	const thread = "mov.u32 %r1, %tid.x;\n>setp.gt.u32 	%p1, %r1, 511;\n"
	const flag = "ld.param.u32 	%r1, [k_param_0+300];\nbfe.u32 	%r2, %r1, 6, 1;\nselp.b32 	%r3, %r2, 0, %p1;\n"
	const copy = "setp.ne.u32 p, %r3, 0;\n@p cp.async.cg.shared.global [%r9], [%rd2], 16, %r8;\n"
	const from = ">add.s64 	%rd1, %rd5, %rd6;\ncvta.to.global.u64 	%rd2, %rd1;\n"
	none := func(text, old, with string) string {
		changed := strings.Replace(text, old, with, 1)
		assert.NotEqual(t, text, changed, old)
		return changed
	}
	for _, c := range []struct{ family, text, rule, want string }{
		{"attention attention_32", mask, ".gt becomes .ge", "a mask of another 8"},
		{"attention attention_32", none(mask, "%r1, 24", "%r1, 16"), ".gt becomes .ge", ""},
		{"attention attention_32", none(mask, "%r3, 16", "%r3, 24"), ".gt becomes .ge", ""},
		{"attention attention_64", none(mask, "%r3, 16", "%r3, 8"), ".gt becomes .ge", ""}, // whose queries also begin at multiples of 16
		{"attention attention_64", mask, ".gt becomes .ge", "a mask of another 8"},
		{"attention attention_32", none(mask, "%r5, 64", "%r5, 16"), ".gt becomes .ge", ""},
		{"attention attention_32", none(mask, "%r5, %p1", "%r5, %p2"), ".gt becomes .ge", ""},
		{"attention attention_32", seen, "or becomes and", "a key before the query's own 8"},
		{"attention attention_32", none(seen, "%r3, 24", "%r3, 16"), "or becomes and", ""},
		{"attention attention_32", none(seen, "%r6, %r5, %p1", "%r5, %r6, %p1"), "or becomes and", ""},
		{"attention attention_64", seen, "or becomes and", ""},
		{"attention_backward attention_backward_64", backward, ".gt becomes .ge", "a mask of another 8"},
		{"attention_backward attention_backward_64", none(backward, "%r1, 8", "%r1, 16"), ".gt becomes .ge", ""},
		{"attention_backward attention_backward_64", none(backward, "%r3, 17", "%r3, 25"), ".gt becomes .ge", ""},
		{"attention_backward attention_backward_32", halves, ".rn becomes .rz", "a product of two bfloat16"},
		{"attention_backward attention_backward_32", none(halves, "-65536", "-32768"), ".rn becomes .rz", ""},
		{"attention_backward attention_backward_32", halves + "add.s32 	%r1, %r5, %r6;\n", ".rn becomes .rz", ""},
		{"attention_backward attention_backward_32", zero, leftOut, "a zero that nobody reads"},
		{"attention_backward attention_backward_64", zero, leftOut, ""},
		{"attention_backward attention_backward_32", zero + "mov.b32 	%r1, %r3;\n", leftOut, ""},
		{"matmul_norm matmul_norm_128", depth, ".gt becomes .ge", "a depth of whole steps"},
		{"matmul_norm matmul_norm_128", none(depth, "+32", "+28"), ".gt becomes .ge", ""},
		{"matmul_norm matmul_norm_512", "or.b32 	%r2, %r1, 128;\n>setp.lt.u32 	%p1, %r2, %r3;\n", ".lt becomes .le", "a column among the first 256 of such rows"},
		{"matmul_norm matmul_norm_512", "or.b32 	%r2, %r1, 256;\n>setp.lt.u32 	%p1, %r2, %r3;\n", ".lt becomes .le", ""},
		{"matmul_norm matmul_norm_256", "or.b32 	%r2, %r1, 128;\n>setp.lt.u32 	%p1, %r2, %r3;\n", ".lt becomes .le", ""},
		{"attention attention_32", thread, ".gt becomes .ge", "more threads than a block has"},
		{"attention attention_32", none(thread, "511", "255"), ".gt becomes .ge", ""},
		{"attention attention_32", none(thread, "%tid.x", "%r2"), ".gt becomes .ge", ""},
		{"matmul_norm matmul_norm_512", flag + from + copy, "add becomes sub", "a copy ahead of the widest rows"},
		{"matmul_norm matmul_norm_256", flag + from + copy, "add becomes sub", ""},
		{"matmul_norm matmul_norm_512", none(flag, "6, 1", "5, 1") + from + copy, "add becomes sub", ""},
		{"matmul_norm matmul_norm_512", none(flag, "+300", "+296") + from + copy, "add becomes sub", ""},
		{"matmul_norm matmul_norm_512", flag + from + copy + "st.global.u32 [%rd2], %r1;\n", "add becomes sub", ""},
		{"matmul_norm matmul_norm_512", flag + from + copy + "setp.ne.u32 p, %r7, 0;\n@p cp.async.cg.shared.global [%r9], [%rd2], 16, %r8;\n", "add becomes sub", ""},
		{"matmul_norm matmul_norm_512", flag + from, "add becomes sub", ""}, // without an early copy
		{"matmul_norm matmul_norm_512", none(flag, "selp", ">selp") + copy, "the choice is turned round", "a copy ahead of the widest rows"},
		{"matmul_norm matmul_norm_512", none(flag, "bfe", ">bfe") + copy, "", ""},
	} {
		family, kernel, _ := strings.Cut(c.family, " ")
		lines := strings.Split(".visible .entry other(\nmov.b32 	%r1, 7;\n.visible .entry "+kernel+"(\n"+c.text+".visible .entry another(\nmov.b32 	%r1, 8;", "\n")
		at := slices.IndexFunc(lines, func(line string) bool { return line[0] == '>' })
		lines[at] = lines[at][1:]
		assert.Equal(t, c.want, argued(lines, &Mutant{Family: family, Kernel: kernel, Line: at + 1, Old: lines[at], Rule: c.rule}), c.text)
	}
}
