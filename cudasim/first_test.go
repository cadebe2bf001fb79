package cudasim

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLoadAll(t *testing.T) {
	fs, _ := filepath.Glob("../ptx/*.ptx")
	for _, f := range fs {
		b, err := os.ReadFile(f)
		require.NoError(t, err)
		s := time.Now()
		p, err := loadProgram(b, newSpace(1<<30))
		require.NoError(t, err, f)
		for _, k := range p.kernels {
			t.Log(f, k.name, len(k.code), k.slots, k.predSlots, len(k.consts), k.shared)
		}
		t.Log(time.Since(s))
	}
}

const vadd = `
.version 7.8
.target sm_90
.address_size 64
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
}`

func TestVadd(t *testing.T) {
	sp := newSpace(1 << 30)
	p, err := loadProgram([]byte(vadd), sp)
	require.NoError(t, err)
	k, _ := p.kernel("vector_add")
	n := uint32(1000)
	var ad [3]uint64
	params := make([]byte, k.paramBytes)
	for i := range ad {
		ad[i], _ = sp.alloc(4000, "x")
		binary.LittleEndian.PutUint64(params[8*i:], ad[i])
		b, _ := sp.bytes(ad[i], 4000, i < 2)
		for j := range 1000 {
			put(b[4*j:], 4, pack32(float32(i+j)))
		}
	}
	binary.LittleEndian.PutUint32(params[24:], n)
	_, f := run(sp, &launchSpec{kernel: k, grid: [3]uint32{4, 1, 1}, block: [3]uint32{256, 1, 1}, params: params})
	require.Nil(t, f)
	b, _ := sp.bytes(ad[2], 4000, false)
	for j := range 1000 {
		require.Equal(t, float32(2*j+1), f32(get(b[4*j:], 4)))
	}
}
