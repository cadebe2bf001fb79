package dataset

import (
	"context"
	"slices"
)

// Subset is a dataset with some episodes of another dataset.
type Subset struct {
	Dataset
	Places []int // the episodes' indices in the whole dataset
}

// Len returns the number of episodes in the subset.
func (s Subset) Len() int { return len(s.Places) }

// Info returns the description of the whole dataset, with the numbers and the splits of these episodes.
func (s Subset) Info() Info {
	info := s.Dataset.Info()
	whole := info
	info.SetNumbers(len(s.Places), func(i int) int { return whole.Number(s.Places[i]) })
	info.Frames, info.Splits = 0, slices.Clone(info.Splits)
	for i, split := range whole.Splits {
		info.Splits[i].Episodes = []int{}
		for _, e := range split.Episodes {
			if place, found := slices.BinarySearch(s.Places, e); found {
				info.Splits[i].Episodes = append(info.Splits[i].Episodes, place)
			}
		}
	}
	return info
}

// Episode reads the episode of the whole dataset at Places[i].
func (s Subset) Episode(ctx context.Context, i int) (*Episode, error) {
	return s.Dataset.Episode(ctx, s.Places[i])
}

// Weights returns the weights of these episodes in the whole dataset, or 1 for each if it has none: see [Weigher].
func (s Subset) Weights() []int64 {
	list := slices.Repeat([]int64{1}, len(s.Places))
	if w, ok := s.Dataset.(Weigher); ok {
		all := w.Weights()
		for i, place := range s.Places {
			list[i] = all[place]
		}
	}
	return list
}

// Whole returns the dataset that a Subset is of, and any other dataset as it is.
func Whole(d Dataset) Dataset {
	if s, is := d.(Subset); is {
		return Whole(s.Dataset)
	}
	return d
}

// Recorded returns the dataset that d adds streams to, if d has a method Recorded, and else d. Its episodes have the same media streams.
func Recorded(d Dataset) Dataset {
	if s, is := d.(interface{ Recorded() Dataset }); is {
		return s.Recorded()
	}
	return d
}

// Selected returns the numbers of a Subset's episodes, and nil for a dataset that is none.
func Selected(d Dataset) Ranges {
	s, is := d.(Subset)
	if !is {
		return nil
	}
	info := s.Info()
	return RangesOf(info.numbers(s.Len()))
}

// numbers returns the numbers of all n episodes, ascending.
func (i *Info) numbers(n int) []int {
	list := make([]int, n)
	for k := range list {
		list[k] = i.Number(k)
	}
	return list
}

// Select returns the selected episodes of a dataset, or the dataset itself if all are selected. If the dataset lacks a selected
// episode, or all are left out, the error is an *OptionError.
func Select(d Dataset, s Selection) (Dataset, error) {
	info := d.Info()
	all := info.numbers(d.Len())
	if whole, ok := d.(interface{ Numbers() []int }); ok { // a store, which may have skipped some
		all = whole.Numbers()
	}
	numbers, err := s.Of(all)
	if err != nil {
		return nil, err
	}
	some := Subset{Dataset: d}
	for _, n := range numbers {
		if place := info.Place(n, d.Len()); place >= 0 {
			some.Places = append(some.Places, place)
		}
	}
	switch {
	case some.Len() == 0 && len(numbers) > 0:
		return nil, &OptionError{"Episodes", RangesOf(numbers).String(), "an episode that could be read"}
	case some.Len() == d.Len():
		return d, nil
	}
	return some, nil
}
