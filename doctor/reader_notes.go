package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/text"
)

// told says which kind of finding it is that a reader has noted, by its words. The first that fits counts.
type told struct {
	words    string
	kind     Kind
	severity Severity // that of the kind if empty
	what     string   // to do; what the kind says if empty
}

// damageKinds has the kinds of findings about damage. Codes that it lacks are Damaged.
var damageKinds = map[dataset.Code]Kind{
	dataset.CodeFrameDrift: VideoDrift, dataset.CodeVideoTimes: VideoDrift,
	dataset.CodeRowWithoutFrame: VideoCount, dataset.CodeFrameWithoutRow: VideoCount, dataset.CodeVideoEmpty: VideoCount, dataset.CodeFrameWithoutArray: VideoCount,
	dataset.CodeFrameIndex: IndexGap, dataset.CodeRowIndex: IndexGap, dataset.CodeEpisodeIndex: IndexGap, dataset.CodeTaskUnlisted: IndexGap,
	dataset.CodeRowLength: Schema, dataset.CodeRowLengths: Schema, dataset.CodeColumnWidth: Schema, dataset.CodeSampleUnlike: Schema,
}

// The words of readers, of what a dataset declares and is not so.
var problems = []told{
	{"meta/info.json: fps: ", Declaration, Error, "Correct fps in meta/info.json, or read it with --rate: LeRobot divides by it."},
	{"there are no statistics", MissingFile, Warning, ""},
	{"columns that are missing", Schema, Warning, ""},
	{"cannot be read", Unreadable, "", ""},
	{": missing: ", MissingFile, "", ""},
	{"files that are missing", MissingFile, "", ""},
	{"is not there", MissingFile, "", ""},
	{"videos that cannot be found", MissingFile, "", ""},
	{"index does not count the rows", IndexGap, "", ""},
	{"neither there nor listed", IndexGap, "", ""},
	{"episodes that there is no data of", IndexGap, "", ""},
	{"episodes that there is data of and that are not listed", IndexGap, "", ""},
	{"which LeRobot takes them for", IndexGap, "", ""},
	{"dataset_from_index and dataset_to_index", IndexGap, "", ""},
	{"numbers that are not 0, 1, 2", IndexGap, "", ""},
	{"numbers that come twice", IndexGap, "", ""},
	{"listed twice", IndexGap, "", ""},
	{"whose rows lie apart", IndexGap, "", ""},
	{"lengths that are not those of the data", IndexGap, "", ""},
	{"data files that are not where the data is", IndexGap, "", ""},
	{"whose videos begin before", VideoDrift, "", ""},
	{"timestamps depart from frame_index/fps", FrameTime, "", ""},
	{"has another type than declared", Schema, Warning, ""}, // which loaders convert
	{"has no column", Schema, "", ""},
	{"is not declared", Schema, "", ""},
	{"files whose columns are not those of", Schema, "", ""},
	{"is declared a video", Schema, "", ""},
	{"beyond their feature", Schema, "", ""},
}

// remarkKinds has the kinds of findings about remarks. A choice of a reader that is no fault is not among them.
var remarkKinds = map[dataset.Code]told{
	dataset.CodeFrameTimeOwn: {kind: FrameTime}, dataset.CodeFrameTimeUnsorted: {kind: FrameTime},
	dataset.CodeHeaderTimeZero: {kind: StrayTime, severity: Warning},
	dataset.CodeFramesDiffer:   {kind: Damaged}, dataset.CodeFramesBeforeKey: {kind: Damaged, severity: Warning}, dataset.CodeFramesWithoutKey: {kind: Damaged},
	dataset.CodeMessageCount: {kind: Declaration}, dataset.CodeTimeRange: {kind: Declaration},
}

// What to do about what was left out, of arrays.
const (
	asMany    = "Write the arrays anew with as many timestamps as samples, and a name for each column, or none: it cannot be said which sample belongs to which."
	otherwise = "Write it as rows of numbers [S,D], float or integer, with a timestamp each, or images as JPEG or PNG, if it is to be used; what the file has is whole."
)

// The codes of what readers left out: what has no numbers by its nature is not among them.
var leftOut = map[dataset.Code]told{
	dataset.CodeUndecodedMessages: {kind: Undecoded},
	dataset.CodeNoDecoder:         {kind: Undecoded, what: otherwise},
	dataset.CodeNoFit:             {kind: Undecoded},
	dataset.CodeUndefinedType:     {kind: Undecoded},
	dataset.CodeUndefinedFields:   {kind: Undecoded},
	dataset.CodeImageFormat:       {kind: Damaged},
	dataset.CodeEmptyImages:       {kind: VideoCount, severity: Warning},
	dataset.CodeMixedImages:       {kind: Undecoded, what: otherwise},
	dataset.CodeNotImages:         {kind: Undecoded, what: otherwise},
	dataset.CodeArrayMismatch:     {kind: Schema, what: asMany},
	dataset.CodeClockMismatch:     {kind: Schema, what: asMany},
	dataset.CodeArrayMissing:      {kind: Schema, severity: Warning, what: asMany},
	dataset.CodeStepCount:         {kind: Schema, severity: Warning, what: asMany},
	dataset.CodeUnsupported:       {kind: Undecoded, what: otherwise},
	dataset.CodeValueShape:        {kind: Undecoded, what: otherwise},
}

func tellingOf(list []told, text string) (t told, ok bool) {
	for _, t := range list {
		if strings.Contains(text, t.words) {
			return t, true
		}
	}
	return told{}, false
}

// noted takes what the reader noted of the episode.
func (x *examiner) noted() {
	for _, n := range x.e.Notes.Damage() {
		kind := cmp.Or(damageKinds[n.Code], Damaged)
		if (kind == VideoDrift || kind == VideoCount) && x.has(Duplicate, BackStep, FPSMismatch, TimeUnit, Float32Clock) {
			continue // of rows whose times are wrong; once these are mended, what is left is found
		}
		x.list = append(x.list, findingOf(kind, &n))
		x.list[len(x.list)-1].At = x.timeOf(n.Row)
	}
	for _, n := range x.e.Notes {
		if t, ok := remarkKinds[n.Code]; ok {
			f := findingOf(t.kind, &n)
			f.as(&t)
			x.list = append(x.list, f)
		}
	}
	for _, n := range x.e.Notes.Of(dataset.ClassLeftOut) {
		var collapsed *dataset.CollapsedError
		t, ok := leftOut[n.Code]
		if errors.As(n.Cause, &collapsed) {
			t, ok = told{kind: Float32Clock}, true
		}
		if ok && !besides(&n) {
			f := findingOf(t.kind, &n)
			f.as(&t)
			x.list = append(x.list, f)
		}
	}
	if n := len(x.e.Dropouts); n > 0 {
		sum, at := int64(0), []int64{}
		for _, d := range x.e.Dropouts {
			sum += d.Duration
			at = append(at, d.Time)
		}
		f := x.add(Dropout, "", n, "the recorder noted that it lost data "+text.Count(n, "time", "times")+", for "+span(sum)+" together")
		f.At = firstOf(at)
	}
	x.empty()
}

// besides reports whether an array has so many other rows than the episode has steps that it is no series of it, such as a camera's matrix.
func besides(n *dataset.Note) bool {
	return n.Code == dataset.CodeStepCount && (n.Count < n.Of-n.Of/2 || n.Count/2 > n.Of)
}

// as gives a finding what its telling says beyond its kind.
func (f *Finding) as(t *told) {
	if t.severity != "" {
		f.Severity = t.severity
	}
	if t.what != "" {
		f.WhatToDo = t.what
	}
}

// empty looks for what has no samples: the episode, or one of its streams.
func (x *examiner) empty() {
	if !x.holds() {
		if x.e.Notes.Damage() == nil && !x.has(Schema, Undecoded, Float32Clock) {
			why := "the episode has no samples, frames or clouds"
			if left := x.e.Notes.Of(dataset.ClassLeftOut); len(left) > 0 {
				why += fmt.Sprintf(": %s left out, the first %s: %s", text.Count(len(left), "part is", "parts are"), left[0].Subject, left[0].Reason())
			}
			x.add(Empty, "", 1, why)
		}
		return
	}
	for name, n := range x.lengths() {
		if n == 0 {
			f := x.add(Empty, name, 1, "it has no samples, and other streams of the episode have some")
			f.WhatToDo = "Leave the stream out, or the episode, if it is needed."
		}
	}
}

// has reports whether a finding of one of these kinds was made.
func (x *examiner) has(kinds ...Kind) bool {
	return slices.ContainsFunc(x.list, func(f *Finding) bool { return slices.Contains(kinds, f.Kind) })
}

// holds reports whether the episode has a sample of anything.
func (x *examiner) holds() bool {
	for _, n := range x.lengths() {
		if n > 0 {
			return true
		}
	}
	return false
}

// lengths are how many samples, frames and clouds there are of each stream.
func (x *examiner) lengths() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for i := range x.e.Streams {
			if s := &x.e.Streams[i]; !yield(s.Name, s.Len()) {
				return
			}
		}
		for i := range x.e.Media {
			if m := &x.e.Media[i]; !yield(m.Name, m.Len()) {
				return
			}
		}
		for i := range x.e.Clouds {
			if c := &x.e.Clouds[i]; !yield(c.Name, c.Len()) {
				return
			}
		}
	}
}

// timeOf returns the time of a row of the episode, nil if there is none.
func (x *examiner) timeOf(row dataset.Row) []int64 {
	if i, ok := row.Index(); ok && len(x.e.Streams) > 0 {
		if times := x.times[x.e.Streams[0].Name]; i < len(times) {
			return times[i : i+1]
		}
	}
	return nil
}

// problemKind returns the kind of the finding about a note of a dataset.
func problemKind(n *dataset.Note) Kind {
	switch n.Code {
	case dataset.CodeFileMissing, dataset.CodeFilesMissing, dataset.CodeSplitMissing, dataset.CodeSplitNameMissing:
		return MissingFile
	case dataset.CodeUnreadable:
		return Unreadable
	case dataset.CodeNoLineEnd:
		return Unended
	case dataset.CodeRecordCount:
		if n.Count < n.Of {
			return Damaged
		}
	}
	if n.Code.Class() == dataset.ClassDamage {
		return cmp.Or(damageKinds[n.Code], Damaged)
	}
	return Declaration
}

// problem is the finding of what a dataset declares and is not so.
func problem(p dataset.Problem, path string) Finding {
	t, ok := tellingOf(problems, p.Where+": "+p.What)
	if !ok {
		t = told{kind: Declaration}
	}
	what := p.What
	if !strings.HasPrefix(what, p.Where) {
		what = p.Where + ": " + what
	}
	f := newFinding(t.kind, p.Where, howMany(p.What), what)
	f.Path = path
	f.as(&t)
	return *f
}

var several = regexp.MustCompile(`: (\d+), the first: `)

// howMany returns how often a problem is there, as its words have it.
func howMany(what string) int {
	if m := several.FindStringSubmatch(what); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return max(n, 1)
		}
	}
	return 1
}

// unread is the finding of an episode that cannot be read.
func unread(number int, err error, path string) Finding {
	kind := Unreadable
	var collapsed *dataset.CollapsedError
	if errors.As(err, &collapsed) {
		kind = Float32Clock
	}
	var at *dataset.EpisodeError
	if errors.As(err, &at) {
		err = at.Err
	}
	f := newFinding(kind, "", 1, err.Error())
	f.Path, f.Episode = path, number
	if collapsed != nil {
		f.Count = collapsed.Samples - collapsed.Distinct + 1
	}
	return *f
}
