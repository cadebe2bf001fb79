package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/text"
)

// noteFinding is the finding for a note of a reader.
type noteFinding struct {
	kind     Kind
	severity Severity // that of the kind if empty
	what     string   // the remedy; that of the kind if empty
}

// damageKinds has the kinds of findings about damage. Codes that it lacks are Damaged.
var damageKinds = map[dataset.Code]Kind{
	dataset.CodeFrameDrift: VideoDrift, dataset.CodeVideoTimes: VideoDrift,
	dataset.CodeRowWithoutFrame: VideoCount, dataset.CodeFrameWithoutRow: VideoCount, dataset.CodeVideoEmpty: VideoCount, dataset.CodeFrameWithoutArray: VideoCount,
	dataset.CodeFrameIndex: IndexGap, dataset.CodeRowIndex: IndexGap, dataset.CodeEpisodeIndex: IndexGap, dataset.CodeTaskUnlisted: IndexGap,
	dataset.CodeRowLength: Schema, dataset.CodeRowLengths: Schema, dataset.CodeColumnWidth: Schema, dataset.CodeSampleUnlike: Schema,
}

// problemKinds has the kinds of findings about problems. Codes that it lacks are Declaration.
var problemKinds = map[dataset.Code]noteFinding{
	dataset.CodeRateInvalid:       {kind: Declaration, severity: Error, what: "Correct fps in meta/info.json, or read it with --rate: LeRobot divides by it."},
	dataset.CodeStatisticsMissing: {kind: MissingFile, severity: Warning},
	dataset.CodeFileMissing:       {kind: MissingFile}, dataset.CodeFilesMissing: {kind: MissingFile}, dataset.CodeVideoUnlocated: {kind: MissingFile},
	dataset.CodeSplitMissing: {kind: MissingFile, severity: Warning}, dataset.CodeSplitNameMissing: {kind: MissingFile}, // a split may not have been copied
	dataset.CodeUnreadable: {kind: Unreadable}, dataset.CodeLineUnreadable: {kind: Unreadable},
	dataset.CodeNoLineEnd:   {kind: Unended},
	dataset.CodeIndexColumn: {kind: IndexGap}, dataset.CodeEpisodeNumbers: {kind: IndexGap}, dataset.CodeEpisodesAbsent: {kind: IndexGap},
	dataset.CodeEpisodeUnlisted: {kind: IndexGap}, dataset.CodeRowNumber: {kind: IndexGap}, dataset.CodeEpisodeRows: {kind: IndexGap},
	dataset.CodeTaskNumbers: {kind: IndexGap}, dataset.CodeNumberTwice: {kind: IndexGap}, dataset.CodeEpisodeApart: {kind: IndexGap},
	dataset.CodeEpisodeLength: {kind: IndexGap}, dataset.CodeEpisodeFile: {kind: IndexGap},
	dataset.CodeNumberInvalid:   {kind: IndexGap},
	dataset.CodeFileElsewhere:   {kind: MissingFile, what: "Move the files to that path, or correct data_path and chunks_size in meta/info.json: other readers open only that path."},
	dataset.CodeVideoOverlap:    {kind: VideoDrift},
	dataset.CodeTimestampColumn: {kind: FrameTime},
	dataset.CodeColumnMissing:   {kind: Schema, severity: Warning}, // which loaders convert
	dataset.CodeColumnType: {kind: Schema, severity: Warning,
		what: "Write the columns with the declared type, or declare the type that they have: a reader that trusts the declaration fails or loses digits."},
	dataset.CodeColumnNone: {kind: Schema}, dataset.CodeColumnUndeclared: {kind: Schema}, dataset.CodeFileColumns: {kind: Schema},
	dataset.CodeColumnIsVideo: {kind: Schema}, dataset.CodeSliceBeyond: {kind: Schema},
}

// remarkKinds has the kinds of findings for remarks. Choices of a reader that are no fault have none.
var remarkKinds = map[dataset.Code]noteFinding{
	dataset.CodeFrameTimeOwn: {kind: FrameTime}, dataset.CodeFrameTimeSteps: {kind: FrameTime}, dataset.CodeFrameTimeUnsorted: {kind: FrameTime},
	dataset.CodeHeaderTimeZero:  {kind: StrayTime, severity: Warning},
	dataset.CodeHeaderEpoch:     {kind: TimeUnit, severity: Warning, what: "Take the clock with the right times: --clock log, publish or header."},
	dataset.CodeHeaderDrift:     {kind: ClockOffset, what: "Take the log's clock, or correct the headers by a rate: the clock of the sensor or of the recorder is not right."},
	dataset.CodeHeaderLatency:   {kind: ClockOffset, what: "Read it with --clock header, so that a sample has the time when it was measured."},
	dataset.CodeFramesBeforeKey: {kind: Damaged, severity: Warning}, dataset.CodeFramesWithoutKey: {kind: Damaged},
	dataset.CodePublishersAlternate: {kind: Schema, severity: Warning,
		what: "Record each publisher on a topic of its own, or stop one: all samples in one topic are taken for one sensor's."},
	dataset.CodeChunksAbsent: {kind: MissingFile, severity: Warning,
		what: "Copy the files again, unless all numbers in these chunks are the fill value: zarr need not store such chunks."},
	dataset.CodeMessageCount: {kind: Declaration}, dataset.CodeTimeRange: {kind: Declaration},
}

// Remedies for content that was left out.
const (
	asMany = "Write the arrays anew with as many timestamps as samples, and a name for each column, or none: samples and timestamps cannot be matched."
	// NoDecoder is for videos without a decoder on this machine.
	NoDecoder = "Install one of the packages and read it again; the frames are not lost. If a decoder is elsewhere, its path is in " +
		"ROBOCACHE_FFMPEG, ROBOCACHE_LIBDAV1D or ROBOCACHE_LIBNVCUVID. robocache info lists the decoders."
	otherwise = "Write it as rows of numbers [S,D], float or integer, with a timestamp each, or images as JPEG or PNG, if it is to be used; the file is whole."
)

// The codes of content that readers left out, without content that has no numbers by its nature.
var leftOut = map[dataset.Code]noteFinding{
	dataset.CodeUndecodedMessages: {kind: Undecoded},
	dataset.CodeNoDecoder:         {kind: Undecoded, what: otherwise},
	dataset.CodeNoFit:             {kind: Undecoded},
	dataset.CodeUndefinedType:     {kind: Undecoded},
	dataset.CodeUndefinedFields:   {kind: Undecoded},
	dataset.CodeImageFormat:       {kind: Damaged},
	dataset.CodeFramesDiffer:      {kind: Damaged},
	dataset.CodeEmptyImages:       {kind: VideoCount, severity: Warning},
	dataset.CodeMixedImages:       {kind: Undecoded, what: otherwise},
	dataset.CodeNotImages:         {kind: Undecoded, what: otherwise},
	dataset.CodeArrayMismatch:     {kind: Schema, what: asMany},
	dataset.CodeClockMismatch:     {kind: Schema, what: asMany},
	dataset.CodeArrayMissing:      {kind: Schema, severity: Warning, what: asMany},
	dataset.CodeStepCount:         {kind: Schema, severity: Warning, what: asMany},
	dataset.CodeFramesUndecoded:   {kind: Undecoded, severity: Information, what: NoDecoder},
	dataset.CodeUnsupported:       {kind: Undecoded, what: otherwise},
	dataset.CodeValueShape:        {kind: Undecoded, what: otherwise},
}

// noted adds findings for the reader's notes about the episode.
func (x *examiner) noted() {
	for _, n := range x.e.Notes.Damage() {
		kind := cmp.Or(damageKinds[n.Code], Damaged)
		if (kind == VideoDrift || kind == VideoCount) && x.has(Duplicate, BackStep, FPSMismatch, TimeUnit, Float32Clock) {
			continue // the times are wrong: other findings appear after they are corrected
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
			t, ok = noteFinding{kind: Float32Clock}, true
		}
		if ok && !besides(&n) {
			f := findingOf(t.kind, &n)
			f.as(&t)
			x.list = append(x.list, f)
		}
	}
	if n := len(x.e.Dropouts); n > 0 {
		sum, at := int64(0), []dataset.Span{}
		for _, d := range x.e.Dropouts {
			sum += d.Duration
			if x.within(d.Time) {
				at = append(at, dataset.Span{From: d.Time, To: d.Time + d.Duration})
			}
		}
		f := x.add(Dropout, "", n, "the recorder noted that it lost data "+text.Count(n, "time")+", for "+span(sum)+" together")
		f.cover(at...)
	}
	x.empty()
}

// within reports whether a time lies in a clock with several samples. A recorder estimates the time of lost data, and a topic with a
// single sample from another clock misleads it.
func (x *examiner) within(t int64) bool {
	return slices.ContainsFunc(x.clocked, func(c *clock) bool {
		return len(c.times) > 1 && c.times[0] <= t && t <= c.times[len(c.times)-1]
	})
}

// besides reports whether an array has so few or so many rows, compared with the episode's steps, that it is no series, such as a
// camera matrix.
func besides(n *dataset.Note) bool {
	return n.Code == dataset.CodeStepCount && (n.Count < n.Of-n.Of/2 || n.Count/2 > n.Of)
}

// as sets the fields of a finding that its note overrides.
func (f *Finding) as(t *noteFinding) {
	if t.severity != "" {
		f.Severity = t.severity
	}
	if t.what != "" {
		f.WhatToDo = t.what
	}
}

// empty looks for an episode or a stream without samples.
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
	for name, n := range x.e.Lengths() {
		if n == 0 {
			f := x.add(Empty, name, 1, "it has no samples, and other streams of the episode have some")
			f.WhatToDo = "Leave the stream out, or the episode, if it is needed."
		}
	}
}

// has reports whether the episode has a finding of one of these kinds.
func (x *examiner) has(kinds ...Kind) bool {
	return slices.ContainsFunc(x.list, func(f *Finding) bool { return slices.Contains(kinds, f.Kind) })
}

// holds reports whether the episode has any sample, frame or cloud.
func (x *examiner) holds() bool {
	for _, n := range x.e.Lengths() {
		if n > 0 {
			return true
		}
	}
	return false
}

// timeOf returns a list with the time of a row in the episode, ns; nil if it has none.
func (x *examiner) timeOf(row dataset.Row) []int64 {
	if i, ok := row.Index(); ok && len(x.e.Streams) > 0 {
		if times := x.times[x.e.Streams[0].Name]; i < len(times) {
			return times[i : i+1]
		}
	}
	return nil
}

// problem returns the finding about a note of a dataset.
func problem(n *dataset.Note, path string) Finding {
	t, ok := problemKinds[n.Code]
	switch {
	case ok:
	case n.Code.Class() == dataset.ClassDamage:
		t.kind = cmp.Or(damageKinds[n.Code], Damaged)
	case n.Code == dataset.CodeRecordCount && n.Count < n.Of:
		t.kind = Damaged
	default:
		t.kind = Declaration
	}
	f := findingOf(t.kind, n)
	f.Path = path
	f.as(&t)
	return *f
}

// unread returns the finding about an episode that cannot be read.
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
	var back *dataset.SetBackError
	if errors.As(err, &back) {
		f = newFinding(BackStep, back.Subject, back.Stretches-1, err.Error())
		f.At, f.Path, f.Episode = []int64{back.To}, path, number
		f.WhatToDo = "Read each stretch for itself: --stretch 1, --stretch 2 and so on. The clock of the recorder was set, or a simulator was reset; a clock that nobody sets, such as that of the headers (--clock header), keeps the order."
	}
	if collapsed != nil {
		f.Count = collapsed.Samples - collapsed.Distinct + 1
	}
	return *f
}
