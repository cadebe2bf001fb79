// Package exec runs kernels: [Machine.Run] executes a launch of micro-operations, a warp at a time, and returns its counters or its fault.
//
// An [Inst] holds the Go function of its instruction, so that the loop of a warp makes one indirect call for 32 lanes. It is of one of few
// kinds: a function of whole registers ([ALU]), a comparison, a selection, a branch, or a [Step], which may do anything to its warp. The
// steps that reach memory, wait for other threads or move lanes are functions of this package. Those of instructions that only compute are
// made by package program, which knows PTX; this package does not.
//
// Blocks run on several goroutines, but on one with the race check or a seed. A block of a launch takes turns with others only
// when it waits for them. Registers are zero-extended to 64 bits. Sizes and addresses are bytes.
package exec
