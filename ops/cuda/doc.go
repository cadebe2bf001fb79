// Package cuda is the CUDA backend for package ops. It runs the kernels in package ptx through libcuda. To register the
// backend, import the package for its side effect:
//
//	import _ "github.com/robocache/robocache/ops/cuda"
//
// ops.Open("cuda") opens the first device, and ops.Open("cuda:1") the second. It needs only the NVIDIA driver; if the
// driver is missing, the error reports the reason. The environment variable ROBOCACHE_KERNELS forces one kind of kernel
// image ("cubin", "sm_90.ptx" or "sm_80.ptx") for tests.
//
// Each operation has an ordered list of variants, one file and one value each. A variant is a kernel with the jobs that
// it accepts and suits, the division of a job into blocks, and the kernel's parameter. The first variant that accepts a
// job is launched. Its launch policy comes from a heuristic for the device's size, or from a measurement on such a
// device that robocache tune keeps in a table. docs/kernels.md describes the kernels.
//
// A plan's launches depend on its job, the device and that table, but not on earlier runs. The environment variable
// ROBOCACHE_TUNED is the table's file or folder, or "off"; by default the table is in the user's cache. A policy never
// changes a result, and an unusable file is not an error. [Explain] and backend.Info report the choice and its reason.
//
// Memory comes from the device's stream-ordered pool, which keeps up to 256 MiB after memory is freed, for later
// allocations. A plan has a few hundred bytes on the device and four in pinned host memory. A kernel that finds a bad
// value sets these four bytes, so a synchronisation reads nothing from the device if there was no error.
package cuda
