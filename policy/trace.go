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

// Trace collects the recorded and the predicted actions of one episode, for a plot. The predictions are those for the last action
// in each chunk. Pass its Add as visit to [Policy.Evaluate].
type Trace struct {
	config   *Config
	episode  int
	ticks    int
	times    []int64 // the times of the recorded actions
	recorded []float64
	ahead    []int64 // the times of the predicted actions
	made     []float64
	held     []float64 // the last action known at each prediction
	fitted   []int64   // the times of the ridge's predictions
	ridge    []float64
}

// NewTrace returns an empty Trace for an episode, by its number in the dataset.
func NewTrace(c *Config, episode int) *Trace {
	return &Trace{config: c, episode: episode, ticks: c.Recipe.Chunk}
}

// Add collects a window and its chunk if they belong to the episode.
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

// Ridge calls the function [Ridge] and also collects its predictions for the episode, which must be a held-out one.
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

// after returns the duration of the given number of ticks, ns.
func (t *Trace) after(ticks int) int64 { return int64(math.Round(float64(ticks) * 1e9 / t.config.Hz)) }

// Seconds returns how long before its time an action was predicted: Recipe.Chunk ticks. The newest action known at that moment is
// one tick older than the anchor.
func (t *Trace) Seconds() float64 { return float64(t.ticks) / t.config.Hz }

// Moving returns the indices of the action columns that move most, in ascending order. The argument most limits their number.
// Movement is the recorded standard deviation in the episode, divided by the column's Std.
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

// Streams returns the collected actions as streams with these names: "recorded"; "predicted 1 s before", with the time from
// Seconds; "holding the last action", which repeats the newest action known at the prediction; and "a ridge" after a call to
// Ridge.
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
