package dataset

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Info contains a dataset's declarations.
type Info struct {
	Version string // the version of the dataset's format; empty if the format has none
	// Rate is the number of steps a second, Hz, if the format has no timestamps; 0 if it has them, or if the rate is unknown.
	// RateFrom is the source of Rate: "file", "known datasets" or "caller".
	Rate       float64
	RateFrom   string
	Declared   float64           // the rate in the files, which Rate may replace; 0 if they have none
	Clock      string            // the source of the timestamps, if a format has several: "frame_index"; empty if there is no choice
	Clocks     []string          // valid values of Options.Clock, the default first; nil if there is no choice
	Features   []Feature         // declared streams and media of each episode, in the dataset's order; nil if the format declares none
	Facts      []Feature         // declared values of whole episodes, in Attributes.Other; nil if the format declares none
	Tasks      []string          // the instructions for the episodes, if the dataset lists them
	Frames     int               // rows or steps in all episodes, as declared or quickly counted; 0 if unknown
	Numbers    []int             // the dataset's own episode numbers, ascending; nil if they are 0, 1, 2 and so on
	Splits     []Split           // parts such as "train" and "valid"
	Attributes map[string]string // other values by their names in the file
	Notes      Notes             // declarations that the data contradicts, and other facts
}

// Feature is the declaration of a stream or a media stream.
type Feature struct {
	Name  string
	DType string   // the dataset's own type name: "float32", "video"
	Shape []int    // the shape of one sample
	Names []string // column names; nil if none are declared
	Media bool     `json:",omitempty"` // true for a media stream: the frames of a camera
	// Width, Height (pixels), Rate (frames a second) and Encoding (as in Media) describe a camera's video; 0 or empty if not
	// declared.
	Width, Height int
	Rate          float64
	Encoding      string
}

// Clone returns a copy that shares no list and no map with i.
func (i Info) Clone() Info {
	i.Clocks, i.Features, i.Facts, i.Tasks, i.Numbers = slices.Clone(i.Clocks), slices.Clone(i.Features), slices.Clone(i.Facts), slices.Clone(i.Tasks), slices.Clone(i.Numbers)
	i.Splits, i.Attributes, i.Notes = slices.Clone(i.Splits), maps.Clone(i.Attributes), slices.Clone(i.Notes)
	return i
}

// SetNumbers sets Numbers for n episodes, where of returns an episode's number by its index.
func (i *Info) SetNumbers(n int, of func(place int) int) {
	list, gaps := make([]int, n), false
	for k := range list {
		list[k] = of(k)
		gaps = gaps || list[k] != k
	}
	if i.Numbers = nil; gaps {
		i.Numbers = list
	}
}

// Number returns the dataset's own number for the episode with an index, because Dataset.Episode takes indices. Example: with the
// episodes 1, 2 and 4, Number(2) is 4.
func (i *Info) Number(place int) int {
	if place >= 0 && place < len(i.Numbers) {
		return i.Numbers[place]
	}
	return place
}

// Place returns the index of the episode with the dataset's own number, where the dataset has n episodes; -1 if there is none.
func (i *Info) Place(number, n int) int {
	place, found := number, number >= 0 && number < n
	if i.Numbers != nil {
		place, found = slices.BinarySearch(i.Numbers, number)
	}
	if !found {
		return -1
	}
	return place
}

// NumbersText returns the numbers of n episodes as text. Examples: "0 to 5", "1 to 7, without some".
func (i *Info) NumbersText(n int) string {
	if n == 0 {
		return "none"
	}
	s := fmt.Sprintf("%d to %d", i.Number(0), i.Number(n-1))
	if i.Number(n-1)-i.Number(0) >= n {
		s += ", without some"
	}
	return s
}

// DeclaresMedia reports whether the dataset declares a media stream with a name. Formats without declarations return false even for
// media that episodes have.
func (i *Info) DeclaresMedia(name string) bool {
	return slices.ContainsFunc(i.Features, func(f Feature) bool { return f.Media && f.Name == name })
}

// ChooseRate sets Rate and RateFrom to the first valid rate: the caller's, the file's, or the rate of a known dataset. 0 means no
// rate. If the caller's rate is invalid, the error is an *OptionError.
func (i *Info) ChooseRate(caller, file, known float64) error {
	if caller != 0 && !IsRate(caller) {
		return &OptionError{"Rate", strconv.FormatFloat(caller, 'g', -1, 64), "steps a second from 1e-6 to 1e9, or 0"}
	}
	if IsRate(file) {
		i.Declared = file
	}
	for _, r := range []struct {
		rate float64
		from string
	}{{caller, "caller"}, {file, "file"}, {known, "known datasets"}} {
		if IsRate(r.rate) {
			i.Rate, i.RateFrom = r.rate, r.from
			return nil
		}
	}
	i.Rate, i.RateFrom = 0, ""
	return nil
}

// IsRate reports whether a rate is plausible: from 1e-6 to 1e9 steps a second.
func IsRate(rate float64) bool { return rate >= 1e-6 && rate <= 1e9 }

// StepTimes returns the timestamps for n steps, ns: round(i*1e9/rate). Rate 0 means an unknown rate and gives one step a second. If
// a time exceeds 2^62 ns, the error is an *OptionError.
func StepTimes(n int, rate float64) ([]int64, error) {
	if _, err := stepTime(n, rate); err != nil {
		return nil, err
	}
	times := make([]int64, n)
	for i := range times {
		times[i] = int64(math.Round(exactTime(i, rate)))
	}
	return times, nil
}

// StepTimesOf returns the timestamps for a list of step numbers, which count from 0, by the formula of StepTimes. It is for an
// episode that lacks some steps.
func StepTimesOf(steps []int, rate float64) ([]int64, error) {
	times := make([]int64, len(steps))
	for i, step := range steps {
		var err error
		if times[i], err = stepTime(step, rate); err != nil {
			return nil, err
		}
	}
	return times, nil
}

// exactTime is the time of a step before it is rounded.
func exactTime(step int, rate float64) float64 {
	if rate == 0 {
		rate = 1
	}
	return float64(step) * 1e9 / rate
}

func stepTime(step int, rate float64) (int64, error) {
	at := exactTime(step, rate)
	if at >= 1<<62 {
		return 0, &OptionError{"Rate", strconv.FormatFloat(rate, 'g', -1, 64), fmt.Sprintf("more: %d steps take more than 146 years", step)}
	}
	return int64(math.Round(at)), nil
}

// OptionError reports an invalid option: a field in an options struct, an input or an output. This package returns it, and also the
// packages that draw, pack or convert datasets. Arg is the field's name, such as "Clock" or "Cameras[0]". A program with another
// name for it, such as a flag, writes its own message from the three fields. errors.Is(err, ErrOption) is true.
type OptionError struct{ Arg, Got, Want string }

func (e *OptionError) Error() string {
	return fmt.Sprintf("option %s: got %s, want %s", e.Arg, e.Got, e.Want)
}

// Unwrap returns ErrOption.
func (e *OptionError) Unwrap() error { return ErrOption }

// Split is a part of a dataset. Parts may share episodes.
type Split struct {
	Name     string
	Episodes []int // indices for Dataset.Episode
}

// Problems returns the notes about problems and damage in the whole dataset, without those that Absent adds up.
func (i *Info) Problems() Notes {
	return slices.DeleteFunc(i.Notes.Of(ClassProblem, ClassDamage), func(n Note) bool { return n.Code == CodeEpisodesAbsent })
}

// Absent returns one note about missing declared episodes, with the sums over all datasets in a folder, or nil if none is missing.
func (i *Info) Absent() (sum *Note) {
	for _, n := range i.Notes {
		switch {
		case n.Code != CodeEpisodesAbsent:
		case sum == nil:
			sum = &Note{Code: n.Code, Count: n.Count, Detail: Detail{Of: n.Of, Cause: n.Cause}}
		default:
			sum.Count, sum.Of = sum.Count+n.Count, sum.Of+n.Of
		}
	}
	return sum
}
