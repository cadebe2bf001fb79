package backend

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

// Class returns the class of a fault, as MakeFault was given it.
func (f Fault) Class() Fault { return f >> 62 << 62 }

// Position returns the place of a fault, as MakeFault was given it.
func (f Fault) Position() int { return int(f << 6 >> 10) }

// Reason returns the reason of a fault.
func (f Fault) Reason() Fault { return f & 15 }

// Stream returns the stream of a fault of a Fuse.
func (f Fault) Stream() int { return int(f << 2 >> 60) }
