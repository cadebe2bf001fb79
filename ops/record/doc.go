// Package record makes exported plans. An exported [Plan] describes the CUDA work for an operation on some device, so
// that a process without Go can run it there, for example from Python. It lists the kernels to launch, their images and
// parameters, and the parameter words that are buffer addresses. To replay it, a program supplies the arguments'
// addresses, allocates the other buffers once, and launches the kernels. It needs no call to Go, no copy and no
// synchronisation.
//
// A [Recorder] runs the unchanged package ops/cuda on a driver that only records calls. The driver's answers come from
// a [Target], a description of the real device. The recorder plans twice. The second time each buffer has another
// address, moved by its own distance, and an argument's address keeps only its lowest four bits. If a parameter word
// differs between the two, it is an address, and the difference identifies the buffer. If anything else differs, the
// error names it. So no list of pointer fields is needed. The plan is then proven to depend only on shapes, options,
// the device and the lowest four bits of addresses.
//
// A [Session] does the same for everything that a function makes on a device. Example: a loader with its episodes in
// device memory, where one batch becomes one plan.
//
// Package internal/test/replay runs exported plans in Go, to prove that they are complete.
package record
