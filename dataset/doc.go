// Package dataset is the model of recorded robot data: an [Episode] of named streams, each with a clock of its own, or a [Cloud] of points.
//
// A [Stream] has timestamps [S] as recorded, in int64 nanoseconds or in seconds, and a value tensor [S,D] with a named column for each of the D
// features. S counts samples. Timestamps are neither sorted nor made unique: [Stats] says what a clock is like. A [Media] stream has frames as they
// were encoded, which are read when they are asked for, and decoded by [Media.Decode] and [Media.DecodeRange]; [Resize] makes them another size.
// [Attributes] are what a file says of the whole episode.
//
// A [Dataset] is a series of episodes; a flight log is a dataset of one, a folder of them one of many. [Open] recognises files and folders by their
// content, among the formats whose packages are imported:
//
//	import _ "github.com/robocache/robocache/dataset/ulog" // or dataset/all, for every format
//
//	d, err := dataset.Open(ctx, path, dataset.Options{})
//	defer d.Close()
//	for e, err := range dataset.Episodes(ctx, d) { // e.Streams, e.Media
//	}
//
// [Parallel] and [ParallelWithin] read episodes ahead, in the same order; package loader draws batches of windows from them.
//
// A cloud has points [N,3] and a feature tensor [N,F] with a named column for each of the F features, each float32, or float64 where
// the file has doubles.
//
// The readers are in the folders below, one format each. They take whole files, block while they read, leave no goroutine behind (decoding a video
// runs a program), and hand over host memory that belongs to the caller. What a file holds and a reader cannot give is an
// error or a count, never silence. A file that breaks its format is a [*FormatError] with the byte where it does.
package dataset
