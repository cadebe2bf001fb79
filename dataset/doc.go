// Package dataset holds what a reader of recorded robot data gives: a [Recording] of named streams, or a [Cloud] of points.
//
// A stream has a clock of its own, in int64 nanoseconds as recorded, and a value tensor [S,D] with a named column for
// each of the D features. S counts samples. Times are neither sorted nor made unique: [Stats] says what a clock is like.
//
// A cloud has points [N,3] and a feature tensor [N,F] with a named column for each of the F features, each float32, or float64 where
// the file has doubles.
//
// The readers are in the folders below, one format each. They take whole files, block while they read, start no
// goroutine, and hand over host memory that belongs to the caller. What a file holds and a reader cannot give is an
// error or a count, never silence. A file that breaks its format is a [*FormatError] with the byte where it does.
package dataset
