// Package stats computes the statistics that training normalises with: of every column of a recording or dataset the number of values, mean, standard
// deviation, minimum, maximum and quantiles.
//
// They are exact. Mean and deviation are those of the real numbers, computed without rounding and rounded once to float64; the deviation is that of the
// population, divided by the number of values. Quantiles are those of the sorted values, linear between the ranks as numpy's. So the bits depend on no
// order, no number of workers and no cut into shards. NaN and infinite values are counted and left out.
//
// All but the quantiles need one pass over the data, the quantiles of float32 one more, those of float64 up to three more, and no pass keeps rows: see
// [Accumulator]. A [State] has partial results after passes over some shards; it can be written, read and merged with those of other
// shards.
package stats
