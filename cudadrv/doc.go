// Package cudadrv calls the CUDA driver API without cgo. Most programs need three calls:
//
//	driver, err := cudadrv.Open()      // loads libcuda.so.1
//	device, err := driver.Device(0)
//	c, err := device.Primary()         // then c.Malloc, c.NewStream, c.LoadModule
//
// [Open] loads the driver library at its first call. No toolkit is needed, and nothing is linked. It needs glibc and NVIDIA's
// driver 520 (CUDA 11.8) or newer on Linux, amd64 or arm64. On other platforms the package compiles, and Open returns an error
// with kind ErrPlatform. Driver functions that are newer than 11.8 are used if the driver has them. If it does not, a call that
// needs one returns an [UnsupportedError] with both versions.
//
// Sizes are bytes unless stated otherwise. Calls may come from any goroutine and are not tied to an OS thread. If the driver
// needs a current context for a call, the package sets it for the duration of the call.
//
// # Errors
//
// A failed driver call is an [Error] with the driver's name and text; errors.Is compares its [Code]. Some errors make the
// device's context unusable. After such an error every call returns a [LostError], with that first error and the latest kernel
// launches, and the driver is not called again. Close still works, and returns nil unless it is the call that found the loss.
//
// # Blocking
//
// Functions with a [Stream] argument, and methods of a Stream other than waits, queue work and return.
//
// Functions that wait for the device and can be interrupted have a context.Context as first argument: Synchronize, Malloc, the
// synchronous copies and memsets of [Context], and the copies of an [Array]. If the context has ended, they do not begin. If it
// cannot end, or is nil, the driver waits: this is fastest, but holds an OS thread. If it can end, a wait for the device holds no
// thread and returns when it ends, while the work continues. A copy from or to host memory returns only after the current part,
// at most 64 MiB, because the driver uses the memory until then.
//
// Some functions block in the driver, cannot be interrupted, and take no context: [Open] and [Device.Primary] start the device,
// LoadModule compiles, MallocHost and RegisterHost lock pages, Instantiate builds a graph, and Close waits for calls in progress.
//
// # Ownership
//
// Results of New, Malloc, Load, Capture and Instantiate have a Close. A second Close does nothing, and other calls after Close
// return an error that matches [ErrClosed]. A [Context] can be closed only after everything made in it. [TrackLeaks] records the
// call sites, and [Driver.Leaks] lists objects that are still open. The garbage collector closes nothing.
//
// # Safe launches
//
//  1. The arguments have the number and the sizes that the kernel declares. Bind checks this against the driver's list or the
//     declared one. It cannot check types: a float32 argument for an int32 parameter passes.
//  2. A [DevicePtr] argument points into memory that is large enough and stays open until the stream has passed the launch.
//     Nothing checks this. Use [DeviceMem.CloseAsync] to close memory after the queued work that uses it.
//  3. The module is open. Running a [Launch] after its module is closed is an error. Queued work must have run before Close.
//  4. If other streams use the same memory, events or waits order them. Memory from [Context.MallocAsync] belongs to its
//     stream until then.
//  5. Go code does not touch the bytes of a [HostMem] while a copy or kernel that uses them may run. Registered memory
//     ([Context.RegisterHost]) stays mapped, and its HostMem open, until then.
//  6. A graph holds addresses and kernels, and keeps nothing alive. Rules 2 to 5 therefore hold as long as an instance of it
//     may be launched.
//  7. In a kernel with [LaunchConfig.Dependent], at least one thread executes griddepcontrol.wait. A thread executes it before
//     its first read from memory that earlier work on the stream may write, and before its first write to global memory. It
//     waits for the end of the kernel before, and through that kernel's own wait for all earlier ones. If a kernel ends
//     without it, the next kernel may overtake all earlier work. In an ordinary launch both griddepcontrol instructions do
//     nothing, so one kernel works both ways. Nothing checks this.
//  8. Before its wait, a dependent kernel reads only memory that its caller knows to be ready. Memory is ready if the host has
//     waited for the work that wrote it before queueing the launch. It is also ready if an ordinary launch, an event wait or a
//     copy lies on the stream between the write and the launch. A writer two kernels earlier is not enough, because it may
//     still run in a chain of dependent launches. griddepcontrol.launch_dependents promises nothing about memory, and may be
//     the kernel's first instruction.
//
// # Streams and the default stream
//
// Streams from this package do not wait for the driver's default stream, and the package does not use it. There are no
// asynchronous copies of ordinary Go memory, because it could be reused before the device has read it, and because the driver
// would stage such copies anyway. Copy to memory from [Context.MallocHost] first, or pin the memory with [Context.RegisterHost].
//
// # Simulated devices
//
// A [FunctionTable] holds the driver's functions for this package. [NewDriver] accepts a table with functions in Go, for example
// a simulated device. [FunctionTable.Wrap] puts a function in front of each, for example to count calls or to inject errors.
package cudadrv
