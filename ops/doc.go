// Package ops defines the operations on recorded robot data, validates their arguments and runs them on a backend.
//
// [Open] returns a [Device] by name: "cpu", "cuda", "cuda:1", "sim" or "auto"; [OpenAll] several, as "cuda:all" does. The CPU backend is always there
// and is the specification; others register themselves when their package is imported, as a database driver
// does:
//
//	import _ "github.com/robocache/robocache/ops/cuda"
//
// Letters in shapes: B batch (episodes), S source samples, T target samples, D features, M streams; N points, V voxels, P points a
// voxel, F features of a point. Layout is row-major. Times are
// int64 nanoseconds, float64 seconds or float32 seconds; float32 holds epoch seconds only to 128 s, so use it
// for times that begin near zero.
//
// [Device.Resample] puts one stream on a clock, [Device.Fuse] several, side by side; [Device.ResampleBackward] and [Device.FuseBackward] give their
// gradients with respect to values. [Device.Draw] draws windows from the episodes of a store, in an order of its own each epoch: all of them
// shuffled, or shards of them, or those of a weighted mixture of datasets. [Device.Tally] makes a pass of exact statistics over the columns of a matrix.
//
// Every operation has two forms. The convenient one (Device.Resample) takes tensors on the host or on the device,
// allocates what is not given and returns when the result is there, or when its context ends. The other is a plan (Device.PlanResample): arguments
// are checked once and [Plan.Run] may then be called many times without allocating, on a [Queue], inside a captured
// [Graph] too.
//
// Plan.Run and Graph.Launch are asynchronous on a GPU. Until the queue has been synchronised, the tensors of a plan
// must not be closed, its inputs must not be written and its outputs must not be touched, except by work given to the
// same queue later. One plan must not run on two queues at once. Errors in values, such as times that go backwards,
// are found where the work is done, and returned by the next Synchronize of that queue as a [*ValueError] with row and
// index; the destination is then unspecified. A job that has nothing to write is checked all the same: on a GPU a launch does only
// that. Errors in shapes, dtypes and options are returned as an [*ArgError] before anything is written, and so is a
// [*MemoryError] where there is not the memory that was asked for.
//
// Data streams in beside the work: [Device.AllocHost] gives host tensors that the device copies from by itself, [Queue.Copy] gives a copy to a queue
// and returns, [Queue.After] makes one queue wait for another on the device, and a [Mark] tells the host that a queue has come past a copy, so that
// its buffer may be written again:
//
//	mark.Wait(ctx)           // the last copy out of buffer is done
//	read(buffer)             // by the host
//	loads.After(used)        // what reads place is done
//	loads.Copy(place, buffer)
//	loads.Mark(mark)
//	work.After(mark)
//	plan.Run(work)           // reads place
//	work.Mark(used)
//
// What is of use to a backend only, and the types that jobs are made of, is in package ops/backend; names here that stand for types there are
// documented here.
//
// Arithmetic: each step rounds on its own, without fused multiply-add. f16 and bf16 are computed in float32, f64 in
// float64, and the result is rounded once to the output's dtype, to nearest even. Resample, Fuse, their gradients, Draw and Tally give equal bits on every
// backend, except that a NaN made by arithmetic equals any NaN.
package ops
