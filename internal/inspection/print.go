package inspection

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/printed"
	"github.com/robocache/robocache/internal/text"
)

// Print prints the report without its remarks: a heading, tables of streams, media and clouds, and lists of the rest. If columns is set, it
// names every column.
func (f *Report) Print(w io.Writer, columns bool) error {
	f.heading(w)
	many := f.Episodes > 1 && f.Episode == nil
	covers := "range"
	if many {
		covers = "lasts"
	}
	t := text.NewTable(w, 0, covers)
	typed := slices.ContainsFunc(f.Streams, func(s Stream) bool { return s.Type != "" }) || slices.ContainsFunc(f.Media, func(m Media) bool { return m.Type != "" }) ||
		slices.ContainsFunc(f.Clouds, func(c Clouds) bool { return c.Type != "" })
	kind := func(text string) string { // a column of the table, if there are any
		if !typed {
			return ""
		}
		return printed.Text(text) + "\t"
	}
	fmt.Fprintf(t, "stream\tsamples\trate\t%s\tgaps\tdtype\t%scolumns\n", covers, kind("type"))
	in := func(n int) string {
		if many && n < f.Episodes {
			return fmt.Sprintf(" (in %s)", episodes(n))
		}
		return ""
	}
	for i := range f.Streams {
		s := &f.Streams[i]
		rate, covers := s.clock(many)
		fmt.Fprintf(t, "%s\t%d%s\t%s\t%s\t%d\t%s\t%s%s\n", printed.Text(s.Name), s.Samples, in(s.Episodes), rate, covers, s.Gaps, s.DType, kind(s.Type), printed.Text(names(s.Columns, columns)))
	}
	for _, m := range f.Media {
		size := ""
		if m.Width > 0 {
			size = fmt.Sprintf(" %dx%d", m.Width, m.Height)
		}
		switch {
		case m.DepthScale > 0:
			size += fmt.Sprintf(", depth, unit %v m", m.DepthScale)
		case m.Undecoded:
			size += ": frames are read as they are, not decoded"
		}
		fmt.Fprintf(t, "%s\t%d%s\t%s\t\t\t\t%s%s%s\n", printed.Text(m.Name), m.Frames, in(m.Episodes), hertz(m.Rate), kind(m.Type), printed.Text(m.Encoding), size)
	}
	for _, c := range f.Clouds {
		what := fmt.Sprintf("clouds, the first of %s", text.Count(c.Points, "point"))
		if len(c.Columns) > 0 {
			what += " with " + names(c.Columns, columns)
		}
		fmt.Fprintf(t, "%s\t%d%s\t%s\t\t\t\t%s%s\n", printed.Text(c.Name), c.Clouds, in(c.Episodes), hertz(c.Rate), kind(c.Type), printed.Text(what))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, l := range f.Notes.List {
		if l.Note.Code.Class() == dataset.ClassLeftOut {
			fmt.Fprintf(w, "left out: %s%s\n", printed.Text(l.Note.Subject+", "+notetext.Text(l.Note)), in(l.Episodes))
		}
	}
	for i, p := range f.Problems {
		if i == MostRemarks {
			fmt.Fprintf(w, "problem: and %d more, which --json lists\n", len(f.Problems)-i)
			break
		}
		fmt.Fprintf(w, "problem: %s\n", printed.Text(p.Where+": "+p.What))
	}
	if f.Plot != "" {
		fmt.Fprintf(w, "drew %s\n", f.Plot)
	}
	return nil
}

// heading prints the properties of a recording or dataset as a whole.
func (f *Report) heading(w io.Writer) {
	version := ""
	if f.Version != "" {
		version = " " + f.Version
	}
	of := fmt.Sprintf("%s, %s%s", f.Name, f.Format, version)
	if f.Episodes == 1 && f.Episode != nil {
		of = fmt.Sprintf("%s, %s%s", f.Episode.Name, f.Format, version)
	} else if f.Episode != nil {
		of = fmt.Sprintf("%s, episode %d of %d of %s", f.Episode.Name, f.Episode.Number, f.Episodes, of)
	}
	parts := []string{text.Count(len(f.Streams), "stream")}
	if f.Episodes != 1 && f.Episode == nil {
		parts = append([]string{episodes(f.Episodes)}, parts...)
	}
	if f.Frames != nil && f.Episode == nil {
		frames := text.Count(*f.Frames, "frame")
		if f.Longest > 0 && f.Episodes > 1 {
			frames += fmt.Sprintf(" (%s an episode)", span(strconv.Itoa(f.Shortest), strconv.Itoa(f.Longest)))
		}
		parts = append(parts, frames)
	}
	if f.Rate > 0 {
		parts = append(parts, fmt.Sprintf("%v Hz (from %s)", f.Rate, f.RateFrom))
	}
	if f.Clock != "" {
		clock := "clock " + f.Clock
		if others := slices.DeleteFunc(slices.Clone(f.Clocks), func(name string) bool { return name == f.Clock }); len(others) > 0 {
			clock += fmt.Sprintf(" (--clock: also %s)", text.List(others, 7))
		}
		parts = append(parts, clock)
	}
	fmt.Fprintf(w, "%s: %s\n", printed.Text(of), printed.Text(strings.Join(parts, ", ")))
	if len(f.Splits) > 0 {
		list := make([]string, len(f.Splits))
		for i, s := range f.Splits {
			list[i] = fmt.Sprintf("%s %d", s.Name, s.Episodes)
		}
		fmt.Fprintf(w, "splits: %s\n", printed.Text(strings.Join(list, ", ")))
	}
	if len(f.Tasks) > 0 {
		const most = 3
		list := slices.Clone(f.Tasks)
		for i := range list {
			list[i] = fmt.Sprintf("%q", list[i])
		}
		fmt.Fprintf(w, "tasks: %s\n", printed.Text(text.List(list, most)))
	}
}

func hertz(rate float64) string {
	if rate <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f Hz", rate)
}

// span writes a range, or the one value that both ends are.
func span(lo, hi string) string {
	if lo == hi {
		return lo
	}
	return lo + " to " + hi
}

// clock says what a stream's rate is, and what it covers; of many episodes, the rates and how long it lasts in one.
func (s *Stream) clock(many bool) (rate, covers string) {
	seconds := func(ns int64) string { return strconv.FormatFloat(float64(ns)/1e9, 'f', 3, 64) }
	covers, rate = seconds(s.FirstNS)+" to "+seconds(s.LastNS)+" s", hertz(s.Rate)
	if many {
		covers = span(seconds(s.ShortestNS), seconds(s.LongestNS)) + " s"
		if s.Highest > 1.05*s.Lowest {
			rate = fmt.Sprintf("%.1f to %.1f Hz", s.Lowest, s.Highest)
		}
	}
	if s.Samples == 0 {
		covers = "-"
	}
	if s.Duplicates > 0 {
		covers += fmt.Sprintf(", %d timestamps repeat", s.Duplicates)
	}
	if s.BackSteps > 0 {
		covers += fmt.Sprintf(", %d steps back", s.BackSteps)
	}
	return rate, covers
}

// names lists columns: a few, unless all are wanted.
func names(columns []Column, all bool) string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	if !all && len(names) > 4 {
		return fmt.Sprintf("%d: %s, ...", len(names), strings.Join(names[:3], ", "))
	}
	return strings.Join(names, ", ")
}
