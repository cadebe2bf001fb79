package dataset

import "context"

// Stated is the statistics that a dataset states of the columns of a stream, over all its episodes. Lists are of the columns, and nil where it does not
// say.
type Stated struct {
	Stream              string
	Where               string // the file that says so
	Count               int    // samples; 0 where it does not say
	Min, Max, Mean, Std []float64
}

// Stating is a Dataset that states statistics of its streams.
type Stating interface {
	// Stated returns them, nil if it has none after all, and empty where there is a file of them that has none of a stream; of what cannot be read, Info.Notes may say more.
	Stated(ctx context.Context) ([]Stated, error)
}
