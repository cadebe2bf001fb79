// Package backend is what the backends of package ops share, and programs have no need for: the interface that each implements, validated
// jobs as a backend gets them, faults found in values, and the vocabulary of these. Package ops has the words that users need under its own
// name, with their full documentation.
//
// A backend implements [Backend], and an interface for each operation that it has: [Resampler], [Fuser], [Differentiator], [Voxelizer], [Drawer], [Tallier], [Batcher]. One
// that lacks an operation still works for the others; package ops says which is missing. It registers itself by [Register].
//
// Jobs were validated: shapes fit, tensors are on the device and open, options are known. What is left to a backend are the values in tensors, which it
// reports as a [Fault] where they are bad.
package backend
