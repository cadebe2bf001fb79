// Package main runs a kernel of one's own: deadband.cu, compiled to deadband.ptx by clang, on a GPU or, with -device sim,
// on the simulated device, where there need be none.
//
//	go run github.com/robocache/robocache/examples/custom-kernel -device sim
package main
