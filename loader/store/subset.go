package store

import (
	"context"
	"fmt"

	"github.com/robocache/robocache/dataset"
)

// Subset is a dataset with some episodes of another dataset.
type Subset struct {
	dataset.Dataset
	Places []int // the episodes' indices in the whole dataset
}

// Len returns the number of episodes in the subset.
func (s Subset) Len() int { return len(s.Places) }

// Info returns the description of the whole dataset, with the numbers of these episodes.
func (s Subset) Info() dataset.Info {
	info := s.Dataset.Info()
	whole := info
	info.SetNumbers(len(s.Places), func(i int) int { return whole.Number(s.Places[i]) })
	return info
}

// Episode reads the episode of the whole dataset at Places[i].
func (s Subset) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	return s.Dataset.Episode(ctx, s.Places[i])
}

// NewSubset returns a dataset with the episodes that have the given numbers, in ascending order. nil selects all episodes.
func NewSubset(d dataset.Dataset, numbers []int) (Subset, error) {
	if numbers == nil {
		all := make([]int, d.Len())
		for i := range all {
			all[i] = i
		}
		return Subset{d, all}, nil
	}
	info, places := d.Info(), make([]int, len(numbers))
	for i, n := range numbers {
		places[i] = info.Place(n, d.Len())
	}
	return Subset{d, places}, checkNumbers(numbers, d.Len(), func(n int) bool { return info.Place(n, d.Len()) >= 0 })
}

// checkNumbers returns a *dataset.OptionError unless the numbers ascend and are there. of is the dataset's number of episodes.
func checkNumbers(numbers []int, of int, there func(n int) bool) error {
	for i, n := range numbers {
		switch {
		case !there(n):
			return refuse("Episodes", fmt.Sprint(n), fmt.Sprintf("numbers for the dataset's %d episodes", of))
		case i > 0 && n <= numbers[i-1]:
			return refuse("Episodes", fmt.Sprintf("%d after %d", n, numbers[i-1]), "numbers that ascend")
		}
	}
	return nil
}
