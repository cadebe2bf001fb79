// Package ops resamples, fuses, voxelizes and draws robot recordings on a CPU or a GPU.
//
// Three calls do most jobs: open a device, put one stream on a clock, put several streams on one clock.
//
//	dev, err := ops.Open("auto") // a GPU if a backend finds one, else the CPU
//	one, err := dev.Resample(ctx, ops.ResampleArgs{
//		Src:      values,                      // [S,D] samples
//		SrcTimes: times,                       // [S] int64 nanoseconds
//		Targets:  ops.Uniform(start, 50, 100), // 100 ticks at 50 Hz
//	}, ops.ResampleOptions{})
//	all, err := dev.Fuse(ctx, ops.FuseArgs{Streams: streams, Targets: ops.Uniform(start, 50, 100)}, ops.FuseOptions{})
//
// # Devices
//
// [Open] returns a [Device] by name: "cpu", "cuda", "cuda:1", "sim" or "auto". [OpenAll] opens several, for example
// "cuda:all". The CPU backend is always linked in, and its results are the specification. Other backends register
// themselves when their package is imported, as database drivers do:
//
//	import _ "github.com/robocache/robocache/ops/cuda"
//
// # Shapes and times
//
// Shapes use these letters: B batch (episodes), S source samples, T target samples, D features, M streams; N points, V
// voxels, P points per voxel, F features per point. Layout is row-major. Times are int64 nanoseconds, float64 seconds
// or float32 seconds. A float32 in epoch seconds has a resolution of 128 s, so use float32 only if times begin near
// zero.
//
// # Operations
//
// [Device.Resample] puts one stream on a clock, and [Device.Fuse] puts several side by side. [Device.ResampleBackward]
// and [Device.FuseBackward] compute the gradients with respect to the values. [Device.Draw] draws windows from the
// episodes in a store, in a new order each epoch: all windows shuffled, shards shuffled, or a weighted mixture of
// datasets. [Device.Voxelize] sorts points into the cells of a grid. [Device.Tally] makes one pass of exact statistics
// over the columns of a matrix. [Device.Frames] turns decoded pictures into a batch of images, and [Device.Deproject]
// depth images into points. [Device.FarthestPoints] chooses points that are far apart. [Device.Integrate] fuses depth
// images into a volume of signed distances, and a [Volume] grows.
//
// Every operation has two forms. The convenient form, for example [Device.Resample], takes tensors on the host or on
// the device, allocates missing outputs and returns when the result is ready or when its context ends. The other form
// is a plan, for example [Device.PlanResample]: it checks the arguments once, and [Plan.Run] may then be called many
// times on a [Queue] without allocating. A captured [Graph] can contain plans too.
//
// # Asynchronous work
//
// Plan.Run and Graph.Launch are asynchronous on a GPU. Until the queue has been synchronised, do not close the tensors
// of a plan, do not write its inputs and do not touch its outputs, except by later work on the same queue. Do not run
// one plan on two queues at once.
//
// Errors in values, such as times that go backwards, are found while the work runs. The next Synchronize on that queue
// returns them as a [*ValueError] with row and index, and the destination is then unspecified. If a job has nothing to
// write, its inputs are still checked: on a GPU the launch does nothing else. Errors in shapes, dtypes and options are
// returned as an [*ArgError] before anything is written. If memory runs out, the error is a [*MemoryError], and nothing
// was written either.
//
// # Copies during computation
//
// [Device.AllocHost] returns host tensors in memory that the device can copy from without the CPU. [Queue.Copy]
// enqueues a copy and returns. [Queue.After] makes one queue wait for another on the device. A [Mark] lets the host
// wait until a copy is done, so that its buffer can be written again:
//
//	mark.Wait(ctx)           // the last copy from buffer is done
//	read(buffer)             // the host fills buffer
//	loads.After(used)        // the work that reads place is done
//	loads.Copy(place, buffer)
//	loads.Mark(mark)
//	work.After(mark)
//	plan.Run(work)           // reads place
//	work.Mark(used)
//
// # Arithmetic
//
// Each step rounds separately, without fused multiply-add. f16 and bf16 are computed in float32, and f64 in float64.
// The result is rounded once to the output's dtype, to nearest even. Resample, Fuse, their gradients, Draw, Tally,
// Frames, Deproject, FarthestPoints and Integrate give equal bits on every backend. The one exception is NaN: if arithmetic makes a NaN, any other NaN counts as equal.
//
// Package ops/backend contains the interface for backends and the types of jobs. If a name here stands for a type
// there, the documentation is here.
package ops
