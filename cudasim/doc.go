// Package cudasim is a simulated CUDA device. It parses PTX and runs it on the CPU, one warp at a time, and reports errors of a
// kernel for which a real device stays silent. It also takes the place of
// NVIDIA's driver: [Device.FunctionTable] returns the functions that package cudadrv looks for in the driver library.
//
// Arithmetic is exact. If PTX defines an instruction to the bit, the result has those bits; if PTX gives a bound, the result is
// within the bound. Under ftz a result is flushed as an H200 does it: if it is below the normal numbers after rounding to all its
// digits. Operands for which PTX defines no result are a fault, for example a bit field past bit 255. Sizes and addresses are bytes.
// A kernel's error is a *Fault, which names the kernel, the line of PTX, the block, the thread and the address.
//
// mma.sync sums as the tensor cores of compute capability 9.0 do (package tensorcore).
//
// # The simulated driver
//
// Its CUDA version is 12.8, and it has one device of compute capability 9.0, or several ([NewDevices]). It models:
//
//   - handles, each checked; the primary context, and the current context of each thread;
//   - streams, each a queue with a goroutine, so that nothing is done before something waits for it to be; events;
//   - memory allocated and freed in stream order, and the pool's accounts; pools that are open to other devices, where a kernel
//     that accesses another device's memory is a fault if that is not open to it; pinned and registered host memory;
//   - copies, which are checked when they are queued;
//   - modules and libraries, with the compiler's log; parameter lists, attributes, limits and occupancy;
//   - launches, with their attributes; capture in its three modes, and the calls that invalidate it;
//   - graphs, for one device or several, their updates and the parameters of their nodes.
//
// Calls fail as the driver's reference says. If the reference is silent, for example about pinned memory of no bytes, they fail as with
// driver 580 on an H200. A kernel's fault loses the device: from then on every call that uses its context returns the fault's
// code. The text of that code contains the report, and [Device.LastFault] returns it.
//
// The device is stricter than a real one. It is a fault if a launch may begin early and no thread waits for the launch before it.
// No address is used twice. A call may not name memory after its free was queued, and
// a handle is refused once it is destroyed.
//
// Not modelled: time (events have the time of the simulation), priorities, the default stream, peers by cuCtxEnablePeerAccess,
// arrays and textures, managed memory, memory allocated inside a capture, child graphs made by hand, callbacks, clusters of
// more than one block, cooperative launches, and two kernels at once. Kernels of different streams and devices take turns, and
// a launch that may begin before its predecessor's end begins after it. The nodes of a graph run in the order of their capture. With
// a seed, they run in a random order that its edges allow. All devices share the variables of a library. Pinned memory
// has another address on the device than on the host. Machine code is refused, as by a device that it was not made for. A
// launch waits if 1024 tasks are queued.
//
// [Inject] makes calls fail on demand, for this device or the real driver. [Device.Leaks] lists open objects, with the
// places that made them. [Device.Observe] reports each launch with its counters. The types of these reports are in package report.
//
// The device is in the folders of internal: driver implements the function table, program compiles PTX, exec runs it, memory
// is the address space.
package cudasim
