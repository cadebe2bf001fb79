package cudadrv_test

// chainKernel is PTX for the tests of dependent launches, on a GPU of sm_90 or newer.
const chainKernel = `
.version 7.8
.target sm_90
.address_size 64

// chain writes out[i] = 3 * in[i] + ready[i] for i below n. It lets the next kernel start at once, and waits for the one before
// it: first of all, or with early only when it has read ready. It takes ns nanoseconds between reading and writing.
.visible .entry chain(.param .u64 out, .param .u64 in, .param .u64 ready, .param .u32 n, .param .u32 early, .param .u64 ns)
{
	.reg .pred %p<5>;
	.reg .b32 %r<10>;
	.reg .b64 %rd<12>;
	griddepcontrol.launch_dependents;
	ld.param.u32 %r1, [n];
	ld.param.u32 %r2, [early];
	ld.param.u64 %rd1, [out];
	ld.param.u64 %rd2, [in];
	ld.param.u64 %rd3, [ready];
	ld.param.u64 %rd4, [ns];
	cvta.to.global.u64 %rd1, %rd1;
	cvta.to.global.u64 %rd2, %rd2;
	cvta.to.global.u64 %rd3, %rd3;
	mov.u32 %r3, %ctaid.x;
	mov.u32 %r4, %ntid.x;
	mov.u32 %r5, %tid.x;
	mad.lo.s32 %r6, %r3, %r4, %r5;
	setp.ge.u32 %p1, %r6, %r1;
	@%p1 bra LAST;
	mul.wide.u32 %rd5, %r6, 4;
	add.s64 %rd1, %rd1, %rd5;
	add.s64 %rd2, %rd2, %rd5;
	add.s64 %rd3, %rd3, %rd5;
	setp.eq.u32 %p2, %r2, 0;
	@%p2 bra LATE;
	ld.global.u32 %r7, [%rd3];
	griddepcontrol.wait;
	bra READ;
LATE:
	griddepcontrol.wait;
	ld.global.u32 %r7, [%rd3];
READ:
	ld.global.u32 %r8, [%rd2];
	mad.lo.u32 %r9, %r8, 3, %r7;
	mov.u64 %rd6, %globaltimer;
LOOP:
	mov.u64 %rd7, %globaltimer;
	sub.s64 %rd8, %rd7, %rd6;
	setp.lt.u64 %p3, %rd8, %rd4;
	@%p3 bra LOOP;
	st.global.u32 [%rd1], %r9;
	ret;
LAST:
	griddepcontrol.wait;
	ret;
}

`

// kernels90 is PTX for the tests of what only a GPU of sm_90 or newer does: the simulated device has neither clusters nor
// cooperative launches.
const kernels90 = `
.version 8.0
.target sm_90
.address_size 64

// clusters writes, for each block, its number in its cluster and the cluster's size.
.visible .entry clusters(.param .u64 out)
{
	.reg .b32 %r<5>;
	.reg .b64 %rd<4>;
	ld.param.u64 %rd1, [out];
	cvta.to.global.u64 %rd1, %rd1;
	mov.u32 %r1, %ctaid.x;
	mul.wide.u32 %rd2, %r1, 8;
	add.s64 %rd3, %rd1, %rd2;
	mov.u32 %r2, %cluster_ctarank;
	mov.u32 %r3, %cluster_nctarank;
	st.global.u32 [%rd3], %r2;
	st.global.u32 [%rd3+4], %r3;
	ret;
}

// meet waits until all blocks have come, at most two thousand million rounds, and writes how many had.
.visible .entry meet(.param .u64 count, .param .u64 out)
{
	.reg .pred %p<4>;
	.reg .b32 %r<6>;
	.reg .b64 %rd<5>;
	ld.param.u64 %rd1, [count];
	ld.param.u64 %rd2, [out];
	cvta.to.global.u64 %rd1, %rd1;
	cvta.to.global.u64 %rd2, %rd2;
	mov.u32 %r1, %nctaid.x;
	atom.global.add.u32 %r2, [%rd1], 1;
	mov.u32 %r3, 0;
ROUND:
	ld.volatile.global.u32 %r4, [%rd1];
	setp.ge.u32 %p1, %r4, %r1;
	@%p1 bra MET;
	add.u32 %r3, %r3, 1;
	setp.lt.u32 %p2, %r3, 2000000000;
	@%p2 bra ROUND;
MET:
	mov.u32 %r5, %ctaid.x;
	mul.wide.u32 %rd3, %r5, 4;
	add.s64 %rd4, %rd2, %rd3;
	st.global.u32 [%rd4], %r4;
	ret;
}
`
