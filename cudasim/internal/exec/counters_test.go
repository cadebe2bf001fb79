package exec_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudasim/report"
)

func TestCountersSayWhatALaunchDid(t *testing.T) {
	var a uint64 // the parameter of the last count
	count := func(body string, block uint32) *report.Counters {
		tb := newTestbed(t, body+" ret;")
		tb.cfg.Counters = true
		a = tb.mem(8192, true)
		c, f := tb.run(1, block, a, 0)
		require.Nil(t, f)
		return c
	}
	c := count("ld.global.u32 %r1, [%at]; st.global.u32 [%at], %r1;", 64)
	assert.Equal(t, report.Traffic{Requests: 2, Bytes: 256, Sectors: 8}, c.GlobalRead)
	assert.Equal(t, report.Traffic{Requests: 2, Bytes: 256, Sectors: 8}, c.GlobalWrite)
	assert.Equal(t, uint64(128), c.Instructions["memory"]-2*64) // besides the two parameters
	// One sector a lane, and unaligned to sectors: the same lanes over one more.
	assert.Equal(t, uint64(32), count("mul.wide.u32 %rd1, %tid, 32; add.u64 %rd1, %rd1, %a; ld.global.u32 %r1, [%rd1];", 32).GlobalRead.Sectors)
	assert.Equal(t, uint64(5), count("ld.global.u32 %r1, [%at+16];", 32).GlobalRead.Sectors)
	assert.Equal(t, uint64(1), count("ld.global.u32 %r1, [%a];", 32).GlobalRead.Sectors)

	// A line that several lanes, or several warps, ask for counts once, and moves nothing.
	c = count("mul.wide.u32 %rd1, %tid, 64; add.u64 %rd1, %rd1, %a; prefetch.global.L2 [%rd1]; prefetch.global.L2 [%a+64];", 64)
	assert.Equal(t, uint64(32), c.Prefetched)
	assert.Zero(t, c.GlobalRead.Requests)

	// Words a stride apart in shared memory: a pass for each that shares a bank.
	for stride, extra := range map[string]uint64{"4": 0, "8": 1, "16": 3, "128": 31, "0": 0, "132": 0} {
		tb := newTestbed(t, "mul.lo.u32 %r1, %tid, "+stride+"; .shared .align 4 .b8 big[4352]; mov.u32 %r2, big; add.u32 %r1, %r1, %r2; mov.u32 %r4, 0; st.shared.u32 [%r1], %r4; ret;")
		tb.cfg.Counters = true
		c, f := tb.run(1, 32, 0, 0)
		require.Nil(t, f, stride)
		assert.Equal(t, extra, c.BankConflicts, stride)
	}

	c = count("red.global.add.u32 [%a+4], 1; and.b32 %r1, %tid, 1; setp.eq.u32 %p1, %r1, 0; @%p1 red.global.add.u32 [%a], 1; bar.sync 0; bar.sync 0;", 64)
	assert.Equal(t, uint64(96), c.Atomics)
	assert.Equal(t, uint64(64), c.AtomicsOnOne)
	assert.Equal(t, a+4, c.AtomicAddress)
	assert.Equal(t, uint64(2), c.Barriers)

	c = count("setp.lt.u32 %p1, %tid, 40; @%p1 bra L; add.u32 %r1, %r1, 1; L:", 64)
	assert.Equal(t, uint64(2), c.Branches)
	assert.Equal(t, uint64(1), c.DivergentBranches)
	assert.Equal(t, uint64(64+24+64), c.Instructions["int"]) // the address takes two
}
