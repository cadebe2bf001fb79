// Package store packs the recordings of a dataset stream by stream, as they were recorded, each on its own clock, and the frames of cameras as they were
// encoded.
//
// [Build] packs a [Store] in memory, [Pack] in a file, and [PackShard] in one of the files of a folder, which programs pack side by side. [Open] maps a file
// or a folder. A store is a [dataset.Dataset], which [dataset.Open] opens if this package is imported. Package loader draws batches from it.
//
// Timestamps are int64 nanoseconds. The tensors of an opened store end with its Close; see [Store] and [Store.Guard].
package store
