package dataset

import (
	"errors"
	"fmt"
	"math"
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

// CheckInputs returns an *OptionError if episodes of several datasets are selected, because each dataset has its own numbers.
func (s Selection) CheckInputs(n int) error {
	arg := "Episodes"
	if s.Take == nil {
		arg = "LeaveOut"
	}
	if n < 2 || s.IsZero() {
		return nil
	}
	return &OptionError{arg, fmt.Sprintf("a selection for %d datasets", n), "one dataset: each numbers its own episodes"}
}

// Of returns the selected ones of a dataset's numbers, which ascend. If an end of a range is none of them, a number is named
// twice, or all are left out, the error is an *OptionError of the argument Episodes or LeaveOut.
func (s *Selection) Of(all []int) ([]int, error) {
	take, err := s.Take.in(all, "Episodes")
	if err != nil {
		return nil, err
	}
	leave, err := s.Leave.in(all, "LeaveOut")
	if err != nil {
		return nil, err
	}
	list, left := []int{}, 0 // nil would be all in a loader's options
	for i, n := range all {
		switch {
		case s.Take != nil && !take[i]:
		case leave[i]:
			left++
		default:
			list = append(list, n)
		}
	}
	if len(list) == 0 && left > 0 {
		return nil, &OptionError{"LeaveOut", fmt.Sprintf("all %d episodes", left), "at least one that stays"}
	}
	return list, nil
}

// in reports for each of a dataset's numbers whether a range has it.
func (r Ranges) in(all []int, arg string) ([]bool, error) {
	has, last := make([]bool, len(all)), math.MinInt
	for _, one := range slices.SortedFunc(slices.Values(r), func(a, b [2]int) int { return a[0] - b[0] }) {
		if one[0] <= last {
			return nil, &OptionError{arg, fmt.Sprintf("%d twice", one[0]), "each episode once"}
		}
		for _, last = range one {
			if _, there := slices.BinarySearch(all, last); !there {
				return nil, &OptionError{arg, strconv.Itoa(last), numbersWanted(all)}
			}
		}
		for i, _ := slices.BinarySearch(all, one[0]); i < len(all) && all[i] <= last; i++ {
			has[i] = true
		}
	}
	return has, nil
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

// RangesOf returns a range for each number, so that a Selection requires all of them; nil for nil.
func RangesOf(numbers []int) (r Ranges) {
	if numbers != nil {
		r = Ranges{}
	}
	for _, n := range numbers {
		r = append(r, [2]int{n, n})
	}
	return r
}

// String returns the ranges as [ParseRanges] reads them. Ranges that continue each other are one.
func (r Ranges) String() string {
	var list []string
	for i := 0; i < len(r); i++ {
		first, text := r[i][0], strconv.Itoa(r[i][0])
		for i+1 < len(r) && r[i+1][0] == r[i][1]+1 {
			i++
		}
		if r[i][1] > first {
			text += "-" + strconv.Itoa(r[i][1])
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
