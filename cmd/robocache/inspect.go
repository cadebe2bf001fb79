package main

import (
	"context"
	"fmt"
	"io"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/internal/serve"
	"github.com/robocache/robocache/viz"
	"github.com/spf13/cobra"
)

// inspector has the inspect flags.
type inspector struct {
	path, plot string
	opt        dataset.Options
	episode    int // -1 for all
	columns    bool
}

func (a *app) inspectCommand() *cobra.Command {
	var in inspector
	episode := episodeFlag(-1)
	cmd := &cobra.Command{
		Use:   "inspect PATH",
		Short: "List the content of a recording or dataset",
		Long: `Inspect lists the streams of a recording or dataset: samples, rate, range, gaps,
duplicate timestamps and steps back, and their columns; its media, point clouds, tasks and splits; data that it
declares but lacks; and why anything else is no stream. PATH is a file, a folder or a
pipe: docs/command-line.md lists the formats. Of a dataset of several episodes the streams are
summed over all, or are those of --episode N.`,
		Example: "  robocache inspect flight.ulg\n  robocache inspect flight.ulg --columns\n  robocache inspect flight.ulg --plot flight.png\n  robocache inspect demos/ --episode 3\n  robocache inspect flight.ulg --json | jq '.streams[].name'",
		Args:    takes(1, 1, "inspect takes one file or folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			in.path, in.episode = args[0], int(episode)
			return a.inspect(cmd.Context(), &in)
		},
	}
	cmd.Flags().BoolVar(&in.opt.Strict, "strict", false, "refuse broken or missing data anywhere")
	readingFlags(cmd.Flags(), &in.opt)
	cmd.Flags().Var(&episode, "episode", "the streams of this episode alone, by its number in the dataset, from 0 if the dataset has no numbers")
	cmd.Flags().Lookup("episode").DefValue = "0" // so that help shows no default
	cmd.Flags().StringVar(&in.plot, "plot", "", "draw an episode's streams on one time axis with their gaps, as `OUT.png`")
	cmd.Flags().BoolVar(&in.columns, "columns", false, "name every column")
	takesRecordings(cmd, 0)
	files(cmd, map[string]string{"plot": "png"})
	return cmd
}

func (a *app) inspect(ctx context.Context, in *inspector) error {
	if err := a.begin(&in.path, in.opt.Definitions, picture(in.plot)); err != nil {
		return err
	}
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
		if a.JSON {
			return a.WriteJSON(schema.Inspect, serve.InspectionReport{Report: found, Entries: notetext.EpisodeEntries(found.Notes.List)})
		}
		if err := found.Print(a.Out, in.columns); err != nil {
			return err
		}
		a.Remarks(serve.InspectionLines(found))
		return nil
	}
	if in.plot == "" {
		return report()
	}
	if len(shown.Streams)+len(shown.Media)+len(shown.Clouds) == 0 {
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

// openInspected opens the inspect input.
func openInspected(ctx context.Context, in *inspector) (dataset.Dataset, error) {
	form, err := formatOf(in.path)
	if err != nil {
		return nil, err
	}
	if form == "npz" && in.opt.Clock != "" {
		return nil, usagef("--clock is for recordings with several clocks, got %q", in.path)
	}
	d, err := inspection.Open(ctx, in.path, in.opt)
	if err != nil {
		return nil, readError(in.path, err)
	}
	return d, nil
}

// look reads one episode or all episodes. It also returns the episode to draw, if there is only one.
func (a *app) look(ctx context.Context, d dataset.Dataset, in *inspector) (*inspection.Report, *dataset.Episode, error) {
	n, info := d.Len(), d.Info()
	at, err := episodeFlag(in.episode).place(d, in.path)
	switch {
	case err != nil:
		return nil, nil, err
	case in.plot != "" && at < 0 && n > 1:
		return nil, nil, usagef("--plot draws one episode, and %s holds %d, want --episode %s", in.path, n, info.NumbersText(n))
	}
	if at >= 0 {
		n = 1
	}
	progress := a.Counting("reading episodes", n)
	defer progress.Done()
	garbage := newCollector()
	found, one, err := inspection.Look(ctx, in.path, d, inspection.Options{Episode: at, Strict: in.opt.Strict, Next: func() {
		progress.Add(1)
		garbage.adjust()
	}})
	if err != nil && ctx.Err() == nil {
		err = arrayError(in.path, err)
	}
	return found, one, err
}
