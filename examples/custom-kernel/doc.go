// Package main runs a kernel of one's own: deadband.cu, compiled to deadband.ptx by clang, on a GPU, or on the simulated device if
// there is none.
//
//	go run ./examples/custom-kernel [-device sim]
package main
