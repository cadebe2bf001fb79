// Package cudasim is a simulated CUDA device: it parses PTX and runs it on the CPU, a warp at a time, and reports what a
// kernel does wrong where a real device would stay silent.
//
// Arithmetic is exact: an instruction that PTX defines to the bit gives those bits, and one that PTX bounds stays within
// its bound. Sizes and addresses are bytes. A kernel's wrongs come back as a *Fault, which names the kernel, the line of
// PTX, the block, the thread and the address.
package cudasim
