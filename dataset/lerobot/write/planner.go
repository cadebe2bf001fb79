package write

import (
	"slices"

	"github.com/robocache/robocache/internal/parquet"
)

// planner plans the next episode of a dataset.
type planner struct {
	opt      *Options
	out      *outputFolder
	tasks    *taskList
	features []*feature                // of the dataset; nil before its first episode
	lists    map[string]*parquet.Lists // the language columns of the dataset
	episode  int                       // its number
	frames   int                       // that the dataset has before it
}

// quantiles reports whether a feature has quantiles in the episodes before, so that all must.
func (next *planner) quantiles(name string) bool {
	i := slices.IndexFunc(next.features, func(f *feature) bool { return f.name == name })
	return i >= 0 && !next.features[i].bare
}
