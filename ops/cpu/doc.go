// Package cpu runs the operations of package ops on the CPU. It is their specification: what it gives is right, and other backends give the same
// bits. Package ops registers it; programs open it by ops.Open("cpu") and have no need of this package.
//
// Each operation is written down simply first, one target or one cell at a time; what is faster beside it, rows by AVX2 instructions, points by
// sorting, gives the same bits and is tested against it. Work is cut into pieces that a fixed set of goroutines takes one by one while the call that began
// it waits: a queue of this backend runs what it is given at once, and keeps the errors until it is synchronised, as a GPU's does.
package cpu
