// Package sim runs the CUDA backend on a simulated device: the same plans, argument lists and kernels as on a GPU, with the
// kernels' PTX executed by package cudasim. Importing it for its side effect registers the backend:
//
//	import _ "github.com/robocache/robocache/ops/sim"
//
// ops.Open("sim") opens it. It is some ten thousand times slower than a GPU and finds what a GPU passes over in silence: reads
// of memory that nobody wrote, races, accesses behind the end of an allocation. It is never chosen by "auto".
//
// Devices that ops.Open opened share one simulated device, as those of a GPU share the GPU. After a kernel's fault it is
// lost for the rest of the process; [New] makes one that is nobody else's.
package sim
