// Package cudadrv binds the CUDA driver API without cgo.
//
// [Open] loads libcuda.so.1 when it is first called; no toolkit is needed, and nothing is linked. It needs glibc and
// NVIDIA's driver 520 (CUDA 11.8) or newer on Linux, amd64 or arm64. Elsewhere the package compiles, and Open
// returns an error that says so. Functions that came after 11.8 are used where the driver has them; a call that needs
// one returns an [UnsupportedError] with both versions where it has not.
//
// Sizes are bytes unless named otherwise. Calls may come from any goroutine: nothing depends on the thread, and no
// thread is kept. Calls that the driver ties to a current context bind it for the length of the call.
//
// # Errors
//
// A failed driver call is an [Error] with the driver's name and text; errors.Is compares its [Code]. An error that
// poisons the device's context is latched: from then on every call returns a [LostError] with that first error and the
// kernels launched last, and the driver is not called again. Close still works then, and returns nil
// unless it is the call that found the loss.
//
// # What blocks
//
// Everything that takes a [Stream], and every method of one that is not a wait, queues work and returns.
//
// What waits for the device and can be left takes a context.Context first: Synchronize, Malloc, the synchronous copies and
// memsets of [Context], and the copies of an [Array]. None begins if it has ended. With one that cannot end, or nil, the wait is
// the driver's own: the fastest, and it holds an OS thread. With one that can, waits for the device alone hold no thread and end
// with it, while the work goes on; copies of the host's memory, which the driver reads or writes until they are done, end
// after the part that is under way, of 64 MiB at most.
//
// What waits inside the driver and cannot be left takes none: [Open] and [Device.Primary] start the device, LoadModule
// compiles, MallocHost and RegisterHost lock pages, Instantiate builds a graph, and Close waits for calls in progress.
//
// # Ownership
//
// What New, Malloc, Load, Capture or Instantiate gave has a Close; closing twice is fine, and a call on something closed
// is an error that matches [ErrClosed]. A [Context] closes only when nothing made in it is open. [TrackLeaks] records
// where things were made, [Driver.Leaks] lists those not closed. The garbage collector closes nothing.
//
// # What makes a launch safe
//
//  1. The arguments have the number and the sizes that the kernel declares. Bind checks this, against the driver's own
//     list or the declared one. It cannot check types: a float32 where an int32 is wanted passes.
//  2. A [DevicePtr] argument is inside memory that is open until the stream has passed the launch, and large enough. Nothing
//     checks this; [DeviceMem.CloseAsync] is the way to close memory behind work that uses it.
//  3. The module is open. A [Launch] of a closed one is an error; work already queued must have run before Close.
//  4. Other streams that touch the same memory are ordered by events, or by a wait. Memory given by
//     [Context.MallocAsync] belongs to its stream until then.
//  5. Bytes of a [HostMem] are not touched by Go code while a copy or kernel that uses them may run. Registered memory
//     ([Context.RegisterHost]) stays mapped, and its HostMem open, until then.
//  6. A graph holds addresses and kernels, and keeps nothing alive: rules 2 to 5 hold for as long as an instance of it may
//     be launched.
//  7. In a kernel launched as [LaunchConfig.Dependent], a thread executes griddepcontrol.wait before it first reads what the
//     stream's earlier work may write, and before it first writes to global memory; and at least one thread does so in any
//     case. The wait is for the kernel before it to end, and through that one's own wait for all before that; a kernel
//     that ends without waiting lets the next one run ahead of everything. Where a launch is not dependent, both griddepcontrol
//     instructions do nothing, so one kernel serves both ways. Nothing checks this.
//  8. Before its wait, a dependent kernel reads only what its caller declares ready: written before the launch was queued, by
//     work that the host has waited for; or with a launch that is not dependent, an event's wait or a copy on the stream between
//     the write and the launch. That the writer is two kernels back is not enough: in a chain of dependent launches it may still
//     run. griddepcontrol.launch_dependents promises nothing about memory; it may be the kernel's first instruction.
//
// # Streams and the default stream
//
// Streams made here do not wait for the driver's default stream, and nothing here uses it. Asynchronous copies of
// ordinary Go memory are not offered: the memory could move on before the device has read it, and the driver would
// stage such copies anyway. Copy to memory of [Context.MallocHost] first, or register the memory with
// [Context.RegisterHost], which pins it.
//
// # Other devices behind the same calls
//
// A [FunctionTable] of functions stands between this package and the driver. [NewDriver] takes one that was filled with Go
// functions; [FunctionTable.Wrap] puts a function in front of each of them, to count calls or to make them fail.
package cudadrv
