// Package driver stands in for NVIDIA's driver. It fills the function table of package cudadrv with functions over simulated
// devices: contexts, streams, events, memory, modules, launches, captures, graphs, handles for other processes, and the
// collectives of NCCL. The documentation of package cudasim lists what is modelled.
//
// A function gets the C arguments of its call as words, and the device that the call is for. Calls may come from any goroutine. Work of a
// stream is done by a goroutine of its own, kernels of all devices of a driver one at a time. Sizes and addresses are bytes.
package driver
