// Package pins counts what the benchmarks' main shapes make the kernels do on a simulated device: warp instructions, and the sectors
// of 32 bytes that they move. Package ops/sim keeps the numbers in a file, so that a change that costs time and no bit is
// seen without a GPU; internal/test/mutants compares a kernel with a defect by them.
package pins
