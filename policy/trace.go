package policy

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/tensor"
)

// Trace keeps, of the windows of an episode, the recorded actions and those that were predicted so many ticks before, to be drawn. Its Add is a visitor of
// [Policy.Evaluate].
type Trace struct {
	config   *Config
	episode  int
	ticks    int
	times    []int64 // of the recorded actions
	recorded []float64
	ahead    []int64 // of those that were predicted
	made     []float64
	held     []float64 // the last actions, which were known when the others were predicted
	fitted   []int64   // of a ridge's
	ridge    []float64
}

// NewTrace keeps those of an episode, by its number, and of the farthest horizon.
func NewTrace(c *Config, episode int) *Trace {
	return &Trace{config: c, episode: episode, ticks: c.Recipe.Chunk}
}

// Add keeps a window's.
func (t *Trace) Add(w *Window, chunk []float64) error {
	if w.Episode != t.episode {
		return nil
	}
	a := len(t.config.Targets)
	if len(t.times) == 0 && w.Known {
		t.times = append(t.times, w.Anchor-t.after(1))
		t.recorded = append(t.recorded, w.Last...)
	}
	if w.Counts[0] {
		t.times = append(t.times, w.Anchor)
		t.recorded = append(t.recorded, w.Actions[:a]...)
	}
	if at := w.Anchor + t.after(t.ticks-1); w.Counts[t.ticks-1] {
		t.ahead = append(t.ahead, at)
		t.made = append(t.made, chunk[(t.ticks-1)*a:t.ticks*a]...)
		t.held = append(t.held, w.Last...)
	}
	return nil
}

// Ridge is [Ridge] of the trace's policy, and keeps what it predicts for the episode, which is one that is held out.
func (t *Trace) Ridge(ctx context.Context, store *store.Store) (Evaluation, error) {
	return ridge(ctx, t.config, store, func(w *Window, ticks int, y []float64) {
		if w.Episode != t.episode || ticks != t.ticks {
			return
		}
		t.fitted = append(t.fitted, w.Anchor+t.after(ticks-1))
		for j, v := range y {
			t.ridge = append(t.ridge, w.Last[j]+v*t.config.Targets[j].Std)
		}
	})
}

// after is how long so many ticks take, ns.
func (t *Trace) after(ticks int) int64 { return int64(math.Round(float64(ticks) * 1e9 / t.config.Hz)) }

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

// Streams are what was recorded, what was predicted for each time, the last action that was known then, which is what holding it predicts, and what a
// ridge predicted, if there is one. Their names say so.
func (t *Trace) Streams() ([]dataset.Stream, error) {
	columns := make([]dataset.Column, len(t.config.Targets))
	for j, y := range t.config.Targets {
		columns[j].Name = y.Name
	}
	var list []dataset.Stream
	for _, s := range []struct {
		name   string
		times  []int64
		values []float64
	}{
		{"recorded", t.times, t.recorded},
		{fmt.Sprintf("predicted %.2g s before", t.Seconds()), t.ahead, t.made},
		{"holding the last action", t.ahead, t.held},
		{"a ridge", t.fitted, t.ridge},
	} {
		if len(s.times) == 0 && s.name == "a ridge" {
			continue
		}
		values, err := tensor.Of(slices.Clone(s.values), len(s.times), len(columns))
		if err != nil {
			return nil, err
		}
		stream, err := dataset.NewStream(s.name, slices.Clone(s.times), values, columns)
		if err != nil {
			return nil, err
		}
		list = append(list, stream)
	}
	return list, nil
}
