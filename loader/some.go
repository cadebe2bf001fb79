package loader

import (
	"context"
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
)

// some is a dataset of some of the episodes of another, by their numbers.
type some struct {
	dataset.Dataset
	numbers []int
}

func (s some) Len() int { return len(s.numbers) }

func (s some) Episode(ctx context.Context, i int) (*dataset.Episode, error) {
	return s.Dataset.Episode(ctx, s.numbers[i])
}

// someOf returns the episodes of a dataset with such numbers, ascending, all of them for nil.
func someOf(d dataset.Dataset, numbers []int) (some, error) {
	if numbers == nil {
		all := make([]int, d.Len())
		for i := range all {
			all[i] = i
		}
		return some{d, all}, nil
	}
	return some{d, numbers}, checkNumbers(numbers, d.Len(), func(n int) bool { return n >= 0 && n < d.Len() })
}

// checkNumbers checks numbers of episodes, of which a dataset has so many.
func checkNumbers(numbers []int, of int, there func(n int) bool) error {
	for i, n := range numbers {
		switch {
		case !there(n):
			return refuse("Episodes", fmt.Sprint(n), fmt.Sprintf("numbers of the %d episodes of the dataset", of))
		case i > 0 && n <= numbers[i-1]:
			return refuse("Episodes", fmt.Sprintf("%d after %d", n, numbers[i-1]), "numbers that ascend")
		}
	}
	return nil
}

// checkEpisodes checks the numbers that are asked for of a store.
func (s *Store) checkEpisodes(numbers []int) error {
	there := make(map[int]bool, len(s.Episodes)+len(s.Skipped))
	for i := range s.Episodes {
		there[s.Episodes[i].Number] = true
	}
	for _, n := range s.Skipped {
		i, _ := n.Row.Index()
		there[i] = true
	}
	return checkNumbers(numbers, len(there), func(n int) bool { return there[n] })
}

// wants reports whether an episode is one of those that are asked for.
func (c *chosen) wants(i int) bool {
	store, number := c.from.place(i)
	if store >= len(c.opt.Episodes) || c.opt.Episodes[store] == nil {
		return true
	}
	_, found := slices.BinarySearch(c.opt.Episodes[store], number)
	return found
}

func (s *Store) place(i int) (store, number int) { return 0, s.Episodes[i].Number }

func (s stores) place(i int) (store, number int) {
	for k, o := range s {
		if i < o.Len() {
			return k, o.Episodes[i].Number
		}
		i -= o.Len()
	}
	return len(s), i
}

func (u *unpacked) place(i int) (store, number int) { return 0, u.number(i) }
