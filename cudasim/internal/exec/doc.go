// Package exec runs kernels: [Machine.Run] executes a launch of micro-operations, a warp at a time, and returns its counters or its fault.
//
// An [Inst] holds the Go function of its instruction, so that the loop of a warp makes one indirect call for 32 lanes. There are few
// kinds: a function of whole registers ([ALU]), a comparison, a selection, a branch, or a [Step], which may change anything in its warp.
// Steps that access memory, wait for other threads or move lanes are functions of this package. Steps that only compute are
// made by package program, which reads PTX; this package does not.
//
// Blocks run on several goroutines, or on one if the race check is on or a seed is set. A block of a launch takes turns with others only
// when it waits for them. Registers are zero-extended to 64 bits. Sizes and addresses are bytes.
package exec
