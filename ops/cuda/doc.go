// Package cuda is the CUDA backend of package ops: it runs the kernels of package ptx through libcuda. Importing it for its
// side effect registers the backend:
//
//	import _ "github.com/robocache/robocache/ops/cuda"
//
// ops.Open("cuda") opens the first device, ops.Open("cuda:1") the second. It needs the NVIDIA driver and nothing else; where
// there is none, the error says why. The environment variable ROBOCACHE_KERNELS forces one kind of kernel image ("cubin",
// "sm_90.ptx" or "sm_80.ptx") for tests.
//
// Each operation has an ordered list of variants, one file and one value each: a kernel, the jobs that it takes and is preferred for, how they are divided
// into blocks, and the kernel's parameter. The first that takes a job is launched, with the policy of a heuristic for the device's size, or one that was measured on such
// a device and that robocache tune keeps in a table. docs/kernels.md is the map of the kernels. A plan's launches depend on its job, the device and that table, and on no earlier run. ROBOCACHE_TUNED names its file or folder, or is "off"; else it is looked for in the user's
// cache. No policy changes a result, a file that cannot be used is no error, and [Explain] and backend.Info say what was chosen by what, and why not something else.
//
// Memory comes from the device's stream-ordered pool, which keeps up to 256 MiB of what was freed for later allocations.
// A plan holds a few hundred bytes on the device and four in pinned host memory, where the kernel says that it met a
// bad value, so that a synchronisation reads nothing from the device as long as all is well.
package cuda
