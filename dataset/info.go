package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Info has the declarations of a dataset.
type Info struct {
	Version string // of the format that the data is in; empty where formats have none
	// Rate is the number of steps a second, Hz, if the format has no timestamps; 0 if it has, or if the rate is unknown. RateFrom is the
	// source of Rate: "file", "known datasets" or "caller".
	Rate       float64
	RateFrom   string
	Declared   float64           // the rate in the files, which Rate may replace; 0 if they have none
	Clock      string            // the source of the timestamps, if a format has several: "frame_index"; empty if there is no choice
	Clocks     []string          // valid values of Options.Clock, the default first; nil if there is no choice
	Features   []Feature         // declared streams and media of each episode, in the dataset's order; nil if the format declares none
	Tasks      []string          // the instructions of the episodes, if the dataset has a list of them
	Frames     int               // rows or steps over all episodes, as declared or quickly counted; 0 if unknown
	Splits     []Split           // its parts, such as "train" and "valid"
	Attributes map[string]string // other values by the file's names
	Notes      Notes             // declarations that the data does not meet, and other facts
}

// Feature is the declaration of a stream or a media stream.
type Feature struct {
	Name  string
	DType string   // by the dataset's own name: "float32", "video"
	Shape []int    // of one sample
	Names []string // of the columns; nil where there are none
	Media bool     `json:",omitempty"` // it is a media stream: the frames of a camera
	// Of a camera's video: pixels, and frames a second; 0 where nothing is declared. Encoding is by the name that Media has, empty where none is.
	Width, Height int
	Rate          float64
	Encoding      string
}

// DeclaresMedia reports whether name is a media stream as the dataset declares it. Formats that declare nothing have media all the same.
func (i *Info) DeclaresMedia(name string) bool {
	return slices.ContainsFunc(i.Features, func(f Feature) bool { return f.Media && f.Name == name })
}

// ChooseRate sets Rate and RateFrom. The caller's rate goes first, then the rate of the file, then that of known datasets; 0 is no rate.
// A caller's rate that cannot be is an *OptionError.
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

// IsRate reports whether there can be so many steps a second: from 1e-6 to 1e9.
func IsRate(rate float64) bool { return rate >= 1e-6 && rate <= 1e9 }

// StepTimes returns the timestamps of n steps, ns: round(i*1e9/rate). Rate 0 is for steps of which nobody says how many a second there are: a second
// each. What int64 nanoseconds do not hold is an *OptionError.
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

// StepTimesOf returns the timestamps of these steps, from 0 on, as StepTimes has them: of an episode that lacks some.
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

// OptionError is an option that cannot be: a field of a struct of options, an input or an output, of this package or of one that draws, packs or
// converts datasets. Arg is its name there, such as "Clock" or "Cameras[0]". A program that has another name for it, such as a flag, writes its own
// message from the three fields. It is ErrOption.
type OptionError struct{ Arg, Got, Want string }

func (e *OptionError) Error() string {
	return fmt.Sprintf("option %s: got %s, want %s", e.Arg, e.Got, e.Want)
}

// Unwrap returns ErrOption.
func (e *OptionError) Unwrap() error { return ErrOption }

// Split is a part of a dataset. Parts may share episodes.
type Split struct {
	Name     string
	Episodes []int // as Dataset.Episode takes them
}

// Problems returns the notes of problems and damage of the dataset as a whole, without those that Absent sums up.
func (i *Info) Problems() Notes {
	return slices.DeleteFunc(i.Notes.Of(ClassProblem, ClassDamage), func(n Note) bool { return n.Code == CodeEpisodesAbsent })
}

// Absent returns a note of the declared episodes that are not there, with the sums over the datasets of a folder, or nil if all are there.
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
