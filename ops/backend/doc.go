// Package backend defines the interface between package ops and its backends, such as ops/cpu and ops/cuda. Programs do
// not need it. It contains the interfaces that a backend implements, the validated jobs that it receives, and the
// faults that it reports. If package ops exports a name from here, its full documentation is there.
//
// A backend implements [Backend], and one interface per operation: [Resampler], [Fuser], [Differentiator], [Voxelizer],
// [Drawer], [Tallier], [Batcher]. If it lacks an operation, the others still work, and package ops returns an error for
// the missing one. A backend registers itself with [Register].
//
// Jobs are already validated: shapes fit, tensors are open and on the device, options are valid. A backend checks only
// the values in tensors, and reports a bad value as a [Fault]. Example: package ops turns ops.ResampleArgs into a
// [ResampleJob], and [Resampler] turns that into a [Plan].
package backend
