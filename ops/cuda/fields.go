package cuda

import (
	"encoding/binary"
	"math"
	"math/bits"
	"time"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// dtypeCode and clockCode map the dtypes of values and clocks to the kernels' numbers. Interpolations and edges need no map, because
// their order is the same in ops and in the kernels.
var (
	dtypeCode = map[tensor.DType]uint32{tensor.F32: ptx.DtF32, tensor.F64: ptx.DtF64, tensor.F16: ptx.DtF16, tensor.BF16: ptx.DtBf16}
	clockCode = map[tensor.DType]uint32{tensor.I64: ptx.ClockI64, tensor.F64: ptx.ClockF64, tensor.F32: ptx.ClockF32}
)

// pointer returns a tensor's device address, 0 if the tensor is nil.
func pointer(t *tensor.Tensor) cudadrv.DevicePtr {
	if t == nil {
		return 0
	}
	addr, _ := t.Addr()
	return cudadrv.DevicePtr(addr)
}

// address returns a tensor's device address as a kernel parameter, 0 if the tensor is nil.
func address(t *tensor.Tensor) uint64 { return uint64(pointer(t)) }

// rows returns the address of the row lengths or the row offsets, 0 if there are neither.
func rows(lengths, offsets *tensor.Tensor) uint64 {
	if lengths != nil {
		return address(lengths)
	}
	return address(offsets)
}

// targetsOf returns the address of the target times, or of an anchored clock's deltas; 0 for a uniform clock.
func targetsOf(c backend.Clock) uint64 {
	if c.Deltas != nil {
		return address(c.Deltas)
	}
	return address(c.Times)
}

// chunkMagic returns the factor by which chunk_of in resample.cuh divides.
func chunkMagic(chunks int) uint32 { return uint32((1<<20 + chunks - 1) / chunks) }

// divider returns a factor and a shift with which resample.cuh divides numbers below n by t. A factor of 0 makes the kernel use an
// ordinary division. If n is 0, t may be 0.
func divider(t, n int) (magic, shift uint32) {
	if n == 0 {
		return 1, 0
	}
	if t < 2 || n > math.MaxInt32 {
		return 0, 0
	}
	l := bits.Len(uint(t - 1))
	return uint32((1<<(31+l) + uint64(t) - 1) / uint64(t)), uint32(l - 1)
}

// samplesPerTarget counts the samples between consecutive targets if both are evenly spaced over the whole row; 0 if this is
// unknown.
func samplesPerTarget(j *backend.ResampleJob) float32 {
	if j.SrcOffsets != nil || j.SrcStarts != nil || j.DstOffsets != nil || j.T < 2 || j.S == 0 {
		return 0
	}
	return float32(j.S-1) / float32(j.T-1)
}

// valueBits returns x, rounded to a dtype, as bits.
func valueBits(x float64, dtype tensor.DType) uint64 {
	switch dtype {
	case tensor.F32:
		return uint64(math.Float32bits(float32(x)))
	case tensor.F64:
		return math.Float64bits(x)
	case tensor.F16:
		return uint64(tensor.F16FromF64(x))
	}
	return uint64(tensor.BF16FromF64(x))
}

// limitBits returns a limit as bits in the clock's own type.
func limitBits(l backend.Limit, clock tensor.DType) uint64 {
	d, _ := l.Get()
	return lengthBits(d, clock)
}

// lengthBits returns a duration as bits in the clock's own type.
func lengthBits(d time.Duration, clock tensor.DType) uint64 {
	seconds := float64(int64(d)) / 1e9
	switch clock {
	case tensor.I64:
		return uint64(d)
	case tensor.F64:
		return math.Float64bits(seconds)
	}
	return uint64(math.Float32bits(float32(seconds)))
}

// startBits returns a uniform clock's start in the form that tick in resample.cuh reads: nanoseconds, or the bits of float64 seconds.
func startBits(c backend.Clock, clock tensor.DType) int64 {
	if clock == tensor.I64 {
		return c.Start
	}
	return int64(lengthBits(time.Duration(c.Start), tensor.F64))
}

// uniform returns the interpolation shared by all features, if they share one and it is linear, previous, next or nearest.
func uniform(channels []backend.Channel) (backend.Interp, bool) {
	kind := channels[0].Interp
	for _, c := range channels {
		if c.Interp != kind || c.Interp > backend.InterpNearest {
			return 0, false
		}
	}
	return kind, true
}

// dense reports whether a tensor has no gaps between its batch rows. A nil tensor has none.
func dense(x *tensor.Tensor, batch, row, b int) bool { return x == nil || batch == row || b == 1 }

func denseOutputs(j *backend.ResampleJob) bool {
	return dense(j.Dst, j.DstBatch, j.T*j.DstStep, j.B) && dense(j.Valid, j.ValidBatch, j.T*j.ValidStep, j.B) && dense(j.Age, j.AgeBatch, j.T*j.AgeStep, j.B)
}

// packed encodes a list of structs as the kernels read it from device memory.
func packed(list any) []byte {
	out, err := binary.Append(nil, binary.LittleEndian, list)
	if err != nil {
		panic(err) // only a type without a fixed size fails, which is a mistake in this package
	}
	return out
}
