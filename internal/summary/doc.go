// Package summary computes the statistics that training uses to normalise a dataset's columns: mean, standard deviation, minimum,
// maximum and quantiles.
//
// [Exact] handles any number of rows in any order, without rounding; its quantiles are those of the sorted values. [Ranks] and
// [Moments] compute the same from counts and sums made by a device. [Block] handles one block of rows, an episode, in numpy's
// arithmetic and order, so that it gives the bits that LeRobot writes for an episode. Its quantiles come from a histogram with [Bins]
// equal bins between the smallest and the largest value, and are linear inside a bin. [Levels] handles image pixels, [Pooled] combines
// parts with known moments.
package summary
