// Package benchmark measures operations and compares them with the fastest time that the hardware allows. It implements the command
// robocache bench.
//
// A job is one shape in one suite. Its inputs come from a fixed seed. There are several input sets, far larger together than the
// device's cache, and each call uses the next set. On a GPU the calls are captured in a CUDA graph, and a sample is the time between
// two events around a graph replay, divided by the number of calls. On the CPU a sample is the wall time for a batch of calls, divided
// by their number. So a sample is a mean, and the percentiles in [Stats] describe how the means vary, not single calls. The first
// replays do not count.
//
// The limit is measured in the same run with as many sets. On a GPU it is a kernel that only reads and writes the least bytes that the
// job must move, on the CPU the same by all threads. The kernel's best launch shape is found first and then measured again, so that the
// limit is no luckier than the job.
package benchmark
