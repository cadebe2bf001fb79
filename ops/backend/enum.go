package backend

import (
	"fmt"

	"github.com/robocache/robocache/tensor"
)

// Interp is ops.Interp.
type Interp uint8

// The interpolations, as in package ops.
const (
	InterpLinear Interp = iota
	InterpPrevious
	InterpNext
	InterpNearest
	InterpSlerp
	InterpAngle
	InterpPchip
	InterpWindowMean
	InterpWindowMin
	InterpWindowMax
	InterpWindowLast
	InterpCatmullRom
	InterpHermite
	InterpRotVec
	InterpRot6D
)

var interpNames = []string{"linear", "previous", "next", "nearest", "slerp", "angle", "pchip",
	"window-mean", "window-min", "window-max", "window-last", "catmull-rom", "hermite", "rotvec", "rot6d"}

// Interps returns every interpolation, in order.
func Interps() []Interp { return all[Interp](interpNames) }

// Windowed reports whether the interpolation reduces a window, and so needs a window length.
func (k Interp) Windowed() bool { return k >= InterpWindowMean && k <= InterpWindowLast }

// LooksBack reports whether the interpolation reads no sample after its target.
func (k Interp) LooksBack() bool { return k == InterpPrevious || k.Windowed() }

// Width returns the number of features that are interpolated together. A channel has a multiple of it. Example: 4 for
// InterpSlerp.
func (k Interp) Width() int {
	switch k {
	case InterpSlerp:
		return 4
	case InterpRotVec:
		return 3
	case InterpRot6D:
		return 6
	case InterpHermite:
		return 2
	}
	return 1
}

// Edge is ops.Edge.
type Edge uint8

// The edge rules, as in package ops.
const (
	EdgeClamp Edge = iota
	EdgeFill
	EdgeExtrapolate
	EdgeError
	EdgeHold
)

var edgeNames = []string{"clamp", "fill", "extrapolate", "error", "hold"}

// QuatOrder is ops.QuatOrder.
type QuatOrder uint8

// The quaternion orders, as in package ops.
const (
	QuatXYZW QuatOrder = iota
	QuatWXYZ
)

var quatNames = []string{"xyzw", "wxyz"}

// VoxelMode is ops.VoxelMode.
type VoxelMode uint8

// The modes for Voxelize, as in package ops.
const (
	VoxelDense VoxelMode = iota
	VoxelHard
	VoxelSparse
)

var voxelModeNames = []string{"dense", "hard", "sparse"}

// Reduce is ops.Reduce.
type Reduce uint8

// The reductions for Voxelize, as in package ops.
const (
	ReduceDefault Reduce = iota
	ReduceOccupancy
	ReduceCount
	ReduceSum
	ReduceMean
	ReduceMax
	ReduceMin
	ReduceMajority
)

var reduceNames = []string{"default", "occupancy", "count", "sum", "mean", "max", "min", "majority"}

// OfFeatures reports whether the reduction uses features, so that its result has a float dtype.
func (r Reduce) OfFeatures() bool { return r >= ReduceSum && r <= ReduceMin }

// DType returns the result's dtype: u8 for occupancy, i32 for counts and labels, else f32. If the values or the output
// are f64, the result is f64 instead; see VoxelizeJob.ValueType.
func (r Reduce) DType() tensor.DType {
	switch {
	case r.OfFeatures():
		return tensor.F32
	case r == ReduceOccupancy:
		return tensor.U8
	}
	return tensor.I32
}

// AxisOrder is ops.AxisOrder.
type AxisOrder uint8

// The axis orders, as in package ops.
const (
	AxisZYX AxisOrder = iota
	AxisXYZ
)

var axisNames = []string{"zyx", "xyz"}

// LastBatch is ops.LastBatch.
type LastBatch uint8

// The rules for an epoch's last batch, as in package ops.
const (
	LastDrop LastBatch = iota
	LastShort
)

var lastNames = []string{"drop", "short"}

// LaunchMode is ops.LaunchMode.
type LaunchMode uint8

// The launch modes, as in package ops.
const (
	LaunchDefault LaunchMode = iota
	LaunchDependent
	LaunchInputsReady
)

var launchNames = []string{"default", "dependent", "ready"}

// String returns the name in lower case, for example "linear". A Parse function in package ops reads it. The String
// methods below do the same for their types.
func (k Interp) String() string     { return nameOf(interpNames, int(k), "interpolation") }
func (e Edge) String() string       { return nameOf(edgeNames, int(e), "edge") }
func (q QuatOrder) String() string  { return nameOf(quatNames, int(q), "quaternion order") }
func (m VoxelMode) String() string  { return nameOf(voxelModeNames, int(m), "mode") }
func (r Reduce) String() string     { return nameOf(reduceNames, int(r), "reduce") }
func (o AxisOrder) String() string  { return nameOf(axisNames, int(o), "order") }
func (l LastBatch) String() string  { return nameOf(lastNames, int(l), "last") }
func (m LaunchMode) String() string { return nameOf(launchNames, int(m), "launch") }

// Valid reports whether k is one of the interpolation constants.
func (k Interp) Valid() bool { return int(k) < len(interpNames) }

// Valid reports whether e is one of the edge constants.
func (e Edge) Valid() bool { return int(e) < len(edgeNames) }

// Valid reports whether q is one of the quaternion order constants.
func (q QuatOrder) Valid() bool { return int(q) < len(quatNames) }

// Valid reports whether m is one of the voxel mode constants.
func (m VoxelMode) Valid() bool { return int(m) < len(voxelModeNames) }

// Valid reports whether r is one of the reduction constants.
func (r Reduce) Valid() bool { return int(r) < len(reduceNames) }

// Valid reports whether o is one of the axis order constants.
func (o AxisOrder) Valid() bool { return int(o) < len(axisNames) }

// Valid reports whether l is one of the last batch constants.
func (l LastBatch) Valid() bool { return int(l) < len(lastNames) }

// Valid reports whether m is one of the launch mode constants.
func (m LaunchMode) Valid() bool { return int(m) < len(launchNames) }

// Names returns the names of all interpolation methods, in the order of the constants.
func (Interp) Names() []string { return interpNames }

// Names returns the names of all edge modes, in the order of the constants.
func (Edge) Names() []string { return edgeNames }

// Names returns the names of all quaternion orders, in the order of the constants.
func (QuatOrder) Names() []string { return quatNames }

// Names returns the names of all voxel modes, in the order of the constants.
func (VoxelMode) Names() []string { return voxelModeNames }

// Names returns the names of all reductions, in the order of the constants.
func (Reduce) Names() []string { return reduceNames }

// Names returns the names of all axis orders, in the order of the constants.
func (AxisOrder) Names() []string { return axisNames }

// Names returns the names of all rules for the last batch, in the order of the constants.
func (LastBatch) Names() []string { return lastNames }

// Names returns the names of all launch modes, in the order of the constants.
func (LaunchMode) Names() []string { return launchNames }

// UnmarshalText reads a name, in JSON for example.
func (l *LastBatch) UnmarshalText(text []byte) (err error) {
	*l, err = Parse[LastBatch]("last batch", string(text))
	return err
}

func nameOf(names []string, i int, what string) string {
	if i >= len(names) {
		return fmt.Sprintf("%s(%d)", what, i)
	}
	return names[i]
}

func all[T ~uint8](names []string) []T {
	list := make([]T, len(names))
	for i := range list {
		list[i] = T(i)
	}
	return list
}

// Parse returns the value for a name, which is the reverse of String. If the name is unknown, the error is an *ArgError
// that lists the valid names.
func Parse[T interface {
	~uint8
	Names() []string
}](what, name string) (T, error) {
	var z T
	for i, n := range z.Names() {
		if n == name {
			return T(i), nil
		}
	}
	return z, &ArgError{Op: "Parse", Arg: what, Kind: ErrOption, Got: fmt.Sprintf("%q", name), Want: fmt.Sprintf("one of %v", z.Names())}
}
