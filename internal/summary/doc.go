// Package summary computes the statistics by which training normalises the columns of a dataset: mean, standard deviation, minimum, maximum and
// quantiles.
//
// [Exact] is of any number of rows in any order, without rounding, its quantiles those of the sorted values; [Ranks] and [Moments] are the same of counts
// and sums that a device has made. [Block] is of one block of rows, an episode, in the arithmetic and the order of numpy, so that it gives the bits that
// LeRobot writes of an episode: its quantiles come from a histogram of [Bins] equal bins between the smallest and the largest value, and are linear inside
// a bin. [Levels] is of the pixels of images, [Pooled] of parts of which the moments are known.
package summary
