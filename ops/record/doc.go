// Package record makes exported plans: what the CUDA backend would do for an operation on some device, written down so that a process which has no Go in it
// can do it there. A [Plan] says which kernels of which images are launched, with which parameters, and which words of these are addresses of which buffers.
// Whoever replays it gives the arguments' addresses, allocates the other buffers once, and launches: no request to Go, no copy, no synchronisation.
//
// A [Recorder] is package ops/cuda, as it is, on a driver that only notes what is asked of it, and that answers as a [Target] says, a description of the real
// device. It plans twice, with everything at other addresses the second time: each buffer moved by a distance of its own, and only the lowest four bits of
// an argument's address kept. Words that differ are addresses, and the difference says of which buffer. Anything else that differs is an error which
// names it. So no list of pointer fields is kept, and a plan is known to depend on shapes, options, the device and the lowest four bits of addresses alone.
//
// A [Session] does the same for all that a function makes on a device, such as a loader whose episodes are there: a batch of it is then one plan.
//
// Package internal/test/replay runs exported plans in Go, to prove that nothing is missing in them.
package record
