package dataset

import "context"

// Stated contains statistics of a stream over all episodes, as a file in the dataset declares them. The lists have an entry per
// column, or are nil if the file lacks them. An entry that is not a number in the file is NaN.
type Stated struct {
	Stream              string
	Where               string // the file, for example "meta/stats.json"
	Count               int    // samples; 0 if unknown
	Min, Max, Mean, Std []float64
}

// Stating is a Dataset that may declare statistics in its own files.
type Stating interface {
	// Stated returns the declared statistics: nil if the dataset has no such file, and an empty list if the file covers no stream.
	// The notes list parts that cannot be read. The only error is ctx.Err().
	Stated(ctx context.Context) ([]Stated, Notes, error)
}
