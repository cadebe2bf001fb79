// Package cpu runs the operations in package ops on the CPU. Its results are the specification: other backends give the
// same bits. Package ops registers it. Programs open it with ops.Open("cpu") and do not need to import this package.
//
// Each operation has a simple form first, for one target or one cell at a time. Faster forms, such as rows with AVX2
// instructions or points after sorting, give the same bits and are tested against the simple one. Work is divided into
// pieces. A fixed set of goroutines takes the pieces one by one, while the call that began the work waits. So a queue
// on this backend runs work at once, but keeps the errors until it is synchronised, like a queue on a GPU.
package cpu
