package policy

import (
	"cmp"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Trace keeps, of the windows of an episode, the recorded actions and those that were predicted so many ticks before, to be drawn. Its Add is a visitor of
// [Policy.Evaluate].
type Trace struct {
	config   *Config
	episode  int
	ticks    int
	times    []int64
	recorded []float64
	made     []float64
}

// NewTrace keeps those of an episode, by its number, and of the farthest horizon.
func NewTrace(c *Config, episode int) *Trace {
	return &Trace{config: c, episode: episode, ticks: c.Recipe.Chunk}
}

// Add keeps a window's.
func (t *Trace) Add(w *Window, chunk []float64) error {
	if w.Episode != t.episode || !w.Counts[t.ticks-1] {
		return nil
	}
	a := len(t.config.Targets)
	lo, hi := (t.ticks-1)*a, t.ticks*a
	t.times = append(t.times, w.Anchor+int64(math.Round(float64(t.ticks-1)*1e9/t.config.Hz)))
	t.recorded = append(t.recorded, w.Actions[lo:hi]...)
	t.made = append(t.made, chunk[lo:hi]...)
	return nil
}

// Seconds is how long before its time an action was predicted: the chunk's length, as the last action before it is one tick older.
func (t *Trace) Seconds() float64 { return float64(t.ticks) / t.config.Hz }

// Moving are the columns that move most for their deviation, as many as asked for.
func (t *Trace) Moving(most int) []int {
	a := len(t.config.Targets)
	moved := make([]moments, a)
	for i, v := range t.recorded {
		moved[i%a].add(v / t.config.Targets[i%a].Std)
	}
	list := make([]int, a)
	for j := range list {
		list[j] = j
	}
	slices.SortStableFunc(list, func(i, j int) int {
		_, x := moved[i].stats()
		_, y := moved[j].stats()
		return cmp.Compare(y, x)
	})
	list = list[:min(most, a)]
	slices.Sort(list)
	return list
}

// Streams are what was recorded and what was predicted, at the same times.
func (t *Trace) Streams() (recorded, predicted *dataset.Stream, err error) {
	columns := make([]dataset.Column, len(t.config.Targets))
	for j, y := range t.config.Targets {
		columns[j].Name = y.Name
	}
	of := func(list []float64) (*dataset.Stream, error) {
		values, err := tensor.Of(slices.Clone(list), len(t.times), len(columns))
		if err != nil {
			return nil, err
		}
		s, err := dataset.NewStream(t.config.Action.Name, slices.Clone(t.times), values, columns)
		return &s, err
	}
	if recorded, err = of(t.recorded); err == nil {
		predicted, err = of(t.made)
	}
	return recorded, predicted, err
}
