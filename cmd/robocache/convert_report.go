package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/convert"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/printed"
	"github.com/robocache/robocache/internal/text"
)

// converted is the convert report.
type converted struct {
	Output  string            `json:"output"`
	Shards  []*convert.Report `json:"-"`      // shards that exist, made by this run or before
	Reports []shardReport     `json:"shards"` // the same with the sentences of their notes
	Before  []int             `json:"before"` // complete pieces before this run, by shard
	// Skipped are the inputs with skipped episodes in these shards.
	Skipped  []convert.SkippedInput `json:"skipped"`
	noteList                        // about inputs that lack declared episodes
}

// shardReport is a shard with its notes' sentences.
type shardReport struct {
	*convert.Report
	Losses []notetext.EpisodeEntry `json:"losses"`
	Notes  []notetext.EpisodeEntry `json:"notes"`
}

// mostReasons bounds the skipped episodes, losses and remarks that are printed, each.
const mostReasons = 20

// converted prints the report: a table with the streams, and why samples were dropped.
func (a *app) converted(all *converted) error {
	all.print(a)
	t := text.NewTable(a.Out, 0)
	fmt.Fprintln(t, "stream\tread\tused\tdropped\trows\tvalid\tacross gaps")
	total := convert.Total(all.Shards)
	for i := range total {
		s := &total[i]
		for _, n := range s.Dropped {
			a.Remark("%s: %d of %d dropped: %s", s.Name, n.Count, s.Read, notetext.Text(n))
		}
		if s.Rounded > 0 {
			a.Remark("%s: whole numbers that are rounded because float64 does not hold them: %d", s.Name, s.Rounded)
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\n", printed.Text(s.Name), s.Read, s.Used, s.Read-s.Used, s.Rows, s.Valid, s.AcrossGaps)
	}
	for _, r := range all.Shards {
		a.about(r)
	}
	a.aboutRows(all.Shards)
	if err := t.Flush(); err != nil {
		return err
	}
	for i, r := range all.Shards {
		bytes, before, rows := int64(0), "", ""
		if r.Rows > 0 {
			rows = fmt.Sprintf(", %d rows", r.Rows)
			if r.LeftOut > 0 {
				rows = fmt.Sprintf(", %d of %d rows", r.Rows, r.Rows+r.LeftOut)
			}
		}
		what := episodes(r.Converted)
		if r.Skipped > 0 {
			what = fmt.Sprintf("%d of %s (%d skipped)", r.Converted, episodes(r.Read), r.Skipped)
		}
		for _, p := range r.Pieces {
			bytes += p.Bytes
		}
		if n := all.Before[i]; n > 0 {
			before = fmt.Sprintf(", %d of %d were there already", n, len(r.Pieces))
		}
		shard := ""
		if r.Shards > 1 {
			shard = fmt.Sprintf(" (shard %d of %d)", r.Shard, r.Shards)
		}
		if _, err := fmt.Fprintf(a.Out, "converted %s, %s%s, into %s%s: %s%s\n", what, writtenOf(r), rows,
			all.Output, shard, megabytes(bytes), before); err != nil {
			return err
		}
	}
	if r := all.Shards[0]; r.Target == "lerobot" && r.Shards == 1 {
		fmt.Fprintf(a.Out, "statistics for training: %s; robocache doctor %s checks the dataset\n", filepath.Join(all.Output, "meta", "stats.json"), all.Output)
	}
	for _, s := range all.Skipped {
		first := ""
		if s.Skipped > 1 {
			first = "the first: "
		}
		line := fmt.Sprintf("skipped %d of %s of %s: %s%s", s.Skipped, episodes(s.Episodes), s.Input, first, byFlags.Replace(notetext.Text(*s.First)))
		if _, err := fmt.Fprintln(a.Out, cli.Wrap(a.Out, printed.Text(line), 2)); err != nil {
			return err
		}
	}
	return nil
}

// byFlags replaces option names from packages convert and dataset/lerobot with flags.
var byFlags = strings.NewReplacer(
	"it can be written under another name", "--name FROM=TO gives it another", "or a codec to encode it anew", "or --cameras video, which encodes it anew",
	"; its times count steps, because it has no rate", "; its times count steps, because it has no rate: set --rate",
	": images can be encoded as video", ": --cameras video encodes images, too", "(LeRobotOptions.Extra)", "(--extra)",
)

// flagged is an error with flags for options.
type flagged struct{ error }

func (e flagged) Error() string {
	return byFlags.Replace(strings.TrimPrefix(notetext.ErrorText(e.error), "convert: "))
}

func (e flagged) Unwrap() error { return e.error }

// writtenOf counts the streams and cameras in the output. The account may have more.
func writtenOf(r *convert.Report) string {
	streams, cameras := 0, 0
	for i := range r.Streams {
		switch s := &r.Streams[i]; {
		case s.Rows == 0:
		case s.Kind == "media":
			cameras++
		default:
			streams++
		}
	}
	wrote := text.Count(streams, "stream")
	if cameras > 0 {
		wrote += ", " + text.Count(cameras, "camera")
	}
	return wrote
}

// aboutRows prints how many rows have invalid values or were left out, and which streams are the cause.
func (a *app) aboutRows(list []*convert.Report) {
	rows, left, invalid := 0, 0, 0
	for _, r := range list {
		rows, left, invalid = rows+r.Rows, left+r.LeftOut, invalid+r.NotValid
	}
	if left > 0 {
		a.Remark("%d of %d rows, at the ends of episodes, were left out: not every stream has a valid value there, which the format cannot mark; "+
			"--keep-invalid keeps them", left, rows+left)
	}
	if invalid > 0 {
		why := ""
		for _, s := range convert.Total(list) {
			if n := s.Rows - s.Valid; n > 0 {
				why += fmt.Sprintf(", %s in %d", s.Name, n)
			}
		}
		a.Remark("%d of the %d rows written have a value that is not valid, which the format cannot mark%s", invalid, rows, why)
	}
}

func megabytes(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }

// about prints a shard's notes.
func (a *app) about(r *convert.Report) {
	skipped := 0
	several := len(r.Inputs) > 1
	for _, p := range r.Pieces {
		for _, e := range p.Episodes {
			if e.Skipped == nil {
				continue
			}
			if skipped++; skipped <= mostReasons {
				of := ""
				if several {
					of = r.Inputs[e.Input].Path + ": "
				}
				a.Remark("skipped: %s%s: %s", of, strings.TrimSpace(fmt.Sprintf("episode %d %s", e.Index, e.Name)), byFlags.Replace(notetext.Text(*e.Skipped)))
			}
		}
	}
	if skipped > mostReasons {
		a.Remark("%d episodes more were skipped", skipped-mostReasons)
	}
	if r.Filtered > 0 {
		a.Remark("%s do not pass the plan's filter", episodes(r.Filtered))
	}
	list := notetext.Groups(slices.Concat(r.Losses.List, r.Notes.List))
	for i, g := range list {
		if i == mostReasons {
			a.Remark("%d remarks more, which the report has", len(list)-i)
			break
		}
		count := ""
		if g.Count > 0 && g.First.Note.Code.Class() == dataset.ClassLeftOut {
			count = fmt.Sprintf(": %d", g.Count)
		}
		a.Remark("%s%s (in %s)", g.Line, count, episodes(g.First.Episodes))
	}
}
