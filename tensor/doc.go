// Package tensor holds dtypes, shapes and tensors, on the host or on a device.
//
// A tensor is a view: a dtype, a shape, one stride a dimension (in elements, never negative) and the memory they
// describe. Layout is row-major unless strides say otherwise. Of wraps a Go slice without copying it: the slice and the
// tensor are the same memory, and Over does so for memory that is not Go's. New allocates host memory. Tensors on a device come from a backend, which
// hands their memory in as a [Buffer]; this package never touches device memory itself.
//
// The tensor that allocated, wrapped or was given the memory owns it: its Close releases it, once. Views made by Slice,
// Expand, Reshape and AsStrided share the memory and own nothing; after the owner's Close they are closed too. Close
// twice is fine; any use after it is an error that is [ErrClosed].
//
// A tensor's shape and strides do not change after it was made, so that a tensor may be read from any goroutine.
// Writing its elements is as unsynchronised as writing a slice.
package tensor
