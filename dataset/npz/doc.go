// Package npz reads and writes .npz files: zip archives of numpy arrays, as numpy.savez makes them.
//
// An array's name is its member's without ".npy", and only a name: numpy.load unpacks nothing to disk, and no more does this package, so "/action",
// "a/../b" and bytes that are no UTF-8 are names like others. A program that unpacks an archive keeps to its folder, as with any zip file. An array
// that nobody asks for may be broken, of any type, or there twice: it costs nothing. To ask for a name that is there twice is an error, since numpy
// would give the last and zip readers differ.
//
// A [File] reads members on demand, in any order and from any number of goroutines; a [Writer] writes them one after the other, stored or deflated,
// and the same arrays always give the same bytes. What the arrays become is said in package npy. Sizes that the archive declares are never trusted:
// memory grows as data arrives, and the archive's checksums are verified.
package npz
