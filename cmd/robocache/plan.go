package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/align/suggest"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/internal/text"
)

const planHelp = `Plan looks at a recording or dataset and writes a first plan for it: a file that resample, fuse,
batches, train and convert take by --plan, to be read and changed. It sets the rate, which
streams and columns, how each is put on the clock, and how long a gap may be, with the reasons as
comments. Quaternions, angles that go around, flags and grippers, commands, sensors that are faster
than the clock, times among the columns and topics that speak when something changes are recognised by
the format, by names and by values, as in docs/plans.md.

Where there is a stream called action, or actions, or the one that --action names, and one of states,
the plan is for a policy: states and action alone, with windows, normalisation, and methods that look at
nothing later than a target.

Of a dataset of many episodes it looks at 16, evenly over all. Without -o the plan is printed.`

// planned is the plan report.
type planned struct {
	Input    string           `json:"input"`
	Output   string           `json:"output,omitempty"`
	Rate     float64          `json:"rate"`
	Policy   bool             `json:"policy"`
	Episodes int              `json:"episodes"`
	Looked   int              `json:"looked"`
	Streams  []string         `json:"streams"`
	Reasons  []suggest.Reason `json:"reasons"`
	noteList
	Plan string `json:"plan"`
	left int    // streams that are not taken
}

// planning has the plan flags.
type planning struct {
	batching.Packing
	out, action string
}

func (a *app) planCommand() *cobra.Command {
	var p planning
	cmd := &cobra.Command{
		Use:   "plan PATH -o PLAN.yaml",
		Short: "Write a first plan for a recording or dataset",
		Long:  planHelp,
		Example: "  robocache plan flight.ulg -o plan.yaml\n  robocache fuse flight.ulg -o rows.npz --plan plan.yaml\n" +
			"  robocache plan bags/ --action /cmd_vel -o plan.yaml\n  robocache plan demos/ | less",
		Args: takes(1, 1, "plan takes one recording or dataset"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.Path, p.Spell = args[0], spelling(cmd.Flags())
			return a.plan(context.Background(), &p)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&p.out, "output", "o", "", "the plan `FILE` to write; it is printed unless given")
	f.StringVar(&p.action, "action", "", "the `STREAM` that a policy predicts, such as /cmd_vel; that called action or actions unless given")
	datasetFlags(cmd, &p.Options)
	f.BoolVar(&p.Strict, "strict", false, "refuse broken data")
	files(cmd, map[string]string{"output": "yaml"})
	completeFrom(cmd, (*dataset.Episode).Names, "", "action")
	takesRecordings(cmd, 0)
	return cmd
}

func (a *app) plan(ctx context.Context, p *planning) error {
	in := p.Path
	if err := a.begin(&p.Path, p.Definitions, output{flag: "-o", path: p.out}); err != nil {
		return err
	}
	d, err := p.Read(ctx)
	if err != nil {
		return err
	}
	defer d.Close()
	found, err := a.suggest(ctx, p, d)
	if err != nil {
		return err
	}
	r := &planned{Input: in, Output: p.out, Rate: found.Plan.Rate, Policy: found.Policy, Episodes: found.Episodes, Looked: found.Looked,
		Streams: []string{}, Reasons: append([]suggest.Reason{}, found.Reasons...), noteList: newNotes(), Plan: string(found.Text)}
	left := found.Notes.Of(dataset.ClassLeftOut)
	r.left = len(left)
	r.add(notetext.NoteEntries(left))
	r.notes(found.Notes.Of(dataset.ClassProblem, dataset.ClassRemark))
	for _, s := range found.Plan.Streams {
		r.Streams = append(r.Streams, s.Name)
	}
	report := func() error { return a.planned(r) }
	if p.out == "" {
		return report()
	}
	fill := func(w io.Writer) error { _, err := w.Write(found.Text); return err }
	return unwritten(atomicfile.WriteFiles(report, atomicfile.Output{Path: p.out, Fill: fill}))
}

func (a *app) suggest(ctx context.Context, p *planning, d dataset.Dataset) (*suggest.Suggestion, error) {
	bar := a.Counting("reading episodes", 16)
	defer bar.Done()
	garbage := newCollector()
	found, err := suggest.Plan(ctx, d, suggest.Options{Action: p.action, Sentence: notetext.Text, Progress: func(int, int) {
		bar.Add(1)
		garbage.adjust()
	}})
	var steps *clocks.StepsError
	var none *clocks.NoStreamsError
	var stream *align.StreamError
	var missing *clocks.MissingError
	switch {
	case errors.As(err, &steps):
		return nil, usagef("%s counts steps and has no rate, want --rate", p.Path)
	case errors.As(err, &missing):
		return nil, usagef("--action: %v", missing)
	case errors.As(err, &none), errors.As(err, &stream):
		return nil, &inputError{Path: p.Path, Err: err}
	case err != nil && ctx.Err() == nil:
		return nil, readError(p.Path, err)
	}
	return found, err
}

// planned prints the plan, or a summary if it was written to a file.
func (a *app) planned(r *planned) error {
	if a.JSON {
		return a.WriteJSON(schema.Plan, r)
	}
	r.print(a)
	if r.Output == "" {
		_, err := io.WriteString(a.Out, r.Plan)
		return err
	}
	what := text.Count(len(r.Streams), "stream")
	if r.Policy {
		what += ", for training"
	}
	if r.left > 0 {
		what += fmt.Sprintf("; %d not taken", r.left)
	}
	_, err := fmt.Fprintf(a.Out, "wrote %s: %g Hz, %s\n", r.Output, r.Rate, what)
	return err
}
