package cudadrv_test

// kernels is PTX for the tests on a real GPU.
const kernels = `
.version 7.8
.target sm_80
.address_size 64

// null does nothing.
.visible .entry null()
{
	ret;
}

// vector_add writes c[i] = a[i] + b[i] for i below n.
.visible .entry vector_add(.param .u64 a, .param .u64 b, .param .u64 c, .param .u32 n)
{
	.reg .pred %p<2>;
	.reg .b32 %r<6>;
	.reg .f32 %f<4>;
	.reg .b64 %rd<8>;
	ld.param.u32 %r5, [n];
	mov.u32 %r1, %ctaid.x;
	mov.u32 %r2, %ntid.x;
	mov.u32 %r3, %tid.x;
	mad.lo.s32 %r4, %r1, %r2, %r3;
	setp.ge.u32 %p1, %r4, %r5;
	@%p1 bra DONE;
	mul.wide.u32 %rd4, %r4, 4;
	ld.param.u64 %rd1, [a];
	ld.param.u64 %rd2, [b];
	ld.param.u64 %rd3, [c];
	cvta.to.global.u64 %rd1, %rd1;
	cvta.to.global.u64 %rd2, %rd2;
	cvta.to.global.u64 %rd3, %rd3;
	add.s64 %rd5, %rd1, %rd4;
	add.s64 %rd6, %rd2, %rd4;
	add.s64 %rd7, %rd3, %rd4;
	ld.global.f32 %f1, [%rd5];
	ld.global.f32 %f2, [%rd6];
	add.rn.f32 %f3, %f1, %f2;
	st.global.f32 [%rd7], %f3;
DONE:
	ret;
}

// mixed writes each of its parameters to eight bytes of out.
.visible .entry mixed(.param .u64 out, .param .u8 a, .param .u16 b, .param .u32 c, .param .f32 d, .param .u64 e, .param .f64 f, .param .align 4 .b8 g[12])
{
	.reg .b16 %h<3>;
	.reg .b32 %r<6>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [out];
	cvta.to.global.u64 %rd1, %rd1;
	ld.param.u8 %h1, [a];
	cvt.u64.u16 %rd2, %h1;
	st.global.u64 [%rd1], %rd2;
	ld.param.u16 %h2, [b];
	cvt.u64.u16 %rd2, %h2;
	st.global.u64 [%rd1+8], %rd2;
	ld.param.u32 %r1, [c];
	cvt.u64.u32 %rd2, %r1;
	st.global.u64 [%rd1+16], %rd2;
	ld.param.b32 %r2, [d];
	cvt.u64.u32 %rd2, %r2;
	st.global.u64 [%rd1+24], %rd2;
	ld.param.u64 %rd2, [e];
	st.global.u64 [%rd1+32], %rd2;
	ld.param.b64 %rd2, [f];
	st.global.u64 [%rd1+40], %rd2;
	ld.param.b32 %r3, [g];
	ld.param.b32 %r4, [g+4];
	ld.param.b32 %r5, [g+8];
	st.global.u32 [%rd1+48], %r3;
	st.global.u32 [%rd1+52], %r4;
	st.global.u32 [%rd1+56], %r5;
	ret;
}

// spin takes ns nanoseconds, and at most two thousand million rounds.
.visible .entry spin(.param .u64 ns)
{
	.reg .pred %p<3>;
	.reg .b32 %r<2>;
	.reg .b64 %rd<5>;
	ld.param.u64 %rd1, [ns];
	mov.u64 %rd2, %globaltimer;
	mov.u32 %r1, 0;
LOOP:
	mov.u64 %rd3, %globaltimer;
	sub.s64 %rd4, %rd3, %rd2;
	setp.ge.u64 %p1, %rd4, %rd1;
	@%p1 bra DONE;
	add.u32 %r1, %r1, 1;
	setp.lt.u32 %p2, %r1, 2000000000;
	@%p2 bra LOOP;
DONE:
	ret;
}

// wild writes to an address that is nobody's.
.visible .entry wild()
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<2>;
	mov.u64 %rd1, 16;
	mov.u32 %r1, 1;
	st.global.u32 [%rd1], %r1;
	ret;
}

// shared writes to the end of its dynamic shared memory and copies that out.
.extern .shared .align 16 .b8 dynamic[];
.visible .entry shared(.param .u64 out, .param .u32 last)
{
	.reg .b32 %r<5>;
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [out];
	cvta.to.global.u64 %rd1, %rd1;
	ld.param.u32 %r1, [last];
	mov.u32 %r2, dynamic;
	add.u32 %r2, %r2, %r1;
	mov.u32 %r3, 4242;
	st.shared.u32 [%r2], %r3;
	ld.shared.u32 %r4, [%r2];
	st.global.u32 [%rd1], %r4;
	ret;
}
`
