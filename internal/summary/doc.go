// Package summary computes the statistics by which training normalises the columns of a dataset: mean, standard deviation, minimum, maximum and
// quantiles.
//
// [Block] is of one block of rows, an episode, in the arithmetic and the order of numpy, so that it gives the bits that LeRobot writes of an episode.
// [Total] is of any number of blocks and as exact as float64: its mean and variance do not lose digits however many rows there are, and its quantiles
// are of all rows, where LeRobot's are bounds of those of the episodes. [Levels] is of the pixels of images.
//
// Quantiles come from a histogram of [Bins] equal bins between the smallest and the largest value, and are linear inside a bin: they are within a
// bin's width of the quantile of the sorted values.
package summary
