// Package dataset reads recorded robot data: an [Episode] of named streams, each with its own clock, or a [Cloud] of points. Most
// programs need three calls:
//
//	import _ "github.com/robocache/robocache/dataset/all" // registers every format
//
//	d, err := dataset.Open(ctx, path, dataset.Options{}) // a file, a folder or a URL, recognised by its content
//	defer d.Close()
//	for e, err := range dataset.Episodes(ctx, d) { // *Episode: e.Streams, e.Media, e.Clouds, e.Notes
//		pose := e.Stream("pose") // pose.Times [S], pose.Values [S,D], pose.Columns [D]
//	}
//
// A program that imports single formats, such as dataset/ulog, instead of dataset/all is smaller.
//
// A [Stream] has timestamps [S] as recorded, in int64 nanoseconds or in seconds, and a value tensor [S,D] with a named column for
// each feature. S is the number of samples. Timestamps may repeat or step back, because readers keep them as they are:
// [Stream.Stats] describes the clock. A [Media] stream has encoded frames, which are read when they are needed. [Media.Decode] and
// [Media.DecodeRange] return pixels, and [Resize] changes their size. [Attributes] are values for the whole episode, such as the
// task.
//
// A [Dataset] is a series of episodes. A flight log has one episode, a folder of flight logs has many. [Parallel] and
// [ParallelWithin] read episodes ahead, in the same order; package loader draws batches of windows from them.
//
// A cloud has points [N,3] and a feature tensor [N,F] with a named column for each feature. Both are float32, or float64 if the
// file has doubles.
//
// The readers are in the folders below this one, one format each. A reader takes whole files and blocks while it reads. It leaves
// no goroutine behind, and returns host memory that the caller owns. Decoding a video may run ffmpeg. Data that a reader cannot return
// is an error or a counted [Note]; nothing is dropped silently. A file that breaks its format is a [*FormatError] with the byte
// offset.
package dataset
