// Package pins counts the work that kernels do on a simulated device for the main shapes of the benchmarks: warp instructions, and
// memory sectors (32 bytes) read and written. Package ops/sim compares the counts with a file, so that a change that costs time but
// changes no result is found without a GPU. internal/test/mutants compares a kernel that has a defect with the original by these
// counts.
package pins
