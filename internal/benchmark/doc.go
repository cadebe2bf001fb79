// Package benchmark measures the operations beside the least that they could take. It is what the command robocache bench runs.
//
// A job is one shape of one suite. Its inputs are made from a fixed seed, several sets of them, so that together they are far
// larger than the device's cache; one call takes one set, the next call the next. On a GPU the calls are captured in a CUDA
// graph, and a sample is the time between two events around a replay of the graph, divided by its calls. On the CPU a sample
// is the wall time of a batch of calls, divided by their number. So a sample is a mean, and the percentiles of a [Stats] say how
// the means vary, not how single calls do. The samples of the first replays are thrown away.
//
// The limit is measured in the same run, the same way, over as many sets: on a GPU with a kernel that reads and writes the
// least bytes that the job must move and does nothing else, on the CPU with the same by all threads. Of the kernel's launch
// shapes the best is found first and then measured anew, so that the limit is no luckier than what is compared with it.
package benchmark
