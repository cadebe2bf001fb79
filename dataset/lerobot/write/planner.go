package write

import (
	"slices"

	"github.com/robocache/robocache/internal/parquet"
)

// planner plans a dataset's next episode.
type planner struct {
	opt      *Options
	out      *outputFolder
	tasks    *taskList
	features []*feature                // the dataset's; nil before its first episode
	lists    map[string]*parquet.Lists // the dataset's language columns
	episode  int                       // its number
	frames   int                       // frames in the dataset before it
}

// quantiles reports whether earlier episodes have quantiles for a feature, so that this one needs them too.
func (next *planner) quantiles(name string) bool {
	i := slices.IndexFunc(next.features, func(f *feature) bool { return f.name == name })
	return i >= 0 && !next.features[i].bare
}
