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

// dtypeCode numbers the value dtypes, and clockCode the clocks' dtypes, as the kernels do. Interpolations and edges have one order in ops and there.
var (
	dtypeCode = map[tensor.DType]uint32{tensor.F32: ptx.DtF32, tensor.F64: ptx.DtF64, tensor.F16: ptx.DtF16, tensor.BF16: ptx.DtBf16}
	clockCode = map[tensor.DType]uint32{tensor.I64: ptx.ClockI64, tensor.F64: ptx.ClockF64, tensor.F32: ptx.ClockF32}
)

// pointer is a tensor's address, 0 for one that is not there.
func pointer(t *tensor.Tensor) cudadrv.DevicePtr {
	if t == nil {
		return 0
	}
	addr, _ := t.Addr()
	return cudadrv.DevicePtr(addr)
}

// address is pointer, as a kernel's parameter has it.
func address(t *tensor.Tensor) uint64 { return uint64(pointer(t)) }

// rows is the address of the rows' lengths or offsets, 0 for none.
func rows(lengths, offsets *tensor.Tensor) uint64 {
	if lengths != nil {
		return address(lengths)
	}
	return address(offsets)
}

// targetsOf is the address of the targets' times, or of an anchored clock's deltas; 0 for a uniform one.
func targetsOf(c backend.Clock) uint64 {
	if c.Deltas != nil {
		return address(c.Deltas)
	}
	return address(c.Times)
}

// chunkMagic is the factor with which chunk_of of resample.cuh divides.
func chunkMagic(chunks int) uint32 { return uint32((1<<20 + chunks - 1) / chunks) }

// divider returns the factor and shift with which resample.cuh divides numbers below n by t, 0 where it has to divide. Where there are
// no numbers t may be 0.
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

// samplesPerTarget is how many samples lie from one target to the next, if both are evenly spaced from one end of a row to the other; 0 if unknown.
func samplesPerTarget(j *backend.ResampleJob) float32 {
	if j.SrcOffsets != nil || j.SrcStarts != nil || j.DstOffsets != nil || j.T < 2 || j.S == 0 {
		return 0
	}
	return float32(j.S-1) / float32(j.T-1)
}

// valueBits are the bits of x rounded to a dtype.
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

// limitBits are the bits of a limit in the clock's own type.
func limitBits(l backend.Limit, clock tensor.DType) uint64 {
	d, _ := l.Get()
	return lengthBits(d, clock)
}

// lengthBits are the bits of a length of time in the clock's own type.
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

// startBits is where a uniform clock begins, as tick of resample.cuh takes it: nanoseconds, or the bits of seconds.
func startBits(c backend.Clock, clock tensor.DType) int64 {
	if clock == tensor.I64 {
		return c.Start
	}
	return int64(lengthBits(time.Duration(c.Start), tensor.F64))
}

// uniform returns the interpolation that all features have, if it is one that looks at no value.
func uniform(channels []backend.Channel) (backend.Interp, bool) {
	kind := channels[0].Interp
	for _, c := range channels {
		if c.Interp != kind || c.Interp > backend.InterpNearest {
			return 0, false
		}
	}
	return kind, true
}

// dense reports whether the rows of a tensor that is there follow each other from one row of the batch to the next.
func dense(x *tensor.Tensor, batch, row, b int) bool { return x == nil || batch == row || b == 1 }

func denseOutputs(j *backend.ResampleJob) bool {
	return dense(j.Dst, j.DstBatch, j.T*j.DstStep, j.B) && dense(j.Valid, j.ValidBatch, j.T*j.ValidStep, j.B) && dense(j.Age, j.AgeBatch, j.T*j.AgeStep, j.B)
}

// packed is a list of structs, as kernels read it from device memory.
func packed(list any) []byte {
	out, err := binary.Append(nil, binary.LittleEndian, list)
	if err != nil {
		panic(err) // a type without a size: a mistake in this package
	}
	return out
}
