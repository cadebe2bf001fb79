// Package driver stands in for NVIDIA's driver. It fills the function table of package cudadrv with functions over simulated
// devices: contexts, streams, events, memory, modules, launches, captures, graphs, handles for other processes, and the
// collectives of NCCL. The documentation of package cudasim lists what is modelled.
//
// A function gets the C arguments of its call as words, and its device. Calls may come from any goroutine. Each stream has a
// goroutine for its work. Kernels of all devices of a driver run one at a time. Sizes and addresses are bytes.
package driver
