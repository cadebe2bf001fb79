package exec_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudasim/internal/exec"
	"github.com/robocache/robocache/cudasim/report"
)

// The kernel of the benchmark is what kernels mostly do: address arithmetic, loads, float and double arithmetic, conversions,
// comparisons and a loop, 18 instructions a round.
const benchBody = `
	mov.u32 %r1, 0; mov.f64 %d1, 0d0000000000000000; mov.f32 %f1, 0f00000000;
LOOP:
	add.u32 %r2, %r1, %tid; and.b32 %r2, %r2, 1023; mul.wide.u32 %rd1, %r2, 4; add.u64 %rd1, %rd1, %a;
	ld.global.f32 %f2, [%rd1];
	mul.rn.f32 %f3, %f2, 0f3F800001; add.rn.f32 %f1, %f1, %f3; cvt.f64.f32 %d2, %f3; mul.rn.f64 %d3, %d2, %d2; add.rn.f64 %d1, %d1, %d3;
	setp.gt.f32 %p1, %f3, %f2; selp.b32 %r4, %r1, %r2, %p1; shl.b32 %r5, %r4, 2; xor.b32 %r6, %r5, %r4; max.u32 %r7, %r6, %r7;
	add.u32 %r1, %r1, 1; setp.lt.u32 %p2, %r1, 1000; @%p2 bra LOOP;
	cvt.rn.f32.f64 %f4, %d1; add.rn.f32 %f4, %f4, %f1; cvt.rzi.u32.f32 %r8, %f4; add.u32 %r8, %r8, %r7;
	mul.wide.u32 %rd2, %tid, 4; add.u64 %rd2, %rd2, %b; st.global.u32 [%rd2], %r8; ret;`

// BenchmarkInstructions reports instructions of threads a second, on one worker.
func BenchmarkInstructions(b *testing.B) {
	for name, skip := range map[string]report.Check{"none": report.CheckAll, "uninitialised": report.CheckRaces, "all": 0} {
		b.Run(fmt.Sprintf("checks=%s", name), func(b *testing.B) {
			tb := newTestbed(b, benchBody)
			tb.cfg = exec.Options{Skip: skip, Workers: 1}
			a := tb.mem(4096, true)
			data, err := tb.sp.Bytes(a, 4096, true)
			require.NoError(b, err)
			for i := range 1024 {
				binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(i)/1024))
			}
			out := tb.mem(1024, false)
			for b.Loop() {
				tb.ok(1, 256, a, out)
			}
			b.ReportMetric(float64(b.N)*256*18*1000/b.Elapsed().Seconds()/1e6, "Minst/s")
		})
	}
}
