// Package nntest is the contract of package ops/backend's NN as tests: what a network is made of gives the bits of the CPU's exact way on every backend
// that works in bfloat16, and stays within bounds of float64 everywhere.
package nntest
