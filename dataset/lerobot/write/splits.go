package write

import (
	"fmt"
	"slices"

	"github.com/robocache/robocache/internal/orderjson"
)

// part is a split, with its range of episodes.
type part struct {
	name           string
	from, to, size int
}

// parts holds a dataset's splits.
type parts []part

// add records an episode's splits.
func (l *parts) add(episode int, names []string) {
	for _, name := range names {
		at := slices.IndexFunc(*l, func(p part) bool { return p.name == name })
		if at < 0 {
			at, *l = len(*l), append(*l, part{name: name, from: episode})
		}
		(*l)[at].to = episode + 1
		(*l)[at].size++
	}
}

// info returns the splits for info.json.
func (l parts) info(episodes int) orderjson.Object {
	if len(l) == 0 {
		return orderjson.Of("train", fmt.Sprintf("0:%d", episodes))
	}
	list := orderjson.Object{}
	for _, p := range l {
		if p.size == p.to-p.from {
			list.Add(p.name, fmt.Sprintf("%d:%d", p.from, p.to))
		}
	}
	return list
}
