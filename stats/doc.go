// Package stats computes the statistics for normalising training data: for every column in a recording or dataset the number of
// values, mean, standard deviation, minimum, maximum and quantiles. Most programs need three calls:
//
//	report, err := stats.Compute(ctx, d, stats.Options{})        // d is from dataset.Open
//	action := report.Stream("action")                            // action.Columns[0].Mean, .Std, .Quantiles
//	_, err = report.WriteForm(file, stats.Form{Name: "lerobot"}) // meta/stats.json
//
// The results are exact. Mean and deviation are computed without rounding, and rounded once to float64. The deviation is the
// population's, divided by the number of values. Quantiles come from the sorted values, with linear interpolation between ranks as
// in numpy. So the result does not depend on the order of rows, the number of workers or the division into shards. NaN and infinite
// values are counted and left out.
//
// Everything except the quantiles needs one pass over the data. The quantiles of float32 need one more pass, those of float64 up to
// three more. No pass keeps rows: see [Accumulator]. A [State] holds the partial results for some shards. It can be written to a
// file, read, and merged with the states of other shards.
package stats
