package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/ops"
	"github.com/spf13/cobra"

	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/doctor"
	"github.com/robocache/robocache/doctor/page"
	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/inspection"
	"github.com/robocache/robocache/internal/printed"
	"github.com/robocache/robocache/internal/text"
)

// physician has the doctor flags.
type physician struct {
	paths   []string
	html    string
	failOn  cli.Choice[doctor.Severity]
	opt     dataset.Options
	maxStep time.Duration
	reader  string // for --for
}

func (a *app) doctorCommand() *cobra.Command {
	var step ops.Limit
	p := physician{failOn: cli.ChoiceOf("SEVERITY", doctor.Error, doctor.Warning)}
	cmd := &cobra.Command{
		Use:   "doctor PATH...",
		Short: "Find faults in recordings before training on them",
		Long: `Doctor reads recordings and datasets and reports faults that spoil training: gaps, duplicates and steps
back of clocks, wrong units and rates, values that are NaN, stuck or cut off, quaternions that change sign,
videos that miss their tables, missing files, statistics that do not fit the data. Each finding
has its evidence and its cure: docs/doctor.md has the rules. With --fail-on the exit code
is 5 if there is a finding as bad as that. --for names a format or a trainer. Findings then include
the reasons why it refuses or lacks content: several clocks, missing tasks, streams without a place.`,
		Example: "  robocache doctor demos/\n  robocache doctor flight.ulg --html flight.html\n  robocache doctor *.mcap --fail-on error\n  robocache doctor demos/ --for openpi\n  robocache doctor demos/ --json | jq '.findings[] | select(.severity==\"error\")'",
		Args:    takes(1, 0, "doctor takes recordings or datasets"),
		RunE: func(cmd *cobra.Command, args []string) error {
			p.paths = args
			p.maxStep, _ = step.Get()
			return a.doctor(cmd.Context(), &p)
		},
	}
	f := cmd.Flags()
	f.StringVar(&p.html, "html", "", "write a page with pictures of the findings to `OUT.html`")
	choiceFlag(cmd, &p.failOn, "fail-on", "exit with 5 if there is a finding as bad: error or warning")
	f.StringVar(&p.reader, "for", "", "also find content that this `READER` refuses: "+strings.Join(readers(), ", "))
	complete(cmd, "for", readers)
	f.Var(&cli.LimitFlag{To: &step, Above: true}, "max-step", "the longest step of a clock that is no gap (default the greater of 20ms and three medians)")
	f.BoolVar(&p.opt.Strict, "strict", false, "refuse broken or missing data anywhere")
	readingFlags(f, &p.opt)
	takesRecordings(cmd, 0)
	files(cmd, map[string]string{"html": "html"})
	return cmd
}

func (a *app) doctor(ctx context.Context, p *physician) error {
	if p.html != "" {
		if ext := strings.ToLower(filepath.Ext(p.html)); ext != ".html" && ext != ".htm" {
			return usagef("--html: got %q, want a name that ends in .html", p.html)
		}
	}
	if err := writable(append(p.paths, p.opt.Definitions...), output{flag: "--html", path: p.html}); err != nil {
		return err
	}
	if p.reader != "" && !slices.Contains(readers(), p.reader) {
		return usagef("--for: got %q, want %s", p.reader, strings.Join(readers(), ", "))
	}
	all := &doctor.Report{Findings: []doctor.Finding{}}
	for _, path := range p.paths {
		r, err := a.examine(ctx, p, path)
		var input *inputError
		if len(p.paths) > 1 && errors.As(err, &input) && !errors.Is(err, fs.ErrNotExist) && !dataset.IsSystem(err) && ctx.Err() == nil { // one broken file does not stop the others
			r, err = doctor.Unopened(path, cause(err)), nil
		}
		if err != nil {
			return err
		}
		all.Add(r)
	}
	for i := range all.Findings {
		if f := &all.Findings[i]; f.Note != nil {
			f.Why = notetext.Line(*f.Note)
		}
	}
	report := func() error {
		if a.JSON {
			return a.WriteJSON(schema.Doctor, struct {
				*doctor.Report
				Notes []notetext.EpisodeEntry `json:"notes"`
			}{all, notetext.EpisodeEntries(all.Notes.List)})
		}
		return a.printFindings(all)
	}
	if p.html == "" {
		if err := report(); err != nil {
			return err
		}
	} else if err := unwritten(atomicfile.WriteFiles(report, atomicfile.Output{Path: p.html, Fill: func(w io.Writer) error { return page.Write(w, all) }})); err != nil {
		return err
	}
	if n := all.Count(p.failOn.Value); p.failOn.Given && n > 0 {
		return &foundError{Severity: p.failOn.Value, Count: n}
	}
	return nil
}

// examine examines one recording or dataset.
func (a *app) examine(ctx context.Context, p *physician, path string) (*doctor.Report, error) {
	named := path
	path, err := a.local(path)
	if err != nil {
		return nil, err
	}
	d, err := inspection.Open(ctx, path, p.opt)
	if err != nil {
		return nil, readError(path, err)
	}
	defer func() { d.Close() }()
	if info := d.Info(); p.opt.Clock == "" && info.Clock == "frame_index" && slices.Contains(info.Clocks, "timestamp") {
		stamped := p.opt // examines the recorded timestamps in place of frame numbers
		stamped.Clock = "timestamp"
		again, err := inspection.Open(ctx, path, stamped)
		if err != nil {
			return nil, readError(path, err)
		}
		d.Close()
		d = again
	}
	progress := a.Counting("examining episodes", d.Len())
	defer progress.Done()
	garbage := newCollector()
	r, err := doctor.Examine(ctx, d, doctor.Options{Path: named, MaxStep: p.maxStep, Next: func() {
		progress.Add(1)
		garbage.adjust()
	}})
	if err == nil && p.reader != "" {
		err = a.fit(ctx, p.reader, p.opt, path, r)
	}
	return r, err
}

// colours has the terminal colours by severity.
var colours = map[doctor.Severity]int{doctor.Error: cli.Red, doctor.Warning: cli.Yellow}

// mostAlike limits the printed findings with the same kind and stream. If there are more, the first is printed with all episodes.
const mostAlike = 3

// printFindings prints the findings as text.
func (a *app) printFindings(r *doctor.Report) error {
	var b strings.Builder
	advised := map[string]bool{}
	alike := map[string][]int{} // the episodes with a finding, by its kind and stream
	about := func(f *doctor.Finding) string {
		return fmt.Sprintf("%q", []string{f.Path, f.Severity.Noun(), string(f.Kind), f.Subject()})
	}
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Episode != doctor.Whole {
			list := append(alike[about(f)], f.Episode)
			slices.Sort(list)
			alike[about(f)] = slices.Compact(list)
		}
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		same := alike[about(f)]
		if len(same) > mostAlike && f.Episode != same[0] {
			continue
		}
		where := ""
		if len(r.Checked.Paths) > 1 {
			where = f.Path + ": "
		}
		if f.Episode != doctor.Whole && r.Checked.Episodes+r.Checked.Unread > 1 {
			where += printed.Text(f.Where()) + ": "
		}
		if who := f.Subject(); who != "" && !strings.HasPrefix(f.Why, who) {
			where += who + ": "
		}
		severity := fmt.Sprintf("%-7s", f.Severity.Noun())
		if err := a.Coloured(colours[f.Severity], severity); err != nil {
			return err
		}
		line := cli.Wrap(a.Out, fmt.Sprintf("%s %-15s %s%s", severity, f.Kind, where, printed.Text(f.Why)), 8)
		fmt.Fprintln(&b, line[len(severity):])
		if len(same) > mostAlike {
			fmt.Fprintln(&b, cli.Wrap(a.Out, "        also in the episodes "+dataset.RangesOf(same[1:]).String(), 8))
		}
		advice := string(f.Kind) + strings.Map(func(r rune) rune { // without numbers, which differ in each finding
			if unicode.IsDigit(r) || r == '.' {
				return -1
			}
			return r
		}, f.WhatToDo)
		if !advised[advice] {
			advised[advice] = true
			fmt.Fprintln(&b, cli.Wrap(a.Out, "        "+f.WhatToDo, 8))
		}
		if _, err := io.WriteString(a.Out, b.String()); err != nil {
			return err
		}
		b.Reset()
	}
	c := &r.Checked
	fmt.Fprintf(&b, "%s in %s: %s, %s\n", text.Join(r.Tally(), 3, " and ", (*doctor.Number).String), text.Count(c.Episodes+c.Unread, "episode"), text.Count(c.Samples, "sample"), text.Count(c.Frames, "frame"))
	if c.Unlisted > 0 {
		fmt.Fprintf(&b, "%d more findings are in kinds and streams with %d listed\n", c.Unlisted, doctor.MostOfKind)
	}
	if out := r.Refused(); len(c.Paths) == 1 && len(out) > 0 && len(out) < c.Episodes+c.Unread {
		fmt.Fprintf(&b, "the episodes with errors are left out by --leave-out %s\n", dataset.RangesOf(out))
	}
	_, err := io.WriteString(a.Out, b.String())
	return err
}
