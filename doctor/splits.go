package doctor

import (
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/text"
)

// heldOut are words in the names of splits for evaluation.
var heldOut = []string{"val", "valid", "validation", "test", "eval", "evaluation", "holdout", "heldout"}

// overlaps returns the findings about splits for training that share episodes with splits for evaluation.
func overlaps(splits []dataset.Split, path string) (list []Finding) {
	called := func(s *dataset.Split, words ...string) bool {
		return slices.ContainsFunc(tokens(s.Name), func(word string) bool { return slices.Contains(words, word) })
	}
	for i := range splits {
		train := &splits[i]
		if !called(train, "train", "training") {
			continue
		}
		in := make(map[int]bool, len(train.Episodes))
		for _, n := range train.Episodes {
			in[n] = true
		}
		for j := range splits {
			held := &splits[j]
			if i == j || !called(held, heldOut...) {
				continue
			}
			shared := slices.DeleteFunc(slices.Clone(held.Episodes), func(n int) bool { return !in[n] })
			if len(shared) == 0 {
				continue
			}
			f := newFinding(SplitOverlap, "split "+held.Name, len(shared), fmt.Sprintf("%s of it in split %s too, the first is episode %d",
				text.Count(len(shared), "episode is", "episodes are"), train.Name, slices.Min(shared)))
			f.Path = path
			list = append(list, *f)
		}
	}
	return list
}
