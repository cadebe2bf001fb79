// Package tensor has dtypes, shapes and tensors, on the host or on a device.
//
// Three calls do most jobs: wrap a slice, take a view, read the elements.
//
//	t, err := tensor.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3) // a tensor [2,3] over the slice
//	row, err := t.Slice(0, 1, 2)                           // a view [1,3], the second row
//	values, err := tensor.Data[float32](row)               // []float32{4, 5, 6}, not copied
//
// # Memory
//
// A tensor is a view of memory. It has a dtype, a shape, and one stride per dimension, in elements and never negative.
// Layout is row-major unless strides define another one. [Of] wraps a Go slice without copying it, so the slice and the
// tensor are the same memory. [Over] does the same for memory that does not belong to Go. [New] allocates host memory.
// Tensors on a device come from a backend, which supplies the memory as a [Buffer]; this package never touches device
// memory itself.
//
// A tensor owns its memory if it allocated it, wrapped it, or was made by [OnDevice]. Its Close releases the memory,
// once. Views from Slice, Expand, Reshape and AsStrided share the memory and own nothing. After the owner's Close they
// are closed too. Close twice is fine. If a closed tensor is used, the error has the kind [ErrClosed].
//
// The shape and strides never change after a tensor was made, so any goroutine may read it. Writes to its elements are
// not synchronised, as with a slice.
package tensor
