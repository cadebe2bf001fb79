package write

import (
	"github.com/robocache/robocache/dataset/lerobot/internal/footage"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/summary"
)

// featureStats holds a feature's statistics in an episode.
type featureStats struct {
	columns []summary.Column        // per column or channel
	of      func() []summary.Column // computes columns; nil after that
	levels  []summary.Levels        // for images
	frames  int                     // frames used
	bare    bool                    // whether quantiles are missing, because a copied video's origin has none
	origin  *footage.Origin         // the video that they were copied with; nil if they were computed
}

// finish computes the statistics from the counted pixels.
func (s *featureStats) finish() {
	for i := range s.levels {
		s.columns = append(s.columns, s.levels[i].Column())
	}
}

// statValues returns one statistic for every column.
func statValues(columns []summary.Column, name string) []float64 {
	out := make([]float64, len(columns))
	for i := range columns {
		out[i] = *layout.Stat(&columns[i], name)
	}
	return out
}
