// Package device runs plans on a GPU, whatever their operations are: it has the device's memory and copies, its streams, graphs and batches, and the cells
// in which kernels say that a value is wrong. What an operation launches is decided in package ops/cuda.
package device
