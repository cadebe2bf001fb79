package backend

// Fault packs the place and kind of a bad value into one word: 2 bits class, 4 bits stream in a Fuse, 54 bits position,
// 4 bits reason. If there are several faults, the smallest is reported. Backends find faults while they work; on a GPU
// a kernel finds them.
type Fault uint64

// NoFault is greater than every fault.
const NoFault = ^Fault(0)

// The fault classes, in the order in which they are reported. For FaultRows the position is a row. For the others it is
// an index into the source timestamps or targets: row*S+index or row*T+index, or the index in a packed tensor.
const (
	FaultRows Fault = iota << 62
	FaultTimes
	FaultTargets
)

// The fault reasons. Example: FaultUnsorted in the class FaultTimes is a timestamp that is less than the one before it.
const (
	FaultSrcRows Fault = iota
	FaultDstRows
	FaultNoSamples
	FaultUnsorted
	FaultNotFinite
	FaultTimeRange
	FaultOutOfRange
)

// MakeFault returns a fault with a class, position and reason.
func MakeFault(class Fault, position int, reason Fault) Fault {
	return class | Fault(position)<<4 | reason
}

// InStream returns the fault moved to stream m of a Fuse. Within a class, a fault in an earlier stream is smaller.
func (f Fault) InStream(m int) Fault { return f | Fault(m)<<58 }

// Class returns the class from MakeFault.
func (f Fault) Class() Fault { return f >> 62 << 62 }

// Position returns the position from MakeFault.
func (f Fault) Position() int { return int(f << 6 >> 10) }

// Reason returns the reason from MakeFault.
func (f Fault) Reason() Fault { return f & 15 }

// Stream returns the stream from InStream.
func (f Fault) Stream() int { return int(f << 2 >> 60) }
