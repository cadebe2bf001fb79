// Package store packs a dataset's recordings stream by stream, as recorded, each on its own clock, and camera frames as
// encoded.
//
// [Build] packs a [Store] in memory, [Pack] in a file, and [PackShard] in one file of a folder, so that several programs can pack in
// parallel. [Open] maps a file or a folder. A store is a [dataset.Dataset], and [dataset.Open] opens stores if this package is
// imported. Package loader draws batches from a store.
//
// Timestamps are int64 nanoseconds. An opened store's tensors end with its Close; see [Store] and [Store.Guard].
package store
