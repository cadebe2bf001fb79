// Package nntest tests every implementation of backend.NN (the operations for neural networks). A backend that computes with bfloat16
// must return the same bits as the device "cpu:exact". Every backend's results must lie within bounds of float64 results.
package nntest
