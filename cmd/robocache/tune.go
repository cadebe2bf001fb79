package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/benchmark"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/cuda"
	"github.com/spf13/cobra"
)

// tuneRequest is a tune command as given.
type tuneRequest struct {
	backend, only, shapes, out, launch string

	dry     bool
	options benchmark.Options
	limit   time.Duration
	rotate  float64
}

const tuneHelp = `Tune looks for faster shapes of launches than those that the model of the device gives, and keeps
them in a table, which every program on this GPU then takes them from: how many pieces a thread
makes, how many threads a block has, how many blocks check stamps. No result depends on them; tune
checks that each candidate gives the same bits.

The jobs are those of robocache bench resample, forms and fuse, and of --shapes. Of each, every
candidate is measured briefly, and the fastest at length beside the model's, five times in turn.
It is kept for the job's class (the kernel, the powers of two of sizes, and whether inputs are
declared ready, as --launch says) if the slowest of its
five medians is below the fastest of the model's, its median by 1 % at least, and no other
job of the class became slower.

The table is for one kind of GPU and the kernels of this program: others do not use it, and
robocache info and bench --explain say why. It lies in the user's cache, or where ROBOCACHE_TUNED
says: a file or a folder; "off" leaves everything to the model.`

func (a *app) tuneCommand() *cobra.Command {
	r := &tuneRequest{}
	cmd := &cobra.Command{
		Use:   "tune",
		Short: "Find faster launch shapes for this GPU, and keep them",
		Long:  tuneHelp,
		Example: `  robocache tune
  robocache tune --backend cuda:1 --limit 10m
  robocache tune --launch ready
  robocache tune --shapes mine.json --dry-run --json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.tune(r) },
	}
	f := cmd.Flags()
	f.StringVar(&r.backend, "backend", "cuda", "cuda or cuda:N")
	f.StringVar(&r.only, "only", "", "tune only jobs whose suite and name match this regular expression")
	f.StringVar(&r.shapes, "shapes", "", "tune the jobs of this .json file too, which bench --list --json writes")
	f.StringVarP(&r.out, "output", "o", "", "write the table to this file, in place of the one that is used")
	f.StringVar(&r.launch, "launch", "plain", "how the jobs follow each other: plain, dependent or ready, as in bench; what is found with inputs ready is kept for that alone")
	f.BoolVar(&r.dry, "dry-run", false, "write no table")
	f.DurationVar(&r.options.Time, "time", 200*time.Millisecond, "the least time that the samples of a choice take together")
	f.IntVar(&r.options.Samples, "samples", 31, "the least number of samples, at least 5")
	f.DurationVar(&r.options.Batch, "batch", 10*time.Millisecond, "about how long a sample takes")
	f.Float64Var(&r.rotate, "rotate", 0, "megabytes of input sets that the calls take in turn (default 300)")
	f.DurationVar(&r.limit, "limit", 0, "measure for no longer than that, and keep what was found until then")
	complete(cmd, "backend", backendNames)
	complete(cmd, "launch", launchModes)
	for _, flag := range []string{"shapes", "output"} {
		if err := cmd.MarkFlagFilename(flag, "json"); err != nil {
			panic(err) // a flag that does not exist: a mistake in this package
		}
	}
	return cmd
}

// jobs are the built-in ones, and those of the file that are not among them.
func (r *tuneRequest) jobs() ([]benchmark.Job, error) {
	jobs, err := benchmark.Jobs("resample", "forms", "fuse")
	if err != nil {
		return nil, err
	}
	if r.shapes == "" {
		return only(jobs, r.only)
	}
	f, err := os.Open(r.shapes)
	if err != nil {
		return nil, &inputError{Path: r.shapes, Err: err}
	}
	defer f.Close()
	more, err := benchmark.ReadShapes(f)
	if err != nil {
		return nil, &inputError{Path: r.shapes, Err: err}
	}
	for _, j := range more {
		if !slices.ContainsFunc(jobs, func(o benchmark.Job) bool { return o.Suite() == j.Suite() && o.Name() == j.Name() }) {
			jobs = append(jobs, j)
		}
	}
	return only(jobs, r.only)
}

func (a *app) tune(r *tuneRequest) error {
	if r.limit < 0 || !(r.rotate >= 0) {
		return usagef("--limit and --rotate are not negative")
	}
	if r.dry && r.out != "" {
		return usagef("--dry-run writes no table: no --output with it")
	}
	r.options.Rotate = int64(r.rotate * 1e6)
	var err error
	if r.options.Launch, err = launchMode(r.launch); err != nil {
		return err
	}
	jobs, err := r.jobs()
	if err != nil {
		return err
	}
	dev, err := ops.Open(r.backend)
	if err != nil {
		return err
	}
	return errors.Join(a.tuneOn(r, dev, jobs), dev.Close())
}

func (a *app) tuneOn(r *tuneRequest, dev *ops.Device, jobs []benchmark.Job) error {
	ctx, ended, stop := untilCut(r.limit)
	defer stop()
	r.options.Progress = a.progress()
	report, table, err := benchmark.Tune(ctx, dev, jobs, r.options, func(done, all int, row *benchmark.Tuning) {
		a.progressDone()
		fmt.Fprintf(a.err, "%d of %d: %s %s: %s\n", done, all, row.Suite, row.Job, row.Why)
	})
	a.progressDone()
	if err != nil {
		return err
	}
	report.Program = versionOf().String()
	if r.out != "" {
		report.Path = r.out
	}
	if r.dry {
		report.Path = ""
	} else if len(report.Rows) > 0 {
		if err := a.writeTuned(report.Path, table); err != nil {
			return err
		}
	}
	if a.json {
		err = a.writeJSON(report)
	} else if err = report.WriteTable(a.out); err == nil {
		switch {
		case r.dry:
			_, err = fmt.Fprintln(a.out, "\nno table was written")
		case len(report.Rows) > 0:
			_, err = fmt.Fprintf(a.out, "\n%s has %d classes\n", report.Path, report.Classes)
		}
	}
	if err == nil && ended() && report.Cut != "" {
		err = &cutError{report.Cut}
	}
	return err
}

// writeTuned writes a table, at once or not at all.
func (a *app) writeTuned(path string, table *cuda.Table) error {
	if path == "" {
		return usagef("this device has no place for a table: say where with ROBOCACHE_TUNED or --output")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return &outputError{path, err}
	}
	if err := atomicfile.WriteFile(path, table.Write); err != nil {
		return &outputError{path, err}
	}
	return nil
}
