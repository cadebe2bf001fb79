package policy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/loader/store"
	"github.com/robocache/robocache/ops"
)

// episodes sets Trained: the selected episodes that pass the plan's filter and are not held out. HoldOut ignores the filter.
func (c *Config) episodes(from *store.Store, o *Options, f dataset.Filter) error {
	all := from.Numbers()
	some, err := o.Episodes.Of(all)
	if err != nil {
		return err
	}
	for i, n := range o.HoldOut {
		err := there(from, "HoldOut", n)
		switch {
		case slices.Contains(o.HoldOut[:i], n):
			return refuse("HoldOut", fmt.Sprintf("%d twice", n), "each episode once")
		case err != nil:
			return err
		case o.Episodes.Leave.Has(n):
			return refuse("LeaveOut", fmt.Sprintf("%d, which is held out", n), "other episodes' numbers")
		case !slices.Contains(some, n):
			return refuse("HoldOut", fmt.Sprintf("%d, which is not selected", n), "one of "+o.Episodes.Take.String())
		}
	}
	var others []*store.Episode
	for i := range from.Episodes {
		e := &from.Episodes[i]
		if _, selected := slices.BinarySearch(some, e.Number); !selected || slices.Contains(o.HoldOut, e.Number) {
			continue
		}
		if others = append(others, e); e.Passes(&f) {
			c.Trained = append(c.Trained, e.Number)
		}
	}
	c.Filtered = len(others) - len(c.Trained)
	switch {
	case len(others) == 0:
		return refuse("HoldOut", fmt.Sprintf("all %d episodes, or left out", len(from.Episodes)), "at least one that is trained on")
	case len(c.Trained) == 0:
		return loader.PassesNone(f, others)
	}
	c.HoldOut = append(c.HoldOut, o.HoldOut...)
	slices.Sort(c.HoldOut)
	for _, n := range all {
		if o.Episodes.Leave.Has(n) {
			c.LeaveOut = append(c.LeaveOut, n)
		}
	}
	return nil
}

// there returns an *OptionError if the store has no episode with a number.
func there(store *store.Store, option string, n int) error {
	numbers := []int{}
	for i := range store.Episodes {
		numbers = append(numbers, store.Episodes[i].Number)
	}
	if slices.Contains(numbers, n) {
		return nil
	}
	if k := slices.IndexFunc(store.Skipped, func(s dataset.Note) bool { return s.Row == dataset.At(n) }); k >= 0 {
		return refuse(option, fmt.Sprintf("%d, which could not be read: %v", n, store.Skipped[k].Cause), "an episode's number that can")
	}
	return refuse(option, strconv.Itoa(n), fmt.Sprintf("an episode number, %d to %d", slices.Min(numbers), slices.Max(numbers)))
}

// enough returns a loader for the episodes that have at least one window, and removes the others from the list and adds them to LeftOut.
// If none is left, the error is an *EpisodeError, or errShorter if the chunk was reduced and the caller must try again.
func (c *Config) enough(ctx context.Context, device *ops.Device, store *store.Store, episodes *[]int) (*loader.Loader, error) {
	l, err := c.loader(ctx, device, store, *episodes)
	if err != nil {
		return nil, err
	}
	r := &c.Recipe
	least := r.History + r.Chunk
	want := fmt.Sprintf("%d or more: %d for states and %d for predictions, as a plan's windows can set", least, r.History, r.Chunk)
	var short []int
	var longest EpisodeError
	most, all := -1, l.Report().Episodes
	lengths := make([]int, all)
	for e := range all {
		n := l.Windows(int64(e))
		lengths[e] = n
		if n >= least {
			continue
		}
		name, number := l.Known(int64(e))
		got := fmt.Sprintf("%d ticks of %g Hz", n, c.Hz)
		short = append(short, number)
		c.LeftOut = append(c.LeftOut, dataset.Note{Code: dataset.CodeEpisodeShort, Subject: name, Count: n, Detail: dataset.Detail{Got: got, Want: want}})
		if n > most {
			most, longest = n, EpisodeError{name, got, want}
		}
	}
	if len(short) == 0 {
		return l, nil
	}
	if err := l.Close(); err != nil {
		return nil, err
	}
	if len(short) == all {
		if c.shorten(lengths) {
			return nil, errShorter
		}
		if all > 1 {
			longest.Got += fmt.Sprintf(", the most that one of %d episodes has", all)
		}
		return nil, &longest
	}
	*episodes = slices.DeleteFunc(*episodes, func(n int) bool { return slices.Contains(short, n) })
	return c.loader(ctx, device, store, *episodes)
}

// errShorter means that shorten has reduced the chunk.
var errShorter = errors.New("policy: a shorter chunk")

// shorten reduces the chunk so that nine in ten episodes, or the longest, have a window, and reports if it could. A plan's chunk stays.
func (c *Config) shorten(lengths []int) bool {
	r := &c.Recipe
	slices.Sort(lengths)
	for _, n := range []int{lengths[len(lengths)/10], lengths[len(lengths)-1]} {
		if chunk := n - r.History; !c.chunked && chunk > 0 && chunk < r.Chunk {
			c.Choices = dataset.Notes{{Code: dataset.CodeChunkShort, Subject: c.Action.Name, Count: chunk, Detail: dataset.Detail{Of: recipes[r.Size].Chunk, Got: strconv.Itoa(n)}}}
			r.Chunk, r.Execute = chunk, min(r.Execute, chunk)
			return true
		}
	}
	return false
}
