package ops

import "github.com/robocache/robocache/ops/backend"

// The types below are aliases for types in package backend, as package os has aliases for types in io/fs. Each has a String method that returns a
// value's name, and a Parse function that reads the name.

// Interp is an interpolation, the rule that computes a target's value from the samples around it. If a target is
// exactly on a sample, every kind except the windows returns that sample, bit for bit.
type Interp = backend.Interp

const (
	// InterpLinear is v[k] + a*(v[k+1]-v[k]) with a = (x-t[k])/(t[k+1]-t[k]), like numpy.interp.
	InterpLinear = backend.InterpLinear
	// InterpPrevious holds the last sample. It is causal, because it reads no sample after the target.
	InterpPrevious = backend.InterpPrevious
	// InterpNext takes the next sample.
	InterpNext = backend.InterpNext
	// InterpNearest takes the nearer sample, and the earlier one in a tie.
	InterpNearest = backend.InterpNearest
	// InterpSlerp interpolates unit quaternions, four features each, along the shorter arc (Shoemake, 1985).
	InterpSlerp = backend.InterpSlerp
	// InterpAngle interpolates linearly if two samples differ by half a period or less. If they differ by more, it
	// takes the shorter arc, and keeps the result in the recording's range: [0, period) if one sample is at period/2 or
	// above and none is below 0, else [-period/2, period/2). Example: with a period of 360, halfway between 350 and 10
	// is 0, not 180.
	InterpAngle = backend.InterpAngle
	// InterpPchip is the monotone cubic by Fritsch and Butland (1984), like scipy's PchipInterpolator. If two samples
	// have the same timestamp, one curve ends and another begins.
	InterpPchip = backend.InterpPchip

	// The windows reduce the samples in (x-w, x], where x is the target and w the channel's Window. Use them to resample a
	// fast stream to a slow clock without skipping samples. Because x is in its own window, a target on a sample is reduced
	// too. If a window is empty, the target is not valid and gets NaN, or with FillGaps the fill value. Outside the
	// samples' times the edge rule applies.

	// InterpWindowMean is the mean of the samples: summed in order in float64, divided by their number and rounded
	// once.
	InterpWindowMean = backend.InterpWindowMean
	// InterpWindowMin is the smallest sample in the window. -0 is less than +0, and if there is a NaN, the result is
	// NaN.
	InterpWindowMin = backend.InterpWindowMin
	// InterpWindowMax is the largest sample in the window. -0 is less than +0, and if there is a NaN, the result is
	// NaN.
	InterpWindowMax = backend.InterpWindowMax
	// InterpWindowLast is the last sample in the window: like InterpPrevious, but it reaches back no further than the
	// window.
	InterpWindowLast = backend.InterpWindowLast

	// InterpCatmullRom is the spline by Catmull and Rom (1974) over time. At each sample it has the slope of the
	// parabola through that sample and both neighbours, and at the end of a curve that of the parabola through the last
	// three samples. Knots are spaced by time, not by chord length. If two samples have the same timestamp, one curve
	// ends and another begins.
	InterpCatmullRom = backend.InterpCatmullRom
	// InterpHermite is the cubic through recorded values and recorded velocities. The first half of a channel's
	// features are values, and the second half their velocities, in units per second on every clock. In the output the
	// first half is the cubic, and the second half its derivative, also in units per second.
	InterpHermite = backend.InterpHermite
	// InterpRotVec interpolates rotation vectors, three features each (axis times angle in radians), by slerp on their
	// quaternions. The result's angle is in [0, pi]; at pi its sign is arbitrary. A vector longer than 2^20 rad counts
	// as NaN.
	InterpRotVec = backend.InterpRotVec
	// InterpRot6D interpolates rotations, six features each: the first two columns of the rotation matrix, one after
	// the other (Zhou et al., On the Continuity of Rotation Representations in Neural Networks, 2019). The columns are
	// made orthonormal with the Gram-Schmidt process, then interpolated by slerp on the quaternion. If a column has
	// length 0, or the columns are less than 2^-20 rad apart, the sample counts as NaN. The first two rows may be used
	// instead, and give the same numbers.
	InterpRot6D = backend.InterpRot6D
)

// Edge is the rule for targets before the first sample or after the last.
type Edge = backend.Edge

const (
	// EdgeClamp takes the first or last sample.
	EdgeClamp = backend.EdgeClamp
	// EdgeFill writes the fill value.
	EdgeFill = backend.EdgeFill
	// EdgeExtrapolate continues a linear channel along the nearest two samples with different times. Other kinds take
	// the first or last sample.
	EdgeExtrapolate = backend.EdgeExtrapolate
	// EdgeError makes such a target a *ValueError with the kind ErrOutOfRange.
	EdgeError = backend.EdgeError
	// EdgeHold keeps the last sample for later targets. They are valid as long as Tolerance allows, and their age
	// grows. It suits topics that publish only when a value changes. Before the first sample it acts like EdgeFill.
	EdgeHold = backend.EdgeHold
)

// QuatOrder is the order of a quaternion's four features.
type QuatOrder = backend.QuatOrder

const (
	// QuatXYZW has the scalar last, as in ROS, scipy and Eigen's memory.
	QuatXYZW = backend.QuatXYZW
	// QuatWXYZ has the scalar first, as in PX4 and MuJoCo.
	QuatWXYZ = backend.QuatWXYZ
)

// VoxelMode is the form of a Voxelize result.
type VoxelMode = backend.VoxelMode

// The modes.
const (
	// VoxelDense fills every cell of a grid tensor.
	VoxelDense = backend.VoxelDense
	// VoxelHard lists the voxels in the order of their first points. Each has its first MaxPoints points, in order.
	VoxelHard = backend.VoxelHard
	// VoxelSparse lists the voxels that have points, in the order of the grid tensor's cells, with one reduction per
	// voxel.
	VoxelSparse = backend.VoxelSparse
)

// Reduce is the reduction from a voxel's points to one value.
type Reduce = backend.Reduce

// The reductions. The result s of a sum or a mean over a cell's n values x is accurate within ulp32(s) + n * 2^-40 *
// max|x|. Its bits do not depend on the points' order, because the values are added as integers relative to the largest
// exponent in the cell. If a value is NaN, the cell's result is NaN; infinities add as in IEEE 754; a sum that is
// exactly zero is +0. For max and min, -0 is less than +0.
//
// If the values or the output are f64, everything is computed in float64: s is then accurate within ulp64(s) + n *
// 2^-90 * max|x|, no partial sum overflows unless the total does, and an f32 output is this result, rounded once.
const (
	ReduceDefault   = backend.ReduceDefault   // occupancy in a dense grid, mean in sparse voxels
	ReduceOccupancy = backend.ReduceOccupancy // u8: 1 if the cell has a point
	ReduceCount     = backend.ReduceCount     // i32: the number of points
	ReduceSum       = backend.ReduceSum       // f32 or f64, each feature
	ReduceMean      = backend.ReduceMean      // f32 or f64, each feature
	ReduceMax       = backend.ReduceMax       // f32 or f64, each feature
	ReduceMin       = backend.ReduceMin       // f32 or f64, each feature
	ReduceMajority  = backend.ReduceMajority  // i32: the most frequent of Labels; the smallest in a tie
)

// AxisOrder is the order of a grid's dimensions and of the coordinate columns.
type AxisOrder = backend.AxisOrder

// The orders.
const (
	AxisZYX = backend.AxisZYX // x is the fastest dimension
	AxisXYZ = backend.AxisXYZ // z is the fastest dimension
)

// LastBatch is the rule for the windows at the end of an epoch that do not fill a batch for every rank.
type LastBatch = backend.LastBatch

const (
	// LastDrop skips them; [DrawOptions.Dropped] returns their number.
	LastDrop = backend.LastDrop
	// LastShort draws them too. The last batch then has rows without a window; [DrawOptions.Missing] returns the number
	// of these rows.
	LastShort = backend.LastShort
)

// LaunchMode sets how early a plan's work may begin on a GPU, relative to earlier work on its queue. As long as its
// promise is kept, it changes no result. It has no effect if work runs strictly in order: on the CPU, on the simulated
// device, on GPUs before sm_90, with drivers that lack the call, and for kernels that cannot wait. Explain in package
// ops/cuda returns the launch of a plan. A captured graph keeps the mode, as an edge between two kernels that lets the
// second begin early. The first work in a graph begins when all work before the graph is done.
//
// The mode applies to the work that waits, not to the work before it. An operation after this one needs no mode of its
// own to see its results.
type LaunchMode = backend.LaunchMode

const (
	// LaunchDefault begins when all earlier work on the queue is done.
	LaunchDefault = backend.LaunchDefault
	// LaunchDependent prepares the launch while the operation before it still runs, and touches memory when all earlier
	// work on the queue is done. It is always correct and needs no promise: an operation may read the results of the
	// one before. (If a program launches its own kernels this way on the queue, they must wait too: rule 7 in package
	// cudadrv.)
	LaunchDependent = backend.LaunchDependent
	// LaunchInputsReady touches memory as soon as the operation before it leaves room on the GPU. It is for independent
	// operations on one queue. The caller makes a promise for every Run, and for every launch of a graph that contains
	// it. Earlier work on the queue that may still run must not write any tensor that this operation reads (Src,
	// SrcTimes, Targets, lengths, offsets), and must not read or write any tensor that this operation writes (Dst,
	// Valid, Age). If the promise is broken, results are unspecified.
	//
	// Earlier work may still run if it is the operation directly before. If that operation is LaunchInputsReady too, so
	// may the one before it, and so on back to the nearest with another mode. It reaches back no further than the
	// beginning of a captured graph or the last wait for the queue. Example: operation A writes a tensor, and B and C
	// both read it. If B is LaunchDependent, C may be LaunchInputsReady. An operation without work, such as an empty
	// batch, launches nothing and does not count. Two runs of one plan write the same Dst, so they must not follow each
	// other in this mode.
	//
	// Later work needs no care, because this operation ends only after all earlier work has ended. Errors in values are
	// found and returned as usual.
	LaunchInputsReady = backend.LaunchInputsReady
)

// Interps returns all interpolations, in the order of their constants.
func Interps() []Interp { return backend.Interps() }

// ParseInterp returns the interpolation for a name, which is the reverse of String. Example: "linear" gives
// InterpLinear.
func ParseInterp(name string) (Interp, error) { return backend.Parse[Interp]("interpolation", name) }

// ParseEdge returns the edge rule for a name, which is the reverse of String. Example: "clamp" gives EdgeClamp.
func ParseEdge(name string) (Edge, error) { return backend.Parse[Edge]("edge", name) }

// ParseQuatOrder returns the quaternion order for a name, which is the reverse of String. Example: "xyzw" gives
// QuatXYZW.
func ParseQuatOrder(name string) (QuatOrder, error) {
	return backend.Parse[QuatOrder]("quaternion order", name)
}

// ParseVoxelMode returns the voxel mode for a name, which is the reverse of String. Example: "sparse" gives
// VoxelSparse.
func ParseVoxelMode(name string) (VoxelMode, error) { return backend.Parse[VoxelMode]("mode", name) }

// ParseReduce returns the reduction for a name, which is the reverse of String. Example: "mean" gives ReduceMean.
func ParseReduce(name string) (Reduce, error) { return backend.Parse[Reduce]("reduce", name) }

// ParseAxisOrder returns the axis order for a name, which is the reverse of String. Example: "zyx" gives AxisZYX.
func ParseAxisOrder(name string) (AxisOrder, error) { return backend.Parse[AxisOrder]("order", name) }

// ParseLastBatch returns the last batch rule for a name, which is the reverse of String. Example: "drop" gives
// LastDrop.
func ParseLastBatch(name string) (LastBatch, error) {
	return backend.Parse[LastBatch]("last batch", name)
}

// ParseLaunchMode returns the launch mode for a name, which is the reverse of String. Example: "dependent" gives
// LaunchDependent.
func ParseLaunchMode(name string) (LaunchMode, error) {
	return backend.Parse[LaunchMode]("launch mode", name)
}
