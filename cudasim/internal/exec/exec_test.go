package exec_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/cudasim/internal/memory"
	"github.com/robocache/robocache/cudasim/internal/program"
	"github.com/robocache/robocache/cudasim/report"
	"github.com/robocache/robocache/internal/test/thorough"
)

const ptxHead = ".version 7.8\n.target sm_90\n.address_size 64\n"

// bench is a device's memory with one kernel, k, of parameters a, b and n.
type testbed struct {
	t    testing.TB
	sp   *memory.Space
	m    *exec.Machine
	k    *exec.Kernel
	cfg  exec.Options
	grid [3]uint32
	dim  [3]uint32
}

// newTestbed loads an entry k with the body given, in which %tid, %ntid, %cta are the thread, the block size and the block, and
// %a, %b are the 64-bit parameters.
func newTestbed(t testing.TB, body string) *testbed {
	t.Helper()
	sp := memory.New(1 << 30)
	p, err := program.Load([]byte(kernelOf(body)), sp)
	require.NoError(t, err)
	k, ok := p.Kernel("k")
	require.True(t, ok)
	return &testbed{t: t, sp: sp, m: &exec.Machine{Space: sp}, k: k, grid: [3]uint32{1, 1, 1}, dim: [3]uint32{32, 1, 1}}
}

func kernelOf(body string) string {
	return ptxHead + `.visible .entry k(.param .u64 pa, .param .u64 pb) {
	.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<20>; .reg .f32 %f<9>; .reg .b64 %rd<20>; .reg .f64 %d<9>; .reg .b32 %tid, %ntid, %cta; .reg .b64 %a, %b, %at;
	.shared .align 16 .b8 tile[1024];
	ld.param.u64 %a, [pa]; ld.param.u64 %b, [pb]; cvta.to.global.u64 %a, %a; cvta.to.global.u64 %b, %b;
	mov.u32 %tid, %tid.x; mov.u32 %ntid, %ntid.x; mov.u32 %cta, %ctaid.x;
	mul.wide.u32 %at, %tid, 4; add.u64 %at, %at, %a;
` + body + "\n}\n"
}

// mem allocates n bytes; with filled they count as written.
func (tb *testbed) mem(n uint64, filled bool) uint64 {
	addr, err := tb.sp.Alloc(n, "test")
	require.NoError(tb.t, err)
	if filled {
		_, err := tb.sp.Bytes(addr, n, true)
		require.NoError(tb.t, err)
	}
	return addr
}

func (tb *testbed) run(grid, block uint32, a, b uint64) (*report.Counters, *report.Fault) {
	params := binary.LittleEndian.AppendUint64(nil, a)
	params = binary.LittleEndian.AppendUint64(params, b)
	return tb.m.Run(&exec.Launch{Kernel: tb.k, Grid: [3]uint32{grid, 1, 1}, Block: [3]uint32{block, 1, 1}, Params: params, Options: tb.cfg})
}

func (tb *testbed) ok(grid, block uint32, a, b uint64) {
	tb.t.Helper()
	_, f := tb.run(grid, block, a, b)
	if f != nil {
		tb.t.Fatal(f)
	}
}

func (tb *testbed) words(addr uint64, n int) []uint32 {
	b, err := tb.sp.Bytes(addr, uint64(4*n), false)
	require.NoError(tb.t, err)
	list := make([]uint32, n)
	for i := range list {
		list[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return list
}

// everyWay runs a test in order, shuffled, and on several workers without the race check.
func everyWay(t *testing.T, test func(t *testing.T, cfg exec.Options)) {
	for name, cfg := range map[string]exec.Options{"in order": {}, "seed 1": {Seed: 1}, "seed 2": {Seed: 2}, "workers": {Workers: 4, Skip: report.CheckAll}, "two SMs": {Multiprocessors: 2}} {
		t.Run(name, func(t *testing.T) { test(t, cfg) })
	}
}

func TestLanesThatDivergeMeetAgain(t *testing.T) {
	// A loop of tid rounds with a branch inside; then every lane votes at one place.
	tb := newTestbed(t, `
	mov.u32 %r1, 0; mov.u32 %r2, 0;
LOOP:
	setp.ge.u32 %p1, %r1, %tid; @%p1 bra DONE;
	and.b32 %r3, %r1, 1; setp.eq.u32 %p2, %r3, 0; @%p2 bra EVEN;
	add.u32 %r2, %r2, 3; bra NEXT;
EVEN:
	add.u32 %r2, %r2, 1;
NEXT:
	add.u32 %r1, %r1, 1; bra LOOP;
DONE:
	activemask.b32 %r4; popc.b32 %r4, %r4; shl.b32 %r4, %r4, 16; or.b32 %r2, %r2, %r4;
	st.global.u32 [%at], %r2; ret;`)
	a := tb.mem(256, false)
	tb.ok(1, 64, a, 0)
	for i, v := range tb.words(a, 64) {
		assert.Equal(t, uint32(i/2*4+i%2)|32<<16, v, i)
	}
}

func TestALaneThatSpinsDoesNotHoldUpTheLaneItWaitsFor(t *testing.T) {
	thorough.SkipRace(t, thorough.OneRoutine)
	everyWay(t, func(t *testing.T, cfg exec.Options) {
		// A lock that each lane takes: the lane that has it is further on than those that spin.
		tb := newTestbed(t, `
SPIN:
	atom.global.acquire.gpu.cas.b32 %r1, [%b], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra SPIN;
	ld.global.u32 %r2, [%a]; add.u32 %r2, %r2, 1; st.global.u32 [%a], %r2;
	atom.global.release.gpu.exch.b32 %r3, [%b], 0; ret;`)
		tb.cfg = cfg
		a, b := tb.mem(4, true), tb.mem(4, true)
		tb.ok(3, 64, a, b)
		assert.Equal(t, uint32(192), tb.words(a, 1)[0])
	})
}

func TestBlocksThatWaitForEachOtherFinish(t *testing.T) {
	everyWay(t, func(t *testing.T, cfg exec.Options) {
		// Every block adds itself to a count and waits until all have: a barrier of the grid.
		tb := newTestbed(t, `
	bar.sync 0; setp.ne.u32 %p1, %tid, 0; @%p1 bra WAIT;
	membar.gl; red.global.add.u32 [%a], 1;
POLL:
	ld.acquire.gpu.global.u32 %r1, [%a]; mov.u32 %r2, %nctaid.x; setp.lt.u32 %p2, %r1, %r2; @%p2 bra POLL;
WAIT:
	bar.sync 0; setp.eq.u32 %p1, %tid, 0; @%p1 red.global.add.u32 [%b], 1; ret;`)
		tb.cfg = cfg
		a, b := tb.mem(4, true), tb.mem(4, true)
		tb.ok(20, 64, a, b)
		assert.Equal(t, uint32(20), tb.words(b, 1)[0])
	})
}

func TestEachBlockMayWaitForTheOneBeforeIt(t *testing.T) {
	everyWay(t, func(t *testing.T, cfg exec.Options) {
		// A chain: a block takes a ticket, waits for the flag of the ticket before, adds its own number and passes the sum on.
		tb := newTestbed(t, `
	setp.ne.u32 %p1, %tid, 0; @%p1 ret;
	atom.global.add.u32 %r1, [%b], 1;
	mul.wide.u32 %rd1, %r1, 8; add.u64 %rd1, %rd1, %a;
	mov.u32 %r3, 0; setp.eq.u32 %p2, %r1, 0; @%p2 bra FIRST;
POLL:
	ld.volatile.global.u32 %r2, [%rd1-4]; setp.eq.u32 %p3, %r2, 0; @%p3 bra POLL;
	membar.gl;
	ld.global.u32 %r3, [%rd1-8];
FIRST:
	add.u32 %r3, %r3, %r1; st.global.u32 [%rd1], %r3;
	membar.gl;
	st.volatile.global.u32 [%rd1+4], 1; ret;`)
		tb.cfg = cfg
		a, b := tb.mem(8*50, true), tb.mem(4, true)
		tb.ok(50, 32, a, b)
		assert.Equal(t, uint32(49*50/2), tb.words(a, 100)[98])
	})
}

func TestBarriersOrderABlock(t *testing.T) {
	everyWay(t, func(t *testing.T, cfg exec.Options) {
		// A tree sum in shared memory, then a reduction by the barrier itself.
		tb := newTestbed(t, `
	shl.b32 %r1, %tid, 2; mov.u32 %r2, tile; add.u32 %r1, %r1, %r2; add.u32 %r3, %tid, 1; st.shared.u32 [%r1], %r3;
	shr.u32 %r4, %ntid, 1;
LOOP:
	bar.sync 0; setp.ge.u32 %p1, %tid, %r4; @%p1 bra SKIP;
	shl.b32 %r5, %r4, 2; add.u32 %r5, %r5, %r1; ld.shared.u32 %r6, [%r5]; ld.shared.u32 %r7, [%r1]; add.u32 %r6, %r6, %r7; st.shared.u32 [%r1], %r6;
SKIP:
	shr.u32 %r4, %r4, 1; setp.ne.u32 %p2, %r4, 0; @%p2 bra LOOP;
	bar.sync 0; ld.shared.u32 %r8, [tile];
	setp.lt.u32 %p3, %tid, 100; bar.red.popc.u32 %r9, 1, %p3; add.u32 %r8, %r8, %r9;
	bar.red.and.pred %p4, 2, %p3; bar.red.or.pred %p5, 2, %p3; @%p4 add.u32 %r8, %r8, 1000000; @%p5 add.u32 %r8, %r8, 2000000;
	st.global.u32 [%at], %r8; ret;`)
		tb.cfg = cfg
		a := tb.mem(1024, false)
		tb.ok(1, 256, a, 0)
		for _, v := range tb.words(a, 256) {
			require.Equal(t, uint32(256*257/2+100+2000000), v)
		}
	})
}

func TestABarrierOfSomeWarpsLetsOthersGoOn(t *testing.T) {
	// Warp 0 produces and goes on, warp 1 waits; warp 2 takes no part.
	tb := newTestbed(t, `
	shr.u32 %r1, %tid, 5; setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 1;
	@%p1 bra PRODUCE; @%p2 bra CONSUME; bra OUT;
PRODUCE:
	shl.b32 %r2, %tid, 2; mov.u32 %r3, tile; add.u32 %r2, %r2, %r3; st.shared.u32 [%r2], %tid; bar.arrive 3, 64; bra OUT;
CONSUME:
	bar.sync 3, 64; shl.b32 %r2, %tid, 2; mov.u32 %r3, tile; add.u32 %r2, %r2, %r3; ld.shared.u32 %r4, [%r2-128]; st.global.u32 [%at], %r4;
OUT:
	ret;`)
	a := tb.mem(96*4, false)
	tb.ok(1, 96, a, 0)
	assert.Equal(t, uint32(31), tb.words(a, 64)[63])
}

func TestThreadsThatHaveExitedAreNotWaitedFor(t *testing.T) {
	tb := newTestbed(t, `setp.ge.u32 %p1, %tid, 40; @%p1 ret; bar.sync 0; st.global.u32 [%at], %tid; ret;`)
	a := tb.mem(512, false)
	tb.ok(1, 96, a, 0)
	assert.Equal(t, uint32(39), tb.words(a, 40)[39])
}

func TestCollectivesOfAWarp(t *testing.T) {
	cases := []struct {
		body string
		want func(i uint32) uint32
	}{
		{"shfl.sync.up.b32 %r1|%p1, %tid, 3, 0, 0xffffffff; @!%p1 add.u32 %r1, %r1, 100;", func(i uint32) uint32 {
			if i < 3 {
				return i + 100
			}
			return i - 3
		}},
		{"shfl.sync.down.b32 %r1, %tid, 4, 0x1807, 0xffffffff;", func(i uint32) uint32 { // segments of eight
			if i%8 < 4 {
				return i + 4
			}
			return i
		}},
		{"shfl.sync.bfly.b32 %r1, %tid, 5, 31, 0xffffffff;", func(i uint32) uint32 { return i ^ 5 }},
		{"add.u32 %r2, %tid, 7; shfl.sync.idx.b32 %r1, %tid, %r2, 31, 0xffffffff;", func(i uint32) uint32 { return (i + 7) % 32 }},
		{"setp.lt.u32 %p1, %tid, 5; vote.sync.ballot.b32 %r1, %p1, 0xffffffff;", func(uint32) uint32 { return 31 }},
		{"setp.lt.u32 %p1, %tid, 5; vote.sync.any.pred %p2, %p1, 0xffffffff; vote.sync.all.pred %p3, %p1, 0xffffffff; selp.u32 %r1, 1, 0, %p2; @%p3 mov.u32 %r1, 2;",
			func(uint32) uint32 { return 1 }},
		{"and.b32 %r2, %tid, 3; match.any.sync.b32 %r1, %r2, 0xffffffff;", func(i uint32) uint32 { return 0x11111111 << (i % 4) }},
		{"match.all.sync.b32 %r1|%p1, %ntid, 0xffffffff; @!%p1 mov.u32 %r1, 0;", func(uint32) uint32 { return 0xffffffff }},
		{"redux.sync.add.u32 %r1, %tid, 0xffffffff;", func(uint32) uint32 { return 496 }},
		{"sub.s32 %r2, %tid, 9; redux.sync.min.s32 %r1, %r2, 0xffffffff;", func(uint32) uint32 { return 0xfffffff7 }},
		{"elect.sync _|%p1, 0xffffffff; selp.u32 %r1, 1, 0, %p1;", func(i uint32) uint32 {
			if i == 0 {
				return 1
			}
			return 0
		}},
		// Both halves of the warp run the same collective apart from each other.
		{"setp.lt.u32 %p1, %tid, 16; @%p1 bra LOW; redux.sync.max.u32 %r1, %tid, 0xffff0000; bra OUT; LOW: redux.sync.max.u32 %r1, %tid, 0xffff; OUT:",
			func(i uint32) uint32 { return i/16*16 + 15 }},
		{"mov.u32 %r1, %lanemask_lt; popc.b32 %r1, %r1;", func(i uint32) uint32 { return i }},
	}
	for _, c := range cases {
		tb := newTestbed(t, c.body+" st.global.u32 [%at], %r1; ret;")
		a := tb.mem(128, false)
		tb.ok(1, 32, a, 0)
		for i, v := range tb.words(a, 32) {
			assert.Equal(t, c.want(uint32(i)), v, "lane %d: %s", i, c.body)
		}
	}
}

func TestAtomicsOnOneWord(t *testing.T) {
	cases := []struct {
		inst        string
		start, want uint32
	}{
		{"red.global.add.u32 [%a], %tid;", 5, 5 + 4*(63*64/2)}, {"atom.global.max.s32 %r1, [%a], %r9;", 0x80000000, 62},
		{"atom.global.min.s32 %r1, [%a], %r9;", 7, 0xffffffff}, {"atom.global.min.u32 %r1, [%a], %tid;", 7, 0},
		{"red.global.or.b32 [%a], %tid;", 64, 127}, {"red.global.and.b32 [%a], 6;", 13, 4}, {"red.global.xor.b32 [%a], 3;", 9, 9},
		{"atom.global.inc.u32 %r1, [%a], 9;", 0, 6}, {"atom.global.dec.u32 %r1, [%a], 9;", 3, 7}, {"red.global.add.f32 [%a], 0f3F800000;", 0x3f800000, 0x43808000},
	}
	for _, c := range cases {
		everyWay(t, func(t *testing.T, cfg exec.Options) {
			tb := newTestbed(t, "sub.s32 %r9, %tid, 1; "+c.inst+" ret;")
			tb.cfg = cfg
			a := tb.mem(4, true)
			b, _ := tb.sp.Bytes(a, 4, true)
			binary.LittleEndian.PutUint32(b, c.start)
			tb.ok(4, 64, a, 0)
			assert.Equal(t, c.want, tb.words(a, 1)[0], c.inst)
		})
	}
}

func TestFunctionsAreCalled(t *testing.T) {
	text := ptxHead + `
.func (.param .b32 out) triple(.param .b32 x) {
	.reg .b32 %r<3>; .reg .pred %p;
	ld.param.u32 %r1, [x]; setp.gt.u32 %p, %r1, 20; @%p bra BIG; mul.lo.u32 %r2, %r1, 3; st.param.b32 [out], %r2; ret;
BIG: st.param.b32 [out], %r1; ret;
}
.visible .entry k(.param .u64 a) {
	.reg .b32 %r<5>; .reg .b64 %rd<4>; .reg .pred %q;
	ld.param.u64 %rd1, [a]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2; mov.u32 %r3, 7;
	setp.ne.u32 %q, %r1, 5;
	{ .param .b32 p0; st.param.b32 [p0], %r1; .param .b32 r0; @%q call.uni (r0), triple, (p0); @%q ld.param.b32 %r3, [r0]; }
	{ .param .b32 p0; st.param.b32 [p0], %r3; .param .b32 r0; call.uni (r0), triple, (p0); ld.param.b32 %r4, [r0]; }
	st.global.u32 [%rd1], %r4; ret;
}`
	sp := memory.New(1 << 20)
	p, err := program.Load([]byte(text), sp)
	require.NoError(t, err)
	k, ok := p.Kernel("k")
	require.True(t, ok)
	a, err := sp.Alloc(128, "test")
	require.NoError(t, err)
	_, f := (&exec.Machine{Space: sp}).Run(&exec.Launch{Kernel: k, Grid: [3]uint32{1, 1, 1}, Block: [3]uint32{32, 1, 1}, Params: binary.LittleEndian.AppendUint64(nil, a)})
	require.Nil(t, f)
	triple := func(x uint32) uint32 {
		if x > 20 {
			return x
		}
		return 3 * x
	}
	b, err := sp.Bytes(a, 128, false)
	require.NoError(t, err)
	for i := range uint32(32) {
		x := triple(i)
		if i == 5 {
			x = 7
		}
		assert.Equal(t, triple(x), binary.LittleEndian.Uint32(b[4*i:]), i)
	}
}

func TestWhatIsNotKnownIsAnErrorAtLoad(t *testing.T) {
	for body, reason := range map[string]string{
		"wmma.load.a.sync %r1;":                "no such instruction",
		"add.rz.s32 %r1, %r2, %r3;":            ".rz",
		"cvt.f32.f64 %f1, %d1;":                "rounding expected",
		"cvt.sat.u64.u32 %rd1, %r1;":           "sat on a conversion from .u32 to .u64",
		"cvt.sat.s32.u16 %r1, %h1;":            "sat on a conversion from .u16 to .s32",
		"cvt.sat.s32.s32 %r1, %r2;":            "sat on a conversion from .s32 to .s32",
		"cvt.rn.ftz.f64.s32 %d1, %r1;":         "ftz on a conversion that has no .f32",
		"add.s32 %rd1, %r2, %r3;":              "b64",
		"add.u64 %rd1, %r2, %rd3;":             "b32 read as u64",
		"mov.u32 %r1, %nonsense;":              "%nonsense",
		"setp.lo.s32 %p1, %r1, %r2;":           ".lo",
		"ld.global.u32 %r1, [%r2];":            "64 bits",
		"atom.global.add.v2.u32 %r1, [%a], 1;": "braces",
		"call.uni nowhere;":                    "nowhere",
	} {
		_, err := program.Load([]byte(kernelOf("\n\n\t"+body+" ret;")), memory.New(1<<20))
		var e *program.UnsupportedError
		require.ErrorAs(t, err, &e, body)
		assert.Equal(t, 12, e.Line, body)
		assert.Contains(t, fmt.Sprint(err), reason)
	}
}

// What blocks of a launch see of each other without a seed and with one: how many have begun and not ended.
func TestASeedLetsBlocksRunBesideEachOther(t *testing.T) {
	tb := newTestbed(t, `
	setp.ne.u32 %p1, %tid, 0; @%p1 bra END;
	atom.global.add.u32 %r1, [%a], 1; add.u32 %r1, %r1, 1; red.global.max.u32 [%a+4], %r1;
	mov.u32 %r2, 0;
WORK:
	add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 500; @%p2 bra WORK;
	red.global.add.u32 [%a], -1;
END:
	ret;`)
	most := func(seed uint64, pass uint64) uint32 {
		tb.cfg.Seed = seed
		a := tb.mem(8, true)
		tb.ok(40, 64, a, pass)
		return tb.words(a, 2)[1]
	}
	seen := map[uint32]bool{}
	for pass := range uint64(20) {
		seen[most(1, pass)] = true
		assert.EqualValues(t, 1, most(0, pass), "blocks that a seed had")
	}
	assert.Greater(t, len(seen), 5, "%v", seen) // launches differ: in some few blocks are beside each other, in some many
	assert.True(t, seen[1] && slices.Max(slices.Collect(maps.Keys(seen))) > 20, "%v", seen)
}
