package doctor

import (
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
)

// schema compares the columns of streams with those of the first episode that has them.
type schema map[string]*columnsOfFirst

type columnsOfFirst struct {
	columns   []dataset.Column
	episode   int
	others    int // episodes that have other columns
	different string
}

func (s schema) add(e *dataset.Episode, number int) {
	for i := range e.Streams {
		in := &e.Streams[i]
		first := s[in.Name]
		if first == nil {
			s[in.Name] = &columnsOfFirst{columns: in.Columns, episode: number}
			continue
		}
		if dataset.SameColumns(first.columns, in.Columns) {
			continue
		}
		if first.others++; first.others == 1 {
			first.different = fmt.Sprintf("episode %d has %s, and episode %d %s", first.episode, otherThan(first.columns, in.Columns), number,
				otherThan(in.Columns, first.columns))
		}
	}
}

// otherThan says what columns have that others have not.
func otherThan(columns, others []dataset.Column) string {
	if len(columns) != len(others) {
		return count(len(columns), "column", "columns")
	}
	for i, c := range columns {
		if c != others[i] {
			return fmt.Sprintf("as column %d %.40q of type %.40q", i, c.Name, c.Type)
		}
	}
	return "the same"
}

func (s schema) found(path string) (list []Finding) {
	for name, first := range s {
		if first.others == 0 {
			continue
		}
		f := newFinding(Schema, name, first.others, fmt.Sprintf("its columns differ between episodes: %s; %s as the first", first.different,
			count(first.others, "is not", "are not")))
		f.Path, f.Severity = path, Warning
		list = append(list, *f)
	}
	slices.SortFunc(list, func(a, b Finding) int { return dataset.CompareNames(a.Stream, b.Stream) })
	return list
}
