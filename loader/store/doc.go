// Package store packs a dataset's recordings into large tensors, one set for each stream, from which package loader draws
// batches.
//
//	s, err := store.Build(ctx, dataset, store.BuildOptions{})                     // in memory
//	err = store.Pack(ctx, dataset, "packed.safetensors", store.BuildOptions{})    // in a file
//	s, err = store.Open("packed.safetensors")                                     // maps the file
//
// Samples stay as recorded, each stream on its own clock, and camera frames stay encoded. [PackShard] packs into one file of a
// folder, so that several programs can pack in parallel. [Open] maps a file or a folder. A store is a [dataset.Dataset], and
// [dataset.Open] opens stores if this package is imported.
//
// Timestamps are int64 nanoseconds. An opened store's tensors become invalid with its Close; see [Store] and [Store.Guard].
package store
