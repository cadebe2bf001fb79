// Package fp32 has the functions of float32 that kernels compute, to the bit: each is made of IEEE operations alone, in the order of ptx/fp32.cuh.
package fp32
