package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/viz"
	"github.com/spf13/cobra"
)

// inspection is what inspect says of a recording or dataset: its streams over all episodes, or those of the one that was asked for.
type inspection struct {
	Path       string             `json:"path"`
	Name       string             `json:"name"`
	Format     string             `json:"format"`
	Version    string             `json:"version,omitempty"`
	Episodes   int                `json:"episodes"`
	Shortest   int                `json:"shortest,omitempty"` // frames of an episode
	Longest    int                `json:"longest,omitempty"`
	Frames     *int               `json:"frames"` // null for logs
	Rate       float64            `json:"rate_hz,omitempty"`
	RateFrom   string             `json:"rate_from,omitempty"`
	Clock      string             `json:"clock,omitempty"`
	Clocks     []string           `json:"clocks,omitempty"`
	Splits     []inspectedSplit   `json:"splits"`
	Features   []inspectedFeature `json:"features"`
	Attributes map[string]string  `json:"attributes,omitempty"`
	Episode    *inspectedEpisode  `json:"episode,omitempty"` // the one that was asked for, or the only one
	Streams    []inspectedStream  `json:"streams"`
	Media      []inspectedMedia   `json:"media"`
	Tasks      []string           `json:"tasks"`
	LeftOut    []leftOut          `json:"left_out"`
	Problems   []problem          `json:"problems"`
	LostBytes  int64              `json:"lost_bytes"` // of broken files that were read all the same
	Plot       string             `json:"plot,omitempty"`
	Remarks    []string           `json:"remarks"`
}

type inspectedSplit struct {
	Name     string `json:"name"`
	Episodes int    `json:"episodes"`
}

type inspectedFeature struct {
	Name  string   `json:"name"`
	DType string   `json:"dtype"`
	Shape []int    `json:"shape"`
	Names []string `json:"names,omitempty"`
}

type inspectedEpisode struct {
	Number     int               `json:"number"`
	Name       string            `json:"name"`
	Success    *bool             `json:"success,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
}

type problem struct {
	Where string `json:"where"`
	What  string `json:"what"`
}

type leftOut struct {
	Name     string `json:"name"`
	Reason   string `json:"reason"`
	Episodes int    `json:"episodes"` // that have it
}

type inspectedStream struct {
	Name       string            `json:"name"`
	Episodes   int               `json:"episodes"` // that have it
	Samples    int               `json:"samples"`
	Rate       float64           `json:"rate_hz,omitempty"`
	Lowest     float64           `json:"lowest_rate_hz,omitempty"` // of an episode
	Highest    float64           `json:"highest_rate_hz,omitempty"`
	ShortestNS int64             `json:"shortest_ns"` // from the first to the last sample of an episode
	LongestNS  int64             `json:"longest_ns"`
	FirstNS    int64             `json:"first_ns"`
	LastNS     int64             `json:"last_ns"`
	Gaps       int               `json:"gaps"`
	Duplicates int               `json:"duplicates"`
	BackSteps  int               `json:"back_steps"`
	Inexact    int               `json:"inexact_integers"` // that the dtype does not hold: they are rounded
	DType      string            `json:"dtype"`
	Columns    []inspectedColumn `json:"columns"`
}

type inspectedColumn struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Integer  bool   `json:"integer,omitempty"`
	Rotation string `json:"rotation,omitempty"`
}

type inspectedMedia struct {
	Name     string  `json:"name"`
	Episodes int     `json:"episodes"` // that have it
	Frames   int     `json:"frames"`
	Rate     float64 `json:"rate_hz,omitempty"`
	Encoding string  `json:"encoding"`
	Width    int     `json:"width,omitempty"`
	Height   int     `json:"height,omitempty"`
}

// inspector is what the flags of inspect ask for.
type inspector struct {
	path, plot string
	opt        dataset.Options
	episode    int // -1 for all
	columns    bool
}

func (a *app) inspectCommand() *cobra.Command {
	var in inspector
	rate, episode := positiveFlag{max: 1e9, unit: "HZ"}, episodeFlag(-1)
	cmd := &cobra.Command{
		Use:   "inspect PATH",
		Short: "List what a recording or dataset holds",
		Long: `Inspect lists the streams of a recording or dataset: samples, rate, what they cover, gaps,
duplicate timestamps and steps back, and their columns; its media, tasks and splits; what it
declares that is not there; and of all else why it is no stream. PATH is a file, a folder or a
pipe: docs/command-line.md lists the formats. Of a dataset of several episodes the streams are
summed over all, or are those of --episode N.`,
		Example: "  robocache inspect flight.ulg\n  robocache inspect flight.ulg --columns\n  robocache inspect flight.ulg --plot flight.png\n  robocache inspect dataset/ --episode 3\n  robocache inspect flight.ulg --json | jq '.streams[].name'",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("inspect takes one file, got %d: %q", len(args), args)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			in.path, in.opt.Rate = args[0], rate.value
			in.episode = int(episode)
			return a.inspect(cmd.Context(), &in)
		},
	}
	cmd.Flags().BoolVar(&in.opt.Strict, "strict", false, "refuse what is broken anywhere, or declared and not there")
	cmd.Flags().Var(&rate, "rate", "steps a second of recordings that have no times and do not say")
	cmd.Flags().StringVar(&in.opt.Clock, "clock", "", "where timestamps come from, of formats that have several clocks: inspect lists them")
	cmd.Flags().Var(&episode, "episode", "the streams of this episode alone, counted from 0")
	cmd.Flags().Lookup("episode").DefValue = "0" // so that help names no default
	cmd.Flags().StringVar(&in.plot, "plot", "", "draw an episode's streams on one time axis with their gaps, as `OUT.png`")
	cmd.Flags().BoolVar(&in.columns, "columns", false, "name every column")
	cmd.ValidArgsFunction = recordingFiles
	files(cmd, map[string]string{"plot": "png"})
	return cmd
}

// recordingFiles completes the name of a recording.
func recordingFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	list := []string{"npz"}
	for _, f := range dataset.Formats() {
		for _, ext := range f.Extensions {
			list = append(list, strings.TrimPrefix(ext, "."))
		}
	}
	return list, cobra.ShellCompDirectiveFilterFileExt
}

func (a *app) inspect(ctx context.Context, in *inspector) error {
	if ctx == nil {
		ctx = context.Background()
	}
	if in.plot != "" {
		switch {
		case !strings.EqualFold(filepath.Ext(in.plot), ".png"):
			return usagef("--plot: got %q, want a name that ends in .png", in.plot)
		case sameFile(in.path, in.plot):
			return usagef("--plot: %q is the input %q, want another file", in.plot, in.path)
		}
	}
	clean, err := a.begin(&in.path, in.plot)
	if err != nil {
		return err
	}
	defer clean()
	d, err := openInspected(ctx, in)
	if err != nil {
		return err
	}
	defer d.Close()
	found, shown, err := a.look(ctx, d, in)
	if err != nil {
		return err
	}
	report := func() error {
		if a.json {
			return a.writeJSON(found)
		}
		return a.inspected(found, in.columns)
	}
	if in.plot == "" {
		return report()
	}
	if len(shown.Streams)+len(shown.Media) == 0 {
		return &inputError{Path: in.path, Msg: "no streams to draw"}
	}
	found.Plot = in.plot
	title := fmt.Sprintf("%s, %s", found.Name, found.Format)
	if found.Episodes > 1 {
		title = fmt.Sprintf("%s of %s", shown.Name, title)
	}
	draw := func(w io.Writer) error {
		return viz.WriteTimelinePNG(w, viz.TimelinesOf(shown), viz.Options{Title: title})
	}
	return unwritten(atomicfile.WriteFiles(report, atomicfile.Output{Path: in.plot, Fill: draw}))
}

// openInspected opens what is to be inspected. Of an archive of arrays more is listed than its dataset knows.
func openInspected(ctx context.Context, in *inspector) (dataset.Dataset, error) {
	form, err := formatOf(in.path)
	if err != nil {
		return nil, err
	}
	if form == "npz" && in.opt.Clock != "" {
		return nil, usagef("--clock is for recordings with several clocks, got %q", in.path)
	}
	if form != "npz" {
		d, err := dataset.Open(ctx, in.path, in.opt)
		if err != nil {
			return nil, readError(in.path, err)
		}
		return d, nil
	}
	return dataset.Single("npz", in.path, func(context.Context) (*dataset.Episode, error) {
		file, err := npz.Open(in.path)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		if len(file.Names()) == 0 {
			others := file.Others()
			got := fmt.Sprintf("%d members, none of them called NAME.npy", len(others))
			return nil, &dataset.FormatError{Format: "npz", Path: in.path, Offset: -1, Kind: dataset.ErrUnsupported, Msg: "archive", Got: got, Want: "arrays"}
		}
		e, err := everyStream(file, in.opt.Strict)
		if err != nil {
			return nil, arrayError(in.path, err)
		}
		e.Name = dataset.BaseName(in.path)
		return e, nil
	}), nil
}

// mostRemarks is how many one reads.
const mostRemarks = 20

// inspectRoom is how many bytes of episodes inspect has in memory, unless one alone has more.
const inspectRoom = 32 << 20

// look reads the episode that was asked for, or all of them. It returns one that can be drawn, too: the one that was asked for, or the only one.
func (a *app) look(ctx context.Context, d dataset.Dataset, in *inspector) (*inspection, *dataset.Episode, error) {
	n := d.Len()
	switch {
	case in.episode >= n:
		return nil, nil, usagef("--episode: got %d, and %s holds %s", in.episode, in.path, episodes(n))
	case in.plot != "" && in.episode < 0 && n > 1:
		return nil, nil, usagef("--plot draws one episode, and %s holds %d, want --episode 0 to %d", in.path, n, n-1)
	}
	var sum dataset.Summary
	var remarks, kinds, unread []string
	more, alike := 0, map[string]int{} // remarks than one reads; those that say the same of other episodes, by their words
	remark := func(where, text string) {
		words := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' || r == '.' {
				return -1
			}
			return r
		}, text)
		if alike[words]++; where != "" && alike[words] > 1 {
			return
		}
		if len(remarks) == mostRemarks {
			more++
			return
		}
		remarks = append(remarks, where+text)
		kinds = append(kinds, words)
	}
	var one *dataset.Episode
	steps := false
	list, numbers := dataset.ParallelWithin(ctx, d, runtime.GOMAXPROCS(0), inspectRoom), n
	if in.episode >= 0 {
		numbers = 1
		list = func(yield func(*dataset.Episode, error) bool) {
			e, err := d.Episode(ctx, in.episode)
			yield(e, err)
		}
	}
	progress := a.counting("reading episodes", numbers)
	defer progress.done()
	at := max(in.episode, 0) - 1
	garbage := newCollector()
	for e, err := range list {
		at++
		progress.add(1)
		garbage.adjust()
		switch {
		case ctx.Err() != nil:
			return nil, nil, ctx.Err()
		case err != nil && (numbers == 1 || in.opt.Strict):
			var only *dataset.EpisodeError
			if n == 1 && errors.As(err, &only) {
				err = only.Err
			}
			return nil, nil, readError(in.path, err)
		case err != nil:
			unread = append(unread, err.Error())
			continue
		}
		where := ""
		if numbers > 1 {
			where = fmt.Sprintf("episode %d, %s: ", at, e.Name)
		}
		for _, lost := range e.Damage {
			remark(where, "lost: "+lost.String())
		}
		for _, r := range e.Remarks {
			remark(where, r)
		}
		steps = steps || e.Steps
		sum.Add(e)
		if numbers == 1 { // else it would be held while the next ones are read
			one = e
		}
	}
	found := inspectionOf(in, d, &sum)
	for _, u := range unread {
		where, what, _ := strings.Cut(u, ": ")
		found.Problems = append(found.Problems, problem{where, what})
	}
	for i := range sum.Streams {
		if s := &sum.Streams[i]; s.Inexact > 0 {
			remark("", fmt.Sprintf("%s: whole numbers that are rounded since %s does not hold them: %d", s.Name, s.DType, s.Inexact))
		}
	}
	for i, words := range kinds {
		if n := alike[words] - 1; n > 0 {
			remarks[i] += fmt.Sprintf(" (and alike of %s)", counted(n, "more episode"))
		}
	}
	if more > 0 {
		remarks = append(remarks, fmt.Sprintf("and %d more", more))
	}
	found.Remarks = append(found.Remarks, remarks...)
	if steps {
		found.Remarks = append(found.Remarks, "no times: timestamps count steps, a second each, unless --rate says how many a second there are")
	}
	if numbers == 1 && one != nil {
		found.Episode = &inspectedEpisode{Number: max(in.episode, 0), Name: one.Name, Success: one.Attributes.Success, Attributes: one.Attributes.Other}
	}
	return found, one, nil
}

func episodes(n int) string { return counted(n, "episode") }

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// inspectionOf puts together what a dataset says of itself and what its episodes hold.
func inspectionOf(in *inspector, d dataset.Dataset, sum *dataset.Summary) *inspection {
	info := d.Info()
	f := &inspection{
		Path: in.path, Name: d.Name(), Format: d.Format(), Version: info.Version, Episodes: d.Len(), Rate: info.Rate, RateFrom: info.RateFrom,
		Clock: info.Clock, Clocks: info.Clocks, Attributes: info.Attributes, LostBytes: sum.Damage,
		Splits: []inspectedSplit{}, Features: []inspectedFeature{}, Streams: []inspectedStream{}, Media: []inspectedMedia{}, Tasks: info.Tasks,
		LeftOut: []leftOut{}, Problems: []problem{}, Remarks: []string{},
	}
	f.Shortest, f.Longest = sum.Shortest, sum.Longest
	switch {
	case info.Frames > 0:
		f.Frames = &info.Frames
	case sum.Frames > 0 && (in.episode < 0 || d.Len() == 1):
		f.Frames = &sum.Frames
	}
	if len(f.Tasks) == 0 {
		f.Tasks = append([]string{}, sum.Tasks...)
	}
	for _, s := range info.Splits {
		f.Splits = append(f.Splits, inspectedSplit{s.Name, len(s.Episodes)})
	}
	for _, x := range info.Features {
		f.Features = append(f.Features, inspectedFeature{x.Name, x.DType, append([]int{}, x.Shape...), x.Names})
	}
	for i := range sum.Streams {
		s := &sum.Streams[i]
		line := inspectedStream{Name: s.Name, Episodes: s.Episodes, Samples: s.Samples, Rate: s.Rate(), ShortestNS: s.Shortest, LongestNS: s.Longest, FirstNS: s.First, LastNS: s.Last, Gaps: s.Gaps,
			Duplicates: s.Duplicates, BackSteps: s.BackSteps, Inexact: s.Inexact, DType: s.DType, Columns: []inspectedColumn{}}
		line.Lowest, line.Highest = s.Rates()
		for _, c := range s.Columns {
			line.Columns = append(line.Columns, inspectedColumn{c.Name, c.Type, c.Integer, c.Rotation.String()})
		}
		f.Streams = append(f.Streams, line)
	}
	for i := range sum.Media {
		m := &sum.Media[i]
		f.Media = append(f.Media, inspectedMedia{m.Name, m.Episodes, m.Frames, m.Rate(), m.Encoding, m.Width, m.Height})
	}
	for _, l := range sum.LeftOut {
		f.LeftOut = append(f.LeftOut, leftOut{l.Name, l.Reason, l.Episodes})
	}
	for _, p := range append(info.Problems, sum.Problems...) {
		f.Problems = append(f.Problems, problem{p.Where, p.What})
	}
	return f
}
