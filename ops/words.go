package ops

import "github.com/robocache/robocache/ops/backend"

// What follows are names for types of package backend, which jobs are made of, as package os has names for those of io/fs. All have String, which writes
// a value's name, and a function that reads it.

// Interp is an interpolation: it says how a target's value is made of the samples around it. Exactly on a sample every one but the windows gives that
// sample, bit for bit.
type Interp = backend.Interp

const (
	// InterpLinear is v[k] + a*(v[k+1]-v[k]) with a = (x-t[k])/(t[k+1]-t[k]), as numpy.interp.
	InterpLinear = backend.InterpLinear
	// InterpPrevious holds the last sample: causal, it looks at nothing after the target.
	InterpPrevious = backend.InterpPrevious
	// InterpNext takes the sample that follows.
	InterpNext = backend.InterpNext
	// InterpNearest takes the nearer sample; a tie takes the earlier.
	InterpNearest = backend.InterpNearest
	// InterpSlerp interpolates unit quaternions, four features each, along the shorter arc (Shoemake, 1985).
	InterpSlerp = backend.InterpSlerp
	// InterpAngle interpolates linearly where samples differ by half a period or less, and goes along the shorter arc where they differ by more. What
	// it makes there keeps the recording's range: [0, period) if one of the samples is at period/2 or above and none below 0, else
	// [-period/2, period/2).
	InterpAngle = backend.InterpAngle
	// InterpPchip is the monotone cubic of Fritsch and Butland (1984), as scipy's PchipInterpolator. Two samples with one timestamp
	// end one curve and begin another.
	InterpPchip = backend.InterpPchip

	// The windows reduce the samples in (x-w, x], w being the channel's Window: the way to bring a fast stream down to a slow
	// clock without leaving samples out. x itself is in its window, so on a sample they reduce too. A target with an empty
	// window is not valid and gets NaN, or under FillGaps the fill value. Outside the samples' times the edge rule holds.

	// InterpWindowMean is the sum of the samples, in their order and in float64, over their number, rounded once.
	InterpWindowMean = backend.InterpWindowMean
	// InterpWindowMin is the least of the samples; -0 is less than +0, and a NaN is the result if there is one.
	InterpWindowMin = backend.InterpWindowMin
	// InterpWindowMax is the greatest of them, by the same rules.
	InterpWindowMax = backend.InterpWindowMax
	// InterpWindowLast is the last of them: a previous that goes no further back than the window.
	InterpWindowLast = backend.InterpWindowLast

	// InterpCatmullRom is the cubic whose slope at a sample is that of the parabola through it and its neighbours in time, at the
	// end of a curve through the last three: the spline of Catmull and Rom (1974), with the time between samples in place of a
	// chord. Two samples with one timestamp end one curve and begin another.
	InterpCatmullRom = backend.InterpCatmullRom
	// InterpHermite is the cubic through recorded values with recorded velocities. The first half of a channel's features are the
	// values, the second half their velocities, in units per second whatever the clock; of the output, the first half is the
	// cubic, the second half its derivative, in units per second too.
	InterpHermite = backend.InterpHermite
	// InterpRotVec interpolates rotation vectors, three features each (axis times angle in radians), by slerp of their quaternions.
	// The result's angle is in [0, pi]; at pi it has either of the two signs. A vector of more than 2^20 rad is like a NaN.
	InterpRotVec = backend.InterpRotVec
	// InterpRot6D interpolates rotations given by the first two columns of their matrix, six features each: the first column, then
	// the second (Zhou et al., On the Continuity of Rotation Representations in Neural Networks, 2019). The columns are made
	// orthonormal by Gram and Schmidt's process, then go through the quaternion's slerp. Columns of no length, or that have
	// less than 2^-20 rad between them, are like a NaN. The first two rows, in place of the columns, give the same numbers.
	InterpRot6D = backend.InterpRot6D
)

// Edge names what happens to targets before the first sample or after the last.
type Edge = backend.Edge

const (
	// EdgeClamp takes the end sample.
	EdgeClamp = backend.EdgeClamp
	// EdgeFill writes the fill value.
	EdgeFill = backend.EdgeFill
	// EdgeExtrapolate continues a linear channel along the nearest bracket that has a length; other kinds take the end sample.
	EdgeExtrapolate = backend.EdgeExtrapolate
	// EdgeError makes such a target a *ValueError that is ErrOutOfRange.
	EdgeError = backend.EdgeError
	// EdgeHold keeps the last sample after it, valid as long as Tolerance allows, with an age that grows: the rule of topics that speak only when something
	// changes. Before the first sample it is as EdgeFill.
	EdgeHold = backend.EdgeHold
)

// QuatOrder names the order of a quaternion's four features.
type QuatOrder = backend.QuatOrder

const (
	// QuatXYZW has the scalar last, as ROS, scipy and Eigen's memory.
	QuatXYZW = backend.QuatXYZW
	// QuatWXYZ has the scalar first, as PX4 and MuJoCo.
	QuatWXYZ = backend.QuatWXYZ
)

// VoxelMode is the form of the result.
type VoxelMode = backend.VoxelMode

// The modes.
const (
	// VoxelDense fills a grid tensor, every cell of it.
	VoxelDense = backend.VoxelDense
	// VoxelHard lists the voxels in the order of their first points, with the first MaxPoints points of each, in order.
	VoxelHard = backend.VoxelHard
	// VoxelSparse lists the voxels that hold points, in the order of their place in the grid tensor, with a reduction of each.
	VoxelSparse = backend.VoxelSparse
)

// Reduce says what a voxel makes of its points.
type Reduce = backend.Reduce

// The reductions. In sums and means, a cell's n values x give s within ulp32(s) + n * 2^-40 * max|x|, the same bits in any
// order of the points: they are added as integers, relative to the greatest exponent in the cell. A NaN makes its
// cell's result NaN; infinities add as in IEEE; a sum of exactly zero is +0. For the greatest and the smallest -0 is less than +0.
//
// All of that is computed in float64 where what is reduced, or the output, is f64: s then lies within ulp64(s) + n * 2^-90 * max|x|, no
// sum overflows on the way to one that does not, and an f32 output gets that result, rounded once.
const (
	ReduceDefault   = backend.ReduceDefault   // occupancy in a dense grid, the mean in sparse voxels
	ReduceOccupancy = backend.ReduceOccupancy // u8: 1 where there is a point
	ReduceCount     = backend.ReduceCount     // i32: the number of points
	ReduceSum       = backend.ReduceSum       // f32 or f64, each feature
	ReduceMean      = backend.ReduceMean      // f32 or f64, each feature
	ReduceMax       = backend.ReduceMax       // f32 or f64, each feature
	ReduceMin       = backend.ReduceMin       // f32 or f64, each feature
	ReduceMajority  = backend.ReduceMajority  // i32: the commonest of Labels; a tie takes the smallest
)

// AxisOrder is the order of a grid's dimensions and of the columns of coordinates.
type AxisOrder = backend.AxisOrder

// The orders.
const (
	AxisZYX = backend.AxisZYX // x is the fastest dimension
	AxisXYZ = backend.AxisXYZ // z is
)

// LastBatch says what becomes of the windows at the end of an epoch that do not fill a batch of every rank.
type LastBatch = backend.LastBatch

const (
	// LastDrop leaves them out; [DrawOptions.Dropped] counts them.
	LastDrop = backend.LastDrop
	// LastShort draws them too. The rows of the last batch beyond them have no window; [DrawOptions.Missing] counts those.
	LastShort = backend.LastShort
)

// LaunchMode says when a plan's work on a GPU may begin beside what its queue was given before. It changes no result as long
// as its promise is kept, and makes no difference where work runs one after the other: on the CPU, on the simulated device, on
// GPUs before sm_90, with drivers that lack the call, and for kernels that do not know how to wait. Package ops/cuda's Explain says
// how a plan is launched. In a captured graph the mode is kept, as an edge between two kernels that lets the second begin early; the
// first work of a graph begins when all before the graph is done.
//
// The mode is of the work that waits, not of the work that is waited for: what is given to the queue after an operation needs no
// mode of its own to find its results there.
type LaunchMode = backend.LaunchMode

const (
	// LaunchDefault begins when all before it on the queue is done.
	LaunchDefault = backend.LaunchDefault
	// LaunchDependent is made ready while the operation before it still runs, and touches memory when all before it on the queue is
	// done. It promises nothing and is always right: operations may read what the one before wrote. (A program's own kernels that
	// are launched so on the queue must wait too: rule 7 of package cudadrv.)
	LaunchDependent = backend.LaunchDependent
	// LaunchInputsReady touches memory as soon as the operation before it leaves room. It is for operations on one queue that do not
	// depend on each other. For every Run, and for every launch of a graph that holds one, the caller promises of the work that the
	// queue was given before and that may still run: none of it writes a tensor that the operation reads (Src, SrcTimes, Targets,
	// lengths, offsets), and none of it reads or writes one that the operation writes (Dst, Valid, Age). Results are
	// unspecified where that does not hold.
	//
	// What may still run: the operation before, and if that was LaunchInputsReady too, also the one before that, and so on back to the
	// nearest that was not; no further than the beginning of a captured graph, or the last time that the queue was waited for. So the
	// second of two operations that both read what a third wrote before them may be LaunchInputsReady if the first is LaunchDependent.
	// An operation that has nothing to do, as of an empty batch, launches nothing and does not count.
	// Two runs of one plan write the same Dst, and so must not follow each other in this way.
	//
	// What comes after it needs no care: it ends when all before it has ended too. Faults in values are found and told as ever.
	LaunchInputsReady = backend.LaunchInputsReady
)

// Interps returns every interpolation, in order.
func Interps() []Interp { return backend.Interps() }

// ParseInterp returns the interpolation of a name, as String writes it.
func ParseInterp(name string) (Interp, error) { return backend.Parse[Interp]("interpolation", name) }

// ParseEdge returns the edge rule of a name.
func ParseEdge(name string) (Edge, error) { return backend.Parse[Edge]("edge", name) }

// ParseQuatOrder returns the order of a name.
func ParseQuatOrder(name string) (QuatOrder, error) {
	return backend.Parse[QuatOrder]("quaternion order", name)
}

// ParseVoxelMode returns the mode of a name.
func ParseVoxelMode(name string) (VoxelMode, error) { return backend.Parse[VoxelMode]("mode", name) }

// ParseReduce returns the reduction of a name.
func ParseReduce(name string) (Reduce, error) { return backend.Parse[Reduce]("reduce", name) }

// ParseAxisOrder returns the order of a name.
func ParseAxisOrder(name string) (AxisOrder, error) { return backend.Parse[AxisOrder]("order", name) }

// ParseLastBatch returns the rule of a name.
func ParseLastBatch(name string) (LastBatch, error) {
	return backend.Parse[LastBatch]("last batch", name)
}

// ParseLaunchMode returns the mode of a name.
func ParseLaunchMode(name string) (LaunchMode, error) {
	return backend.Parse[LaunchMode]("launch mode", name)
}
