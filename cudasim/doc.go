// Package cudasim is a simulated CUDA device. It parses PTX and runs it on the CPU, one warp at a time. If a kernel has
// an error that a real device would not report, such as a race, the simulator reports it. It also replaces NVIDIA's
// driver: [Device.FunctionTable] returns the functions that package cudadrv otherwise finds in the driver library.
// Example:
//
//	device := cudasim.New(cudasim.Config{})
//	driver, err := cudadrv.NewDriver(device.FunctionTable())
//
// Arithmetic is exact. If PTX defines an instruction to the bit, the result has those bits; if PTX gives a bound, the
// result is within the bound. Under ftz a result is flushed as on an H200: if it is below the normal numbers after
// rounding to all its digits. Operands for which PTX defines no result are a fault, for example a bit field past bit
// 255. Sizes and addresses are bytes. A kernel's error is a *Fault, which names the kernel, the line in the PTX, the
// block, the thread and the address.
//
// mma.sync sums like the tensor cores at compute capability 9.0 (package tensorcore).
//
// # The simulated driver
//
// Its CUDA version is 12.8. It has one device with compute capability 9.0, or several ([NewDevices]). It models:
//
//   - handles, each checked; the primary context, and the current context in each thread;
//   - streams, each a queue with a goroutine, so that work is done only when something waits for it; events;
//   - memory allocated and freed in stream order, and the pool's accounts; pools that are open to other devices: if a kernel accesses another
//     device's memory that is not open to its device, it is a fault; pinned and registered host memory;
//   - copies, which are checked when they are queued;
//   - modules and libraries, with the compiler's log; parameter lists, attributes, limits and occupancy;
//   - launches, with their attributes; capture in its three modes, and the calls that invalidate it;
//   - graphs, for one device or several, their updates and their nodes' parameters.
//
// Calls fail as the driver's reference documents. If the reference is silent, for example about pinned memory with no
// bytes, they fail as with driver 580 on an H200. A kernel's fault loses the device: from then on every call that uses
// its context returns the fault's code. The text for that code contains the report, and [Device.LastFault] returns it.
//
// The device is stricter than a real one. If a launch may begin early, but no thread waits for the launch before it, it
// is a fault. No address is used twice. A call may not name memory after its free was queued, and a handle is refused
// once it is destroyed.
//
// Not modelled: time (events have the simulation's time), priorities, the default stream, peers by
// cuCtxEnablePeerAccess, arrays and textures, managed memory, memory allocated inside a capture, child graphs made by
// hand, callbacks, clusters with more than one block, cooperative launches, and two kernels at once. Kernels on
// different streams and devices take turns, and a launch that may begin before its predecessor's end begins after it. A
// graph's nodes run in the order in which they were captured. With a seed, they run in a random order that its edges
// allow. All devices share a library's variables. Pinned memory has another address on the device than on the host.
// Machine code is refused, as on a device with another architecture. A launch waits if 1024 tasks are queued.
//
// [Inject] makes calls fail on demand, for this device or the real driver. [Device.Leaks] lists open objects, with the
// places that made them. [Device.Observe] reports each launch with its counters. The types for these reports are in
// package report.
//
// The device is implemented in internal folders: driver implements the function table, program compiles PTX, exec runs
// it, and memory is the address space.
package cudasim
