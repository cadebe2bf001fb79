// Package cover finds the time that the samples of a stream cover, with and without stray timestamps. Times are nanoseconds.
package cover
