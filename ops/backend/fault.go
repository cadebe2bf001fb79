package backend

import (
	"sort"

	"github.com/robocache/robocache/tensor"
)

// Fault packs the place and kind of a bad value into a word, so that the smallest of several is the one to report: 2 bits
// of class, 4 of a Fuse's stream, 54 of position, 4 of reason. Backends find faults while they work, on a GPU in the kernel.
type Fault uint64

// NoFault is greater than every fault.
const NoFault = ^Fault(0)

// The classes of fault, in the order in which they are reported. A position is a row for FaultRows, and else an index into
// the source timestamps or targets: row*S+index or row*T+index, or the index of a packed tensor.
const (
	FaultRows Fault = iota << 62
	FaultTimes
	FaultTargets
)

// The reasons of a fault.
const (
	FaultSrcRows Fault = iota
	FaultDstRows
	FaultNoSamples
	FaultUnsorted
	FaultNotFinite
	FaultTimeRange
	FaultOutOfRange
)

// MakeFault packs a fault.
func MakeFault(class Fault, position int, reason Fault) Fault {
	return class | Fault(position)<<4 | reason
}

// InStream returns the fault as one of stream m of a Fuse. Of two faults of a class the one in the earlier stream is smaller.
func (f Fault) InStream(m int) Fault { return f | Fault(m)<<58 }

// Stream returns the stream of a fault of a Fuse.
func (f Fault) Stream() int { return int(f << 2 >> 60) }

// FaultError unpacks a fault of the job. For packed tensors it reads the offsets, or starts and lengths; read is given those on the device.
func (j *ResampleJob) FaultError(f Fault, read func(*tensor.Tensor) ([]int64, error)) error {
	if f == NoFault {
		return nil
	}
	e, err := j.fault(f, j.DstOffsets, read)
	if err != nil {
		return err
	}
	return e
}

func (j *ResampleJob) fault(f Fault, dstOffsets *tensor.Tensor, read func(*tensor.Tensor) ([]int64, error)) (e *ValueError, err error) {
	position := int(f << 6 >> 10)
	e = &ValueError{Op: "Resample", Row: position}
	chosen := func() { // the first row that has the timestamp, of two out of order both
		var starts, lengths []int64
		if starts, err = read(j.SrcStarts); err == nil {
			lengths, err = read(j.SrcLengths)
		}
		for b := range lengths {
			k := int64(position) - starts[b]
			if k >= 0 && k < lengths[b] && (k > 0 || f&15 != FaultUnsorted) {
				e.Row, e.Index = b, int(k)
				break
			}
		}
	}
	split := func(n int, packed *tensor.Tensor) {
		if packed == nil {
			e.Row, e.Index = position/n, position%n
			return
		}
		var offsets []int64
		if offsets, err = read(packed); err == nil {
			e.Row = max(sort.Search(len(offsets), func(i int) bool { return offsets[i] > int64(position) })-1, 0)
			e.Index = position - int(offsets[e.Row])
		}
	}
	rowsArg := func(side string, lengths *tensor.Tensor) string {
		if lengths != nil {
			return side + "Lengths"
		}
		return side + "Offsets"
	}
	switch f >> 62 << 62 {
	case FaultRows:
		e.Arg = rowsArg("Src", j.SrcLengths)
	case FaultTimes:
		e.Arg = "SrcTimes"
		if j.SrcStarts != nil {
			chosen()
		} else {
			split(j.S, j.SrcOffsets)
		}
	default:
		e.Arg = "Targets"
		split(j.T, dstOffsets)
	}
	switch f & 15 {
	case FaultSrcRows:
		e.Kind = ErrRows
		if j.SrcStarts != nil {
			e.Arg = "SrcStarts"
		}
	case FaultDstRows:
		e.Arg, e.Kind = rowsArg("Dst", j.DstLengths), ErrRows
	case FaultNoSamples:
		e.Kind = ErrNoSamples
	case FaultUnsorted:
		e.Kind = ErrUnsorted
	case FaultNotFinite:
		e.Kind = ErrNotFinite
	case FaultTimeRange:
		e.Kind = ErrTimeRange
	case FaultOutOfRange:
		e.Kind = ErrOutOfRange
	}
	return e, err
}
