// Package sim runs the CUDA backend on a simulated device. Plans, argument lists and kernels are the same as on a GPU,
// but package cudasim executes the kernels' PTX. To register the backend, import the package for its side effect:
//
//	import _ "github.com/robocache/robocache/ops/sim"
//
// ops.Open("sim") opens it. It is about ten thousand times slower than a GPU, but reports errors that a GPU does not:
// reads from memory that was never written, races, accesses past the end of an allocation. ops.Open("auto") never
// selects it.
//
// All devices from ops.Open share one simulated device, as they would share a GPU. After a kernel's fault that device
// is lost for the rest of the process; [New] makes a separate one.
package sim
