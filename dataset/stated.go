package dataset

import "context"

// Stated has the statistics of a stream that a dataset has in its own files, over all episodes. Lists have an entry for each column, and
// are nil if the file lacks them.
type Stated struct {
	Stream              string
	Where               string // the file
	Count               int    // samples; 0 if unknown
	Min, Max, Mean, Std []float64
}

// Stating is a Dataset with statistics of its streams in its own files.
type Stating interface {
	// Stated returns the statistics: nil if the dataset has no file of them, and an empty list if the file has none of a stream. If a part
	// cannot be read, Info.Notes may have the reason.
	Stated(ctx context.Context) ([]Stated, error)
}
