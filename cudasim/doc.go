// Package cudasim is a simulated CUDA device: it parses PTX and runs it on the CPU, a warp at a time, and reports what a
// kernel does wrong where a real device would stay silent. Around that it stands in for
// NVIDIA's driver: [Device.FunctionTable] gives the functions that package cudadrv looks for in the driver library.
//
// Arithmetic is exact: an instruction that PTX defines to the bit gives those bits, and one that PTX bounds stays within
// its bound. Under ftz a result is flushed as an H200 does it: if it is below the normal numbers once it is rounded to all its
// digits. Operands for which PTX defines nothing, as a bit field past bit 255, are a fault. Sizes and addresses are bytes. A
// kernel's wrongs come back as a *Fault, which names the kernel, the line of PTX, the block, the thread and the address.
//
// mma.sync sums as the tensor cores of compute capability 9.0 do, by package tensorcore.
//
// # What stands in for the driver
//
// It states CUDA 12.8, and has one device of compute capability 9.0, or several ([NewDevices]). Modelled are: handles, each
// checked; the primary context and what is current on which thread; streams, each a queue that a goroutine works off, so that
// nothing is done before something waits for it to be; events; memory allocated and freed in stream order, and the pool's
// books; pinned and registered host memory; copies that are checked when they are queued; modules and libraries, with the
// compiler's log; parameter lists, attributes, limits and occupancy; launches, with their attributes; capture in its three
// modes, with what spoils it; graphs, of one device or several, their updates and the parameters of their nodes; memory pools
// that are open to other devices: a kernel that reaches memory of another device that is not open to it is a fault. Calls fail
// where and with what the driver's reference says; where it says nothing, as of no bytes of pinned memory, as driver 580 did on
// an H200. A kernel's fault loses the device: from then on every call that uses its context returns the fault's code, the text
// of which carries the report, and [Device.LastFault] gives it.
//
// Stricter than a real device: a launch that may begin early and in which no thread waits for the one ahead of it is a fault; no
// address is given out twice; memory may not be named in a call once its free is queued;
// a handle is refused once it is destroyed.
//
// Not modelled: time (an event tells that of the simulation), priorities, the default stream, peers by cuCtxEnablePeerAccess,
// arrays and textures, managed memory, memory allocated inside a capture, child graphs made by hand, callbacks, clusters of
// more than one block, cooperative launches, and two kernels at once: kernels of different streams and devices take turns, and
// one that may begin before its predecessor's end begins after it. The nodes of a graph run in the order of their capture or,
// with a seed, in one drawn from those that its edges allow. The variables of a library are one for all devices. Pinned memory
// has another address on the device than on the host. Machine code is refused, as for a device that it was not made for. A
// launch waits where 1024 pieces of work are queued.
//
// [Inject] makes calls fail on demand, of this device or of the real driver. [Device.Leaks] lists what was not given back, with the
// places where it was made. [Device.Observe] shows each launch with its counters. The types of these reports are those of package report.
//
// The folders of internal are the device: driver stands behind the function table, program compiles PTX, exec runs it, memory
// is the address space.
package cudasim
