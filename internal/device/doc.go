// Package device runs plans on a GPU. It contains device memory, copies, queues, graphs and batches for any operation, and the cells in which kernels
// record bad values. Package ops/cuda chooses the kernels of each operation.
package device
