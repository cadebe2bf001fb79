package write

import (
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/lerobot/internal/layout"
	"github.com/robocache/robocache/internal/parquet"
)

// addLists adds the language columns that the dataset's first episode has. An episode without such a column gets empty lists.
func (p *episodePlan) addLists(next *planner, e *dataset.Episode) {
	p.lists = map[string]*parquet.Lists{}
	for name, all := range next.lists {
		empty := *all
		empty.Rows = slices.Repeat([]parquet.ListRow{all.Join()}, p.rows)
		p.lists[name] = &empty
	}
	for _, s := range e.Lists {
		if next.opt.Version == layout.Version21 {
			p.left = append(p.left, s.Name)
			continue
		}
		if l, ok := s.Rows.(*parquet.Lists); ok && (next.features == nil || p.lists[s.Name] != nil) {
			p.lists[s.Name] = p.onClock(s, l)
		} else {
			p.notes.Add(dataset.Note{Code: dataset.CodeNotInFirst, Subject: s.Name, Count: len(s.Times)})
		}
	}
}

// onClock moves lists to the episode's rows. After resampling, their times differ: language_persistent has its value
// at or before each row, and an event goes to the first row at or after it. Values and events without a row get a note.
func (p *episodePlan) onClock(s dataset.ListStream, from *parquet.Lists) *parquet.Lists {
	if slices.Equal(s.Times, p.times) {
		return from
	}
	note := func(code dataset.Code) { p.notes.Add(dataset.Note{Code: code, Subject: s.Name, Count: 1}) }
	l := *from
	l.Rows = make([]parquet.ListRow, p.rows)
	if s.Name != layout.Language[0] {
		events, i := make([][]int, p.rows), 0
		for k, t := range s.Times {
			for i < p.rows && p.times[i] < t-layout.Tolerance {
				i++
			}
			switch {
			case !from.HasElements(k):
			case i == p.rows:
				note(dataset.CodeAfterClock)
			default:
				if events[i] = append(events[i], k); p.times[i] > t+layout.Tolerance {
					note(dataset.CodeEventsMoved)
				}
			}
		}
		for i, rows := range events {
			l.Rows[i] = from.Join(rows...)
		}
		return &l
	}
	if before := p.start - s.Times[0]; before > layout.Tolerance {
		p.notes.Add(dataset.Note{Code: dataset.CodeListTimes, Subject: s.Name, Count: p.rows, Detail: dataset.Detail{Got: fmt.Sprint(float64(before) / 1e9)}})
	}
	used, k := make([]bool, len(s.Times)), 0
	for i, t := range p.times {
		for k+1 < len(s.Times) && s.Times[k+1] <= t+layout.Tolerance {
			k++
		}
		l.Rows[i], used[k] = from.Rows[k], true
	}
	for first, end := 0, 0; first < len(used); first = end { // rows with the same value
		for end++; end < len(used) && from.Repeats(end); end++ {
		}
		if !slices.Contains(used[first:end], true) {
			note(dataset.CodeBetweenTicks)
		}
	}
	return &l
}
