package exec_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/cudasim/report"
)

// planted is a kernel with one fault, in the line that says FAULT.
type planted struct {
	name          string
	body          string
	kind          report.FaultKind
	grid, threads uint32
	block, thread uint32
	space         string
	address       uint64 // from the start of a, for global memory
	near, detail  string
	after         func(tb *testbed, a uint64) // before the launch
}

var faults = []planted{
	{name: "past the end", body: "\nst.global.u32 [%at+200], %tid; // FAULT", kind: report.OutOfBounds, threads: 32, thread: 14, space: "global", address: 256, near: "0 bytes after the end of the 256 bytes of test memory"},
	{name: "over the end", body: "setp.ne.u32 %p1, %tid, 5; @%p1 ret;\nst.global.u32 [%a+256], %tid; // FAULT", kind: report.OutOfBounds, threads: 32, thread: 5, space: "global", address: 256,
		near: "after the end"},
	{name: "prefetch past the end", body: "\nprefetch.global.L2 [%at+200]; // FAULT", kind: report.OutOfBounds, threads: 32, thread: 14, space: "global", address: 256, near: "0 bytes after the end of the 256 bytes of test memory"},
	{name: "before the start", body: "\nld.global.u32 %r1, [%at+-8]; // FAULT", kind: report.OutOfBounds, threads: 32, space: "global", address: ^uint64(7), near: "8 bytes before the 256 bytes"},
	{name: "vector over the end", body: "add.u64 %at, %at, %at; sub.u64 %at, %at, %a;\nst.global.v4.u32 [%a+240], {%r1, %r1, %r1, %r1};\nst.global.v2.u32 [%at+8], {%r1, %r1}; // FAULT", kind: report.OutOfBounds,
		threads: 32, thread: 31, space: "global", address: 256, near: "after the end"},
	{name: "misaligned", body: "add.u64 %at, %at, 2;\nst.global.u32 [%at], %tid; // FAULT", kind: report.Misaligned, threads: 32, space: "global", address: 2, near: "at byte 2 of"},
	{name: "misaligned vector", body: "\nst.global.v2.u32 [%at], {%tid, %tid}; // FAULT", kind: report.Misaligned, threads: 32, thread: 1, space: "global", address: 4, near: "at byte 4 of"},
	{name: "after free", body: "\nst.global.u32 [%at], %tid; // FAULT", kind: report.UseAfterFree, threads: 32, space: "global", near: "which was freed",
		after: func(tb *testbed, a uint64) { require.NoError(tb.t, tb.sp.Free(a)) }},
	{name: "never written", body: "\nld.global.u32 %r1, [%at]; // FAULT", kind: report.Uninitialised, threads: 64, thread: 3, space: "global", address: 12, near: "at byte 12 of",
		after: func(tb *testbed, a uint64) {
			_, err := tb.sp.Bytes(a, 12, true)
			require.NoError(tb.t, err)
		}},
	{name: "never written byte", body: "st.global.u16 [%at], %h1; \nld.global.u32 %r1, [%at]; // FAULT", kind: report.Uninitialised, threads: 1, space: "global", near: "at byte 0 of"},
	{name: "shared never written", body: "\nld.shared.u32 %r1, [tile+16]; // FAULT", kind: report.Uninitialised, threads: 32, space: "shared", near: "at byte 16 of"},
	{name: "shared past the end", body: "\nst.shared.u32 [tile+1024], %tid; // FAULT", kind: report.OutOfBounds, threads: 32, space: "shared", near: "0 bytes after the end of the 1024 bytes of shared memory"},
	{name: "local past the end", body: ".local .b32 own[4]; mov.u32 %r1, own; shl.b32 %r2, %tid, 2; add.u32 %r1, %r1, %r2;\nst.local.u32 [%r1], %tid; // FAULT", kind: report.OutOfBounds, threads: 32, thread: 4, space: "local"},
	{name: "trap", body: "setp.ne.u32 %p1, %tid, 7; @%p1 ret;\ntrap; // FAULT", kind: report.Trap, threads: 32, thread: 7},
	{name: "a bit field past bit 255", body: "add.u32 %r1, %tid, 250;\nbfe.u32 %r2, %tid, %r1, 3; // FAULT", kind: report.Undefined, threads: 32, thread: 6,
		detail: "a field of 3 bits from bit 256: PTX defines 0 to 255 of both"},
	{name: "a bit field of more than 255", body: "add.u32 %r1, %tid, 225;\nbfi.b64 %rd1, %at, %a, 0, %r1; // FAULT", kind: report.Undefined, threads: 32, thread: 31, detail: "a field of 256 bits from bit 0"},
	{name: "endless", body: "L: \nbra L; // FAULT", kind: report.Timeout, threads: 32},
	{name: "half a warp at a barrier", body: "and.b32 %r1, %tid, 1; setp.eq.u32 %p1, %r1, 0; @%p1 bra EVEN;\nbar.sync 0; // FAULT\nret; EVEN: bar.sync 1; ret;", kind: report.DivergentBarrier, threads: 32, thread: 1,
		detail: "lanes 0xaaaaaaaa of the warp wait here, and lanes 0x55555555 do not come"},
	{name: "barriers of different warps", body: "setp.lt.u32 %p1, %tid, 32; @%p1 bra LOW;\nbar.sync 1; ret; LOW:\nbar.sync 0; // FAULT", kind: report.DivergentBarrier, threads: 64,
		detail: "32 threads wait at barrier 0, which 64 are to reach"},
	{name: "shuffle without a lane", body: "setp.eq.u32 %p1, %tid, 9; @%p1 bra ALONE;\nshfl.sync.idx.b32 %r1, %tid, 0, 31, 0xffffffff; // FAULT\nret; ALONE: bar.warp.sync 0xffffffff; ret;",
		kind: report.DivergentBarrier, threads: 32, detail: "lanes 0x200 do not come"},
	{name: "half a warp at a product", body: "setp.lt.u32 %p1, %tid, 16; @%p1 ret;\nmma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3}, {%f1, %f2, %f3, %f4}; // FAULT",
		kind: report.DivergentBarrier, threads: 32, thread: 16, detail: "lanes 0xffff have ended or never were"},
	{name: "half a block of a warp at a product", body: "\nmma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2}, {%r3}, {%f1, %f2, %f3, %f4}; // FAULT",
		kind: report.DivergentBarrier, threads: 16, detail: "lanes 0xffff0000 have ended or never were"},
	{name: "matrices without a lane", body: "mov.u32 %r1, tile; setp.eq.u32 %p1, %tid, 9; @%p1 bra ALONE;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1]; // FAULT\nret; ALONE: bar.warp.sync 0xffffffff; ret;",
		kind: report.DivergentBarrier, threads: 32, detail: "lanes 0x200 do not come"},
	{name: "misaligned row of a matrix", body: "mov.u32 %r1, tile; mad.lo.u32 %r1, %tid, 8, %r1;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1]; // FAULT", kind: report.Misaligned, threads: 32, thread: 1, space: "shared", near: "at byte 8 of"},
	{name: "matrix past the end", body: "mov.u32 %r1, tile; mad.lo.u32 %r1, %tid, 16, %r1;\nstmatrix.sync.aligned.m8n8.x2.shared.b16 [%r1+896], {%r2, %r2}; // FAULT", kind: report.OutOfBounds, threads: 32, thread: 8, space: "shared",
		near: "0 bytes after the end of the 1024 bytes of shared memory"},
	{name: "matrix in global memory", body: "\nldmatrix.sync.aligned.m8n8.x1.b16 {%r2}, [%a]; // FAULT", kind: report.OutOfBounds, threads: 32, space: "global", near: "at byte 0 of", detail: "a matrix lies in shared memory"},
	{name: "matrix never written", body: "mov.u32 %r1, tile; mad.lo.u32 %r2, %tid, 4, %r1; setp.lt.u32 %p1, %tid, 31; @%p1 st.shared.u32 [%r2], %tid; mad.lo.u32 %r1, %tid, 16, %r1;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1]; // FAULT",
		kind: report.Uninitialised, threads: 32, thread: 7, space: "shared", near: "at byte 112 of"},
	{name: "race of a matrix", body: "mov.u32 %r1, tile; mad.lo.u32 %r2, %tid, 4, %r1; setp.lt.u32 %p1, %tid, 32; @%p1 st.shared.u32 [%r2], %tid; @%p1 ret; and.b32 %r3, %tid, 7; mad.lo.u32 %r1, %r3, 16, %r1;\nldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r2}, [%r1]; // FAULT",
		kind: report.Race, threads: 64, thread: 32, space: "shared", detail: "thread [0 0 0] wrote there"},
	{name: "two matrices in one place", body: "and.b32 %r3, %tid, 7; mov.u32 %r1, tile; mad.lo.u32 %r1, %r3, 16, %r1;\nstmatrix.sync.aligned.m8n8.x2.shared.b16 [%r1], {%tid, %tid}; // FAULT", kind: report.Race, threads: 32, thread: 8,
		space: "shared", detail: "thread [0 0 0] wrote there"},
	{name: "read after a matrix is stored", body: "and.b32 %r3, %tid, 7; mov.u32 %r1, tile; mad.lo.u32 %r1, %r3, 16, %r1; setp.lt.u32 %p1, %tid, 32; @!%p1 bra READ; stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r1], {%tid}; ret;\nREAD: ld.shared.u32 %r2, [%r1]; // FAULT",
		kind: report.Race, threads: 64, thread: 32, space: "shared", detail: "thread [0 0 0] wrote there"},
	{name: "race in a block", body: "shl.b32 %r1, %tid, 2; mov.u32 %r2, tile; add.u32 %r1, %r1, %r2; st.shared.u32 [%r1], %tid; xor.b32 %r1, %r1, 128; setp.lt.u32 %p1, %tid, 32; @%p1 ret;\nld.shared.u32 %r3, [%r1]; // FAULT", kind: report.Race, threads: 64, thread: 32,
		space: "shared", detail: "thread [0 0 0] wrote there"},
	{name: "race of lanes", body: "shl.b32 %r1, %tid, 2; mov.u32 %r2, tile; add.u32 %r1, %r1, %r2; st.shared.u32 [%r1], %tid; xor.b32 %r1, %r1, 4;\nld.shared.u32 %r3, [%r1]; // FAULT", kind: report.Race, threads: 32, thread: 0,
		space: "shared", detail: "thread [1 0 0] wrote there"},
	{name: "race of one store", body: "\nst.shared.u32 [tile], %tid; // FAULT", kind: report.Race, threads: 32, thread: 1, space: "shared", detail: "thread [0 0 0] wrote there"},
	{name: "write after a read", body: "shl.b32 %r1, %tid, 2; mov.u32 %r2, tile; add.u32 %r1, %r1, %r2; st.shared.u32 [%r1], %tid; bar.sync 0; setp.lt.u32 %p1, %tid, 32; @%p1 bra W; xor.b32 %r3, %r1, 128; ld.shared.u32 %r4, [%r3]; ret;\nW: st.shared.u32 [%r1], %ntid; // FAULT",
		kind: report.Race, threads: 64, space: "shared", detail: "thread [32 0 0] read there"},
	{name: "race of blocks", body: "\nst.global.u32 [%at], %cta; // FAULT", kind: report.Race, grid: 2, threads: 32, block: 1, space: "global", near: "at byte 0 of", detail: "block [0 0 0], thread [0 0 0] wrote there"},
	{name: "bytes of one word", body: "setp.ne.u32 %p2, %tid, 0; @%p2 ret; cvt.u64.u32 %rd1, %cta; add.u64 %rd1, %rd1, %a; setp.lt.u32 %p1, %cta, 3; mov.u16 %h1, 1; @%p1 st.global.u8 [%rd1], %h1; setp.ne.u32 %p1, %cta, 3; @%p1 ret; mov.u16 %h1, 2;\nst.global.u8 [%a+1], %h1; // FAULT",
		kind: report.Race, grid: 4, threads: 32, block: 3, space: "global", address: 1, detail: "block [1 0 0]"},
	{name: "part of a vector", body: "setp.ne.u32 %p2, %tid, 0; @%p2 ret; setp.ne.u32 %p1, %cta, 0; @%p1 bra READ; st.global.v4.u32 [%a+16], {%tid, %tid, %tid, %tid}; ret;\nREAD: ld.global.u8 %h1, [%a+27]; // FAULT",
		kind: report.Race, grid: 2, threads: 32, block: 1, space: "global", address: 27, detail: "block [0 0 0], thread [0 0 0] wrote there"},
	{name: "vector over a byte", body: "setp.ne.u32 %p2, %tid, 0; @%p2 ret; setp.ne.u32 %p1, %cta, 0; @%p1 bra WIDE; mov.u16 %h1, 1; st.global.u8 [%a+7], %h1; ret;\nWIDE: st.global.v2.u64 [%a], {%a, %a}; // FAULT",
		kind: report.Race, grid: 2, threads: 32, block: 1, space: "global", detail: "block [0 0 0], thread [0 0 0] wrote there"},
	{name: "flag without a fence", body: `setp.ne.u32 %p1, %tid, 0; @%p1 ret; setp.ne.u32 %p2, %cta, 0; @%p2 bra READ;
st.global.u32 [%a], 7; st.volatile.global.u32 [%a+4], 1; ret;
READ: ld.volatile.global.u32 %r1, [%a+4]; setp.eq.u32 %p3, %r1, 0; @%p3 bra READ; membar.gl;
ld.global.u32 %r2, [%a]; // FAULT`, kind: report.Race, grid: 2, threads: 32, block: 1, space: "global", detail: "block [0 0 0], thread [0 0 0] wrote there",
		after: func(tb *testbed, a uint64) {
			_, err := tb.sp.Bytes(a, 8, true)
			require.NoError(tb.t, err)
		}},
	{name: "read-only path", body: "st.global.u32 [%at], %tid;\nld.global.nc.u32 %r1, [%at]; // FAULT", kind: report.Race, threads: 32, space: "global", detail: "wrote there"},
	{name: "write after the read-only path", body: "ld.global.nc.u32 %r1, [%at];\nst.global.u32 [%at], %tid; // FAULT", kind: report.Race, threads: 32, space: "global", detail: "read there",
		after: func(tb *testbed, a uint64) {
			_, err := tb.sp.Bytes(a, 128, true)
			require.NoError(tb.t, err)
		}},
}

func TestAPlantedFaultIsNamedWithKernelLineThreadAndAddress(t *testing.T) {
	for _, p := range faults {
		t.Run(p.name, func(t *testing.T) {
			tb := newTestbed(t, p.body+"\n\tret;")
			tb.cfg.MaxSteps = 1 << 16
			a := tb.mem(256, false)
			if p.after != nil {
				p.after(tb, a)
			}
			_, f := tb.run(max(p.grid, 1), p.threads, a, 0)
			require.NotNil(t, f)
			assert.Equal(t, p.kind, f.Kind, f.Error())
			assert.Equal(t, "k", f.Kernel)
			assert.Contains(t, f.Text, "FAULT", f.Error())
			assert.Equal(t, f.Text, exec.TrimmedLine(tb.k.Source, f.Line))
			assert.Equal(t, [3]uint32{p.block}, f.Block, f.Error())
			assert.Equal(t, [3]uint32{p.thread}, f.Thread, f.Error())
			assert.Equal(t, p.space, f.Space)
			if p.space == "global" {
				assert.Equal(t, a+p.address, f.Address)
			}
			assert.Contains(t, f.Near, p.near)
			assert.Contains(t, f.Detail, p.detail)
			for _, part := range []string{p.kind.String(), "in k", p.near, p.detail} {
				assert.Contains(t, f.Error(), part)
			}
		})
	}
}

// What orders accesses orders them for the race check: the same exchange without the order is a fault above.
func TestWhatIsOrderedIsNoRace(t *testing.T) {
	exchange := func(order string) string {
		return "shl.b32 %r1, %tid, 2; mov.u32 %r2, tile; add.u32 %r1, %r1, %r2; st.shared.u32 [%r1], %tid; " + order + " xor.b32 %r1, %r1, 4; ld.shared.u32 %r3, [%r1];"
	}
	pass := func(store, load string) string {
		return `setp.ne.u32 %p1, %tid, 0; @%p1 ret; setp.ne.u32 %p2, %cta, 0; @%p2 bra READ;
		st.global.u32 [%a], 7; ` + store + ` ret;
		READ: ` + load + ` setp.eq.u32 %p3, %r1, 0; @%p3 bra READ; membar.gl; ld.global.u32 %r2, [%a];`
	}
	for name, body := range map[string]string{
		"barrier":          exchange("bar.sync 0;"),
		"warp barrier":     exchange("bar.warp.sync 0xffffffff;"),
		"fence and flag":   pass("membar.gl; st.volatile.global.u32 [%a+4], 1;", "ld.volatile.global.u32 %r1, [%a+4];"),
		"release, acquire": pass("st.release.gpu.global.u32 [%a+4], 1;", "ld.acquire.gpu.global.u32 %r1, [%a+4];"),
		"atomics":          pass("fence.acq_rel.gpu; red.global.add.u32 [%a+4], 1;", "atom.global.add.u32 %r1, [%a+4], 0;"),
		"one value":        "mov.u32 %r1, 5; st.global.u32 [%a], %r1;",
		"own bytes":        "cvt.u64.u32 %rd1, %tid; add.u64 %rd1, %rd1, %a; cvt.u16.u32 %h1, %tid; setp.eq.u32 %p1, %cta, 0; @%p1 st.global.u8 [%rd1], %h1;",
		"parts of vectors": "setp.ne.u32 %p1, %tid, 0; @%p1 ret; mul.wide.u32 %rd1, %cta, 8; add.u64 %rd1, %rd1, %a; st.global.u64 [%rd1], %a; st.global.u16 [%rd1+2], %h1; mov.u64 %rd2, %rd1; ld.global.v2.u32 {%r1, %r2}, [%rd1];",
		"matrices":         "and.b32 %r3, %tid, 31; and.b32 %r4, %tid, 32; mov.u32 %r1, tile; mad.lo.u32 %r1, %r4, 16, %r1; mad.lo.u32 %r1, %r3, 16, %r1; stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r1], {%tid, %tid, %tid, %tid}; xor.b32 %r2, %r1, 16; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r5, %r6, %r7, %r8}, [%r2]; bar.sync 0; xor.b32 %r2, %r1, 512; stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%r2], {%r5, %r6, %r7, %r8};",
		"atomic counters":  "atom.global.add.u32 %r1, [%a], 1; red.shared.add.u32 [tile], 1;",
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(4) {
				tb := newTestbed(t, strings.Replace(body, "red.shared", "setp.eq.u32 %p8, %tid, 0; @%p8 st.shared.u32 [tile], 0; bar.sync 0; red.shared", 1)+" ret;")
				tb.cfg.Seed = seed
				tb.ok(2, 64, tb.mem(256, true), 0)
			}
		})
	}
}

func TestChecksCanBeLeftOut(t *testing.T) {
	for _, p := range faults {
		skip := report.Check(0)
		switch p.kind {
		case report.Race:
			skip = report.CheckRaces
		case report.Uninitialised:
			skip = report.CheckUninitialised
		default:
			continue
		}
		tb := newTestbed(t, p.body+"\n\tret;")
		tb.cfg.Skip, tb.cfg.Workers = skip|report.CheckUninitialised, 1 // what races here would be seen by Go's race detector
		_, f := tb.run(max(p.grid, 1), p.threads, tb.mem(256, true), 0)
		assert.Nil(t, f, p.name)
	}
}

func TestCopiesLandWhenTheyAreWaitedFor(t *testing.T) {
	copyIn := "shl.b32 %r1, %tid, 4; mov.u32 %r2, tile; add.u32 %r1, %r1, %r2; mul.wide.u32 %rd1, %tid, 16; add.u64 %rd1, %rd1, %a; cp.async.cg.shared.global [%r1], [%rd1], 16; cp.async.commit_group;"
	tb := newTestbed(t, copyIn+" cp.async.wait_group 0; ld.shared.u32 %r3, [%r1+4]; mul.wide.u32 %rd2, %tid, 4; add.u64 %rd2, %rd2, %b; st.global.u32 [%rd2], %r3; ret;")
	a, b := tb.mem(512, true), tb.mem(128, false)
	data, err := tb.sp.Bytes(a, 512, true)
	require.NoError(t, err)
	for i := range data {
		data[i] = byte(i / 16)
	}
	tb.ok(1, 32, a, b)
	assert.Equal(t, uint32(0x1f1f1f1f), tb.words(b, 32)[31])

	tb = newTestbed(t, copyIn+"\nld.shared.u32 %r3, [%r1+4]; // before the wait\nret;")
	_, f := tb.run(1, 32, tb.mem(512, true), 0)
	require.NotNil(t, f)
	assert.Equal(t, report.Uninitialised, f.Kind)
	assert.Contains(t, f.Text, "before the wait")
}

func TestABulkCopyCompletesItsMbarrier(t *testing.T) {
	tb := newTestbed(t, `.shared .align 8 .b64 bar;
	mov.u32 %r2, tile; mov.u32 %r3, bar; setp.ne.u32 %p1, %tid, 0; @%p1 bra READY;
	mbarrier.init.shared.b64 [%r3], 1;
READY:
	bar.sync 0; @%p1 bra WAIT;
	mbarrier.arrive.expect_tx.shared.b64 %rd5, [%r3], 256;
	cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r2], [%a], 256, [%r3];
WAIT:
	mbarrier.try_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra WAIT;
	shl.b32 %r1, %tid, 2; add.u32 %r1, %r1, %r2; ld.shared.u32 %r4, [%r1]; mul.wide.u32 %rd2, %tid, 4; add.u64 %rd2, %rd2, %b; st.global.u32 [%rd2], %r4; ret;`)
	a, b := tb.mem(256, true), tb.mem(256, false)
	data, err := tb.sp.Bytes(a, 256, true)
	require.NoError(t, err)
	for i := range data {
		data[i] = byte(i)
	}
	tb.ok(1, 64, a, b)
	assert.Equal(t, uint32(0xfffefdfc), tb.words(b, 64)[63])
}

// A launch that may begin before the end of the one ahead of it must wait for that somewhere; otherwise it need not.
func TestADependentLaunchMustWait(t *testing.T) {
	for body, wants := range map[string]bool{
		"st.global.u32 [%at], %tid; griddepcontrol.launch_dependents;":                                   false,
		"setp.ne.u32 %p1, %tid, %tid; @%p1 griddepcontrol.wait;":                                         false,
		"griddepcontrol.wait; st.global.u32 [%at], %tid;":                                                true,
		"st.global.u32 [%at], %tid; setp.ne.u32 %p1, %tid, 40; @%p1 ret; griddepcontrol.wait; // by one": true,
	} {
		for _, early := range []bool{false, true} {
			tb := newTestbed(t, body+"\n\tret;")
			params := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, tb.mem(256, true)), 0)
			_, f := tb.m.Run(&exec.Launch{Kernel: tb.k, Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{64, 1, 1}, Params: params, Early: early, Options: tb.cfg})
			if wants || !early {
				assert.Nil(t, f, body)
				continue
			}
			require.NotNil(t, f, body)
			assert.Equal(t, report.NeverWaited, f.Kind)
			assert.Contains(t, f.Error(), "dependent launch that never waited in k")
		}
	}
}
