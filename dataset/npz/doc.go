// Package npz reads and writes .npz files: zip archives of numpy arrays, as numpy.savez makes them.
//
// An array's name is its member's without ".npy". A [File] reads members on demand, in any order and from any number of
// goroutines; a [Writer] writes them one after the other, stored or deflated, and the same arrays always give the same
// bytes. What the arrays become is said in package npy. Sizes that the archive declares are never trusted: memory grows as
// data arrives, and the archive's checksums are verified.
package npz
