package dataset

import "slices"

// Filter selects episodes. A field that is empty or nil selects all.
type Filter struct {
	Split   string // a name from Info.Splits
	Task    string // the complete text of Attributes.Task
	Success *bool
}

// FilterField names a field of a Filter.
type FilterField string

// Fields of a Filter. NoField is the result for an episode that passes.
const (
	NoField      FilterField = ""
	SplitField   FilterField = "split"
	TaskField    FilterField = "task"
	SuccessField FilterField = "success"
)

// Refuses returns the first field that an episode fails, or NoField if it passes. An episode with an unknown success fails every
// Filter with a Success.
func (f *Filter) Refuses(splits []string, task string, success *bool) FilterField {
	switch {
	case f.RefusesSplit(splits):
		return SplitField
	case f.Task != "" && f.Task != task:
		return TaskField
	case f.Success != nil && (success == nil || *success != *f.Success):
		return SuccessField
	}
	return NoField
}

// RefusesSplit reports whether an episode fails because of its splits, which are known before it is read.
func (f *Filter) RefusesSplit(splits []string) bool {
	return f.Split != "" && !slices.Contains(splits, f.Split)
}

// SplitsOf returns the split names for each of n episodes.
func (i *Info) SplitsOf(n int) [][]string {
	list := make([][]string, n)
	for _, s := range i.Splits {
		for _, e := range s.Episodes {
			if e >= 0 && e < n {
				list[e] = append(list[e], s.Name)
			}
		}
	}
	return list
}
