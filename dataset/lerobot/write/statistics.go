package write

import (
	"github.com/robocache/robocache/dataset/lerobot/internal/footage"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/summary"
)

// featureStats is the statistics of a feature in an episode.
type featureStats struct {
	columns []summary.Column        // of each column, or channel
	of      func() []summary.Column // computes them, where that is not done yet
	levels  []summary.Levels        // of images
	frames  int                     // that they are of
	bare    bool                    // there are no quantiles, because the origin of a copied video states none
	origin  *footage.Origin         // of the video that they were copied with; nil if they were computed
}

// finish makes the statistics of the counted pixels.
func (s *featureStats) finish() {
	for i := range s.levels {
		s.columns = append(s.columns, s.levels[i].Column())
	}
}

// statValues returns one of the statistics of every column.
func statValues(columns []summary.Column, name string) []float64 {
	out := make([]float64, len(columns))
	for i := range columns {
		out[i] = *layout.Stat(&columns[i], name)
	}
	return out
}
