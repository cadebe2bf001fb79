package dataset

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Selection selects episodes by their dataset's own numbers, as in Info.Numbers. The zero value selects all.
type Selection struct {
	Take  Ranges // nil takes all
	Leave Ranges // episodes that Take has and that are left out
}

// Ranges are numbers of episodes: the first and the last of each range. Example: 0-9,12 is {{0, 9}, {12, 12}}. A dataset may lack numbers inside a
// range.
type Ranges [][2]int

// IsZero reports whether the Selection selects all.
func (s Selection) IsZero() bool { return s.Take == nil && s.Leave == nil }

// Of returns the selected ones of a dataset's numbers, which ascend. If an end of a range is none of them, or a number is named
// twice, the error is an *OptionError of the argument Episodes or LeaveOut.
func (s *Selection) Of(all []int) ([]int, error) {
	for _, of := range []struct {
		arg  string
		list Ranges
	}{{"Episodes", s.Take}, {"LeaveOut", s.Leave}} {
		last := -1
		for _, r := range slices.SortedFunc(slices.Values(of.list), func(a, b [2]int) int { return a[0] - b[0] }) {
			if r[0] <= last {
				return nil, &OptionError{of.arg, fmt.Sprintf("%d twice", r[0]), "each episode once"}
			}
			last = r[1]
			for _, n := range r {
				if _, there := slices.BinarySearch(all, n); !there {
					return nil, &OptionError{of.arg, strconv.Itoa(n), numbersWanted(all)}
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(n int) bool { return s.Take != nil && !s.Take.Has(n) || s.Leave.Has(n) }), nil
}

func numbersWanted(all []int) string {
	if len(all) == 0 {
		return "none: the dataset has no episode"
	}
	return fmt.Sprintf("numbers for the dataset's %d episodes, %d to %d", len(all), all[0], all[len(all)-1])
}

// Has reports whether a range has the number.
func (r Ranges) Has(n int) bool {
	return slices.ContainsFunc(r, func(one [2]int) bool { return one[0] <= n && n <= one[1] })
}

// RangesOf returns the ranges of numbers; nil for nil.
func RangesOf(numbers []int) (r Ranges) {
	if numbers != nil {
		r = Ranges{}
	}
	for _, n := range numbers {
		if last := len(r) - 1; last >= 0 && r[last][1] == n-1 {
			r[last][1] = n
		} else {
			r = append(r, [2]int{n, n})
		}
	}
	return r
}

// String returns the ranges as [ParseRanges] reads them.
func (r Ranges) String() string {
	var list []string
	for _, one := range r {
		text := strconv.Itoa(one[0])
		if one[1] > one[0] {
			text += "-" + strconv.Itoa(one[1])
		}
		list = append(list, text)
	}
	return strings.Join(list, ",")
}

// ParseRanges reads numbers such as 0-9,12. The error is for a text of another form.
func ParseRanges(text string) (r Ranges, err error) {
	for _, part := range strings.Split(text, ",") {
		from, to, is := strings.Cut(strings.TrimSpace(part), "-")
		if !is {
			to = from
		}
		first, err := strconv.ParseUint(from, 10, 40)
		last, err2 := strconv.ParseUint(to, 10, 40)
		if err != nil || err2 != nil || last < first {
			return nil, errors.New("want the numbers of episodes, such as 3,7 or 0-9,12")
		}
		r = append(r, [2]int{int(first), int(last)})
	}
	return r, nil
}
