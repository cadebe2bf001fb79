package cuda

import (
	"math"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// Kinds, edges, clocks and dtypes have the numbers that the kernels were compiled with.
func TestNumbersAreTheKernels(t *testing.T) {
	assert.Equal(t, map[ops.Interp]int{
		ops.InterpLinear: ptx.InterpolationLinear, ops.InterpPrevious: ptx.InterpolationPrevious, ops.InterpNext: ptx.InterpolationNext, ops.InterpNearest: ptx.InterpolationNearest, ops.InterpSlerp: ptx.InterpolationSlerp,
		ops.InterpAngle: ptx.InterpolationAngle, ops.InterpPchip: ptx.InterpolationPchip, ops.InterpWindowMean: ptx.InterpolationWindowMean, ops.InterpWindowMin: ptx.InterpolationWindowMin, ops.InterpWindowMax: ptx.InterpolationWindowMax,
		ops.InterpWindowLast: ptx.InterpolationWindowLast, ops.InterpCatmullRom: ptx.InterpolationCatmullRom, ops.InterpHermite: ptx.InterpolationHermite, ops.InterpRotVec: ptx.InterpolationRotvec, ops.InterpRot6D: ptx.InterpolationRot6d,
	}, func() map[ops.Interp]int {
		all := map[ops.Interp]int{}
		for k := range ops.InterpRot6D + 1 {
			all[k] = int(k)
		}
		return all
	}())
	for edge, n := range map[ops.Edge]int{ops.EdgeClamp: ptx.EdgeClamp, ops.EdgeFill: ptx.EdgeFill, ops.EdgeExtrapolate: ptx.EdgeExtrapolate, ops.EdgeError: ptx.EdgeError, ops.EdgeHold: ptx.EdgeHold} {
		assert.EqualValues(t, n, edge)
	}
	assert.Equal(t, map[tensor.DType]uint32{tensor.I64: ptx.ClockI64, tensor.F64: ptx.ClockF64, tensor.F32: ptx.ClockF32}, clockCode)
	assert.Equal(t, map[tensor.DType]uint32{tensor.F32: ptx.DtF32, tensor.F64: ptx.DtF64, tensor.F16: ptx.DtF16, tensor.BF16: ptx.DtBf16}, dtypeCode)
	assert.Equal(t, []int{threads, ops.MaxStreams}, []int{ptx.FastThreads, ptx.MaxStreams})
}

// The kernel divides by multiplying: mul.hi of a number below 2^31 and the factor, shifted.
func TestDividerDividesEveryNumber(t *testing.T) {
	for _, d := range []int{2, 3, 5, 7, 31, 32, 33, 1000, 1023, 1024, 1025, 4096, 999983, 1 << 30, 1<<30 + 1, math.MaxInt32} {
		magic, shift := divider(d, math.MaxInt32)
		require.Less(t, shift, uint32(32))
		for _, n := range []uint32{0, 1, uint32(d) - 1, uint32(d), uint32(d) + 1, 2*uint32(d) - 1, 1<<31 - 1, 1<<31 - 2, (1<<31 - 1) / uint32(d) * uint32(d), 123456789} {
			if n >= 1<<31 {
				continue
			}
			hi, _ := bits.Mul32(n, magic)
			assert.Equal(t, n/uint32(d), hi>>shift, "%d / %d", n, d)
		}
	}
	magic, _ := divider(1000, math.MaxInt32+1)
	assert.Zero(t, magic, "too many targets for 31 bits")
}

func TestThreadsFindTheirChunk(t *testing.T) {
	for chunks := 1; chunks < 2000; chunks++ {
		for thread := range uint32(513) {
			if got := thread * chunkMagic(chunks) >> 20; got != thread/uint32(chunks) {
				t.Fatalf("thread %d of %d chunks: got %d", thread, chunks, got)
			}
		}
	}
}
