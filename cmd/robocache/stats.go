package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/fault"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/robocache/robocache/internal/printed"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/stats"
	"github.com/robocache/robocache/viz"
	"github.com/spf13/cobra"
)

// statistics has the stats flags.
type statistics struct {
	paths            []string // the dataset, or states with --merge
	planFile, out    string
	plot             string
	after            string
	merge, quantless bool
	shard            shardFlag
	form             stats.Form
	read             dataset.Options
	opt              stats.Options
	absent, problems dataset.Notes // about the whole dataset, after it is read
}

// computed is the report of the command stats.
type computed struct {
	Input  []string `json:"input"`
	Output string   `json:"output,omitempty"`
	Plot   string   `json:"plot,omitempty"`
	Kept   []string `json:"kept"` // features copied from the earlier file of statistics
	*stats.Report
	noteList
	Problems []inspection.Problem `json:"problems"` // about the whole dataset
}

func (a *app) statsCommand() *cobra.Command {
	var s statistics
	cmd := &cobra.Command{
		Use:   "stats PATH",
		Short: "Compute the exact statistics that training normalises with",
		Long: `Stats computes mean, standard deviation, minimum, maximum and quantiles of every column of a recording
or dataset, as its samples were recorded. They are exact: the same bits in any order and any number of
shards, and quantiles are taken from the sorted values, linear between the ranks as numpy's. NaN and
infinite values are counted and left out. The data may be larger than memory: it is read once for
all but the quantiles, once more for those of float32, and up to three times more for those of float64.

--to writes the file that LeRobot (meta/stats.json), GR00T (the same, by its own rule), openpi (norm_stats.json) or Octo
(dataset_statistics_HASH.json) reads. Statistics in a LeRobot stats.json for images and other features
that are no streams is taken over.

Several programs compute a part each: --shard I/N takes the episodes whose numbers leave the remainder I, and
writes a state, and --merge joins the states of all shards. The quantiles need the other passes: run the shards
again with --after MERGED, and merge again, until stats prints that they are complete.`,
		Example: "  robocache stats demos/\n  robocache stats demos/ --to lerobot -o stats.json\n  robocache stats demos/ --plan plan.yaml --to openpi -o norm_stats.json\n  robocache stats demos/ --shard 3/8 -o part-3\n  robocache stats --merge part-0 part-1 -o merged",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 && !s.merge || len(args) == 0 {
				return usagef("stats takes one dataset, or with --merge states, got %d: %s", len(args), quoted(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			s.paths, s.opt.Strict = args, s.read.Strict
			if s.shard.count > 0 {
				s.opt.Shard, s.opt.Shards = s.shard.index, s.shard.count
			}
			return a.stats(&s)
		},
	}
	f := cmd.Flags()
	f.StringVar(&s.planFile, "plan", "", "a plan `FILE` that chooses streams, columns and episodes")
	f.StringArrayVar(&s.opt.Streams, "stream", nil, "a stream to take, all unless given; repeatable")
	f.StringVar(&s.form.Name, "to", "", "write the file of a project: "+strings.Join(stats.Forms, ", "))
	f.StringVar(&s.form.State, "state", "", "the `STREAM` that openpi calls state and Octo proprio")
	f.StringVar(&s.form.Action, "action", "", "the `STREAM` that openpi calls actions and Octo action")
	f.StringVarP(&s.out, "output", "o", "", "the `FILE` to write: for --to, else a state")
	f.StringVar(&s.plot, "plot", "", "draw range, mean, deviation and quantiles into `FILE.png`, for at most 48 columns of a stream and 100 in all")
	f.Var(&s.shard, "shard", "shard I, from 0, of N shards of the episodes; writes a state")
	f.StringVar(&s.after, "after", "", "the merged `STATE` of the shards' earlier passes, for the next one")
	f.BoolVar(&s.merge, "merge", false, "join states of shards instead of reading a dataset")
	f.BoolVar(&s.quantless, "no-quantiles", false, "leave the quantiles out, which need other passes")
	f.BoolVar(&s.read.Strict, "strict", false, "refuse broken data")
	datasetFlags(cmd, &s.read)
	complete(cmd, "to", func() []string { return stats.Forms })
	files(cmd, map[string]string{"plan": "yaml", "plot": "png"})
	completeFrom(cmd, (*dataset.Episode).Names, "", "stream", "state", "action")
	takesRecordings(cmd, 0)
	return cmd
}

// check returns a usage error for flags that exclude each other.
func (s *statistics) check() error {
	switch {
	case s.form.Name != "" && !slices.Contains(stats.Forms, s.form.Name):
		return usagef("--to: got %q, want %s", s.form.Name, strings.Join(stats.Forms, ", "))
	case s.form.Name != "" && s.out == "":
		return usagef("--to %s: no output given, want -o FILE", s.form.Name)
	case s.form.Name != "" && s.quantless:
		return usagef("--no-quantiles: got it with --to %s, which has quantiles", s.form.Name)
	case s.form.Name != "" && s.shard.count > 0:
		return usagef("--to: got it with --shard, which writes a state, want it with --merge")
	case s.shard.count > 0 && s.out == "":
		return usagef("--shard %v: no output given, want -o STATE", &s.shard)
	case s.after != "" && s.shard.count == 0:
		return usagef("--after: got it without --shard, want the shard for this pass")
	case s.merge && (s.shard.count > 0 || s.after != "" || s.planFile != "" || s.opt.Streams != nil || s.quantless):
		return usagef("--merge: got flags for reading a dataset, want states alone, -o and --to")
	case (s.form.State != "" || s.form.Action != "") && s.form.Name != "openpi" && s.form.Name != "octo":
		return usagef("--state, --action: got them without --to openpi or octo, which name streams so")
	}
	inputs := slices.Concat([]string{s.after, s.planFile}, s.read.Definitions, s.paths)
	if (s.form.Name == "lerobot" || s.form.Name == "gr00t") && !s.merge && filepath.Clean(s.out) == filepath.Join(s.paths[0], "meta", "stats.json") {
		inputs = inputs[:len(inputs)-1] // the dataset's statistics are computed anew, and their entries about images are kept
	}
	return writable(inputs, output{flag: "-o", path: s.out}, picture(s.plot))
}

func (a *app) stats(s *statistics) error {
	if err := s.check(); err != nil {
		return err
	}
	if s.quantless {
		s.opt.Quantiles = []float64{}
	}
	state, err := a.merged(s)
	if err != nil {
		return err
	}
	r := &computed{Input: s.paths, Output: s.out, Plot: s.plot, Kept: []string{}, Report: state.Report(),
		noteList: newNotes(), Problems: inspection.Problems(s.problems)}
	r.add(nil, notetext.Lines(s.problems)...)
	r.notes(s.absent)
	if !r.Known && s.shard.count == 0 {
		r.remark("quantiles-unknown", "quantiles are not known yet: run each shard again with --after and this state, and merge")
	}
	switch {
	case len(r.Streams) == 0 && r.Filtered > 0 && r.Filtered == r.Episodes:
		r.remark("filter-empty", "the plan's filter wants none of %s", episodes(r.Episodes))
	case len(r.Streams) == 0:
		r.remark("no-streams", "no streams of numbers: robocache inspect lists the content")
	}
	for i := 0; s.opt.Plan != nil && s.opt.Streams == nil && r.Read > 0 && i < len(s.opt.Plan.Streams); i++ {
		name := s.opt.Plan.Streams[i].Name
		if !slices.ContainsFunc(r.Streams, func(o stats.Stream) bool { return o.Name == name }) {
			r.remark("no-numbers", "the plan's stream %s has no numbers in any episode, as cameras have none", name)
		}
	}
	r.add(notetext.EpisodeEntries(state.Notes.List), notetext.EpisodeLines(state.Notes.List, r.Episodes)...)
	for _, k := range r.Skipped {
		r.add(nil, fmt.Sprintf("skipped: episode %d %s: %s", k.Episode, k.Name, k.Reason))
	}
	report := func() error { return a.computed(r) }
	if s.out == "" && s.plot == "" {
		return report()
	}
	fill := func(w io.Writer) error { _, err := state.WriteTo(w); return err }
	if s.form.Name != "" {
		if s.form.Keep, err = s.earlier(); err != nil {
			return err
		}
		if s.merge && s.form.Keep == nil && r.Format == "lerobot" && s.form.Name != "openpi" && s.form.Name != "octo" {
			r.remark("streams-alone", "states have the streams alone: statistics for images, indices and times are taken over with -o DATASET/meta/stats.json")
		}
		fill = func(w io.Writer) error {
			kept, err := r.WriteForm(w, s.form)
			if r.Kept = append(r.Kept, kept...); len(kept) > 0 {
				r.remark("kept", "taken over from the statistics that there were: %s", strings.Join(kept, ", "))
			}
			return err
		}
	}
	var outputs []atomicfile.Output
	if s.out != "" {
		outputs = append(outputs, atomicfile.Output{Path: s.out, Fill: fill})
	}
	if s.plot != "" {
		outputs = append(outputs, atomicfile.Output{Path: s.plot, Fill: r.draw})
	}
	err = atomicfile.WriteFiles(report, outputs...)
	if form := (*stats.FormError)(nil); errors.As(err, &form) {
		return &inputError{Path: s.paths[0], Err: form}
	}
	return unwritten(err)
}

// merged returns the state for a dataset or a shard, or the merge of several states.
func (a *app) merged(s *statistics) (*stats.State, error) {
	if !s.merge {
		return a.collected(s)
	}
	var all *stats.State
	for _, path := range s.paths {
		one, err := stats.Read(path)
		if err != nil {
			return nil, readError(path, err)
		}
		if all == nil {
			all = one
		} else if err := all.Merge(one); err != nil {
			return nil, &inputError{Path: path, Err: err}
		}
	}
	if _, err := all.Next(); err != nil {
		return nil, &inputError{Path: s.paths[0], Err: err}
	}
	return all, nil
}

// collected returns a dataset's state (unfinished statistics) after all passes, or a shard's state after one.
func (a *app) collected(s *statistics) (*stats.State, error) {
	path, err := a.local(s.paths[0])
	if err != nil {
		return nil, err
	}
	if s.planFile != "" {
		plan, err := readPlan(s.planFile)
		if err != nil {
			return nil, err
		}
		s.opt.Plan = &plan
	}
	ctx := context.Background()
	d, err := inspection.Open(ctx, path, s.read)
	if err != nil {
		return nil, readError(path, err)
	}
	defer d.Close()
	info := d.Info()
	s.absent, s.problems = absentIn(s.paths[0], d), info.Problems()
	s.opt.Binned = d.Format() == "lerobot"
	var state *stats.State
	if s.after != "" {
		if state, err = stats.Read(s.after); err != nil {
			return nil, readError(s.after, err)
		}
	} else if state, err = stats.Begin(d, s.opt); err != nil {
		return nil, err
	}
	garbage := newCollector()
	for more := true; more; {
		progress := a.Counting("reading episodes", max(1, d.Len()/max(1, s.shard.count)))
		s.opt.Workers = runtime.GOMAXPROCS(0)
		s.opt.Progress = func(int, int, int) {
			progress.Add(1)
			garbage.adjust()
		}
		err := state.Pass(ctx, d, s.opt)
		progress.Done()
		if err != nil {
			return nil, readError(s.paths[0], err)
		}
		if s.shard.count > 0 {
			return state, nil
		}
		more, err = state.Next()
		if bad := (*dataset.StreamError)(nil); errors.As(err, &bad) && bad.Arg == "name" {
			return nil, &inputError{Path: s.paths[0], Stream: bad.Stream, Got: bad.Got, Want: bad.Want}
		}
		if err != nil {
			return nil, readError(s.paths[0], err)
		}
	}
	return state, nil
}

// earlier returns the existing statistics in the --to format, from the output or else from the dataset. It returns nil if there are none.
func (s *statistics) earlier() ([]byte, error) {
	if s.form.Name != "lerobot" && s.form.Name != "gr00t" {
		return nil, nil
	}
	for _, path := range []string{s.out, filepath.Join(s.paths[0], "meta", "stats.json")} {
		text, err := fault.ReadFile(path)
		switch {
		case err == nil:
			return text, nil
		case dataset.IsSystem(err) || !errors.Is(err, fs.ErrNotExist) && !s.merge:
			return nil, readError(path, err)
		}
	}
	return nil, nil
}

// draw draws the statistics as a PNG image.
func (r *computed) draw(w io.Writer) error {
	var streams []viz.Distributions
	for _, s := range r.Streams {
		d := viz.Distributions{Stream: s.Name, Samples: int(s.Rows)}
		for _, c := range s.Columns {
			d.Rows = append(d.Rows, viz.Distribution{Name: c.Name, Min: c.Min, Max: c.Max, Mean: c.Mean, Std: c.Std, Quantiles: c.Quantiles})
		}
		streams = append(streams, d)
	}
	var names []string
	for _, q := range r.Quantiles {
		names = append(names, stats.QuantileName(q))
	}
	return viz.WriteDistributionsPNG(w, streams, names, viz.Options{Title: r.Dataset})
}

func (a *app) computed(r *computed) error {
	if a.JSON {
		return a.WriteJSON(schema.Stats, r)
	}
	r.print(a)
	leaving := []string{}
	for _, q := range r.Quantiles {
		leaving = append(leaving, stats.QuantileName(q))
	}
	w := text.NewTable(a.Out, tabwriter.AlignRight, append(leaving, "not finite")...)
	fmt.Fprintf(w, "%s, %s: %s of %d\n", printed.Text(r.Dataset), r.Format, episodes(r.Read), r.Episodes)
	for i := range r.Streams {
		s := &r.Streams[i]
		about := fmt.Sprintf("%s: %d rows of %s", printed.Text(s.Name), s.Rows, text.Count(s.Episodes, "episode"))
		if r.Output != "" { // the file has the numbers
			fmt.Fprintf(w, "%s, %s\n", about, text.Count(len(s.Columns), "column"))
			continue
		}
		fmt.Fprintf(w, "\n%s\n", about)
		fmt.Fprint(w, "column\tvalues\tnot finite\tmean\tstd\tmin\tmax\t")
		if r.Known {
			for _, q := range r.Quantiles {
				fmt.Fprintf(w, "%s\t", stats.QuantileName(q))
			}
		}
		fmt.Fprintln(w)
		for _, c := range s.Columns {
			fmt.Fprintf(w, "%s\t%d\t%d\t", printed.Text(c.Name), c.Count, c.NotFinite)
			for _, v := range append([]float64{c.Mean, c.Std, c.Min, c.Max}, c.Quantiles...) {
				fmt.Fprintf(w, "%.6g\t", v)
			}
			fmt.Fprintln(w)
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, path := range []string{r.Output, r.Plot} {
		if path != "" {
			fmt.Fprintf(w, "wrote %s\n", path)
		}
	}
	return w.Flush()
}
