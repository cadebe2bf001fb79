package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/benchmark"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops"
	"github.com/spf13/cobra"
)

const tuneHelp = `Tune looks for launch policies that are faster than those of the built-in heuristic, and
keeps them in a table, which every program on this GPU then takes them from: which variant of a
kernel does a job, how many items a thread makes, how many targets a block. No result depends on
them; tune checks that each candidate gives the same bits.

The jobs are those of robocache bench resample, forms and fuse, or those of --shapes. Of each, every
candidate is measured briefly, and the fastest at length beside the heuristic's, five times in turn.
It is kept for the job's key (the variant, the powers of two of sizes, and whether inputs are
declared ready, as with --launch) if the slowest of its five medians is below the fastest of the
heuristic's, its median by 1 % at least, and no other job of the key became slower.

The table is for one kind of GPU and the kernels of this program: others do not use it, and
robocache info and bench --explain print why. It lies in the user's cache, or where ROBOCACHE_TUNED
points: a file or a folder; "off" leaves everything to the heuristic.`

// tuneRequest has the tune flags.
type tuneRequest struct {
	backend, only, shapes, out string
	measuring
}

func (a *app) tuneCommand() *cobra.Command {
	r := &tuneRequest{}
	cmd := &cobra.Command{
		Use:   "tune",
		Short: "Store faster launch shapes for this GPU",
		Long:  tuneHelp,
		Example: `  robocache tune
  robocache tune --backend cuda:1 --limit 10m
  robocache tune --launch ready
  robocache tune --shapes mine.json -o elsewhere.json --json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.tune(r) },
	}
	f := cmd.Flags()
	backendFlag(cmd, &r.backend, "cuda", "cuda or cuda:N")
	f.StringVar(&r.only, "only", "", "tune only jobs with a suite and name that match this regular `EXPRESSION`")
	f.StringVar(&r.shapes, "shapes", "", "take the jobs from this .json `FILE`, in the form that bench --list --json writes")
	f.StringVarP(&r.out, "output", "o", "", "write the table to this `FILE`, in place of the one that is used")
	r.flags(cmd)
	files(cmd, map[string]string{"shapes": "json", "output": "json"})
	return cmd
}

// jobs returns the jobs in the file, or the built-in jobs.
func (r *tuneRequest) jobs() (jobs []benchmark.Job, err error) {
	if r.shapes != "" {
		jobs, err = readShapes(r.shapes)
	} else {
		jobs, err = benchmark.Jobs("resample", "forms", "fuse")
	}
	if err != nil {
		return nil, err
	}
	return only(jobs, r.only)
}

func (a *app) tune(r *tuneRequest) error {
	if err := r.check(); err != nil {
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
	path := r.out
	if d, ok := dev.Queue().Backend().(tuned.Device); ok && path == "" {
		if _, path = d.Tuned(); path == "" {
			return usagef("this device has no place for a table: set ROBOCACHE_TUNED or --output")
		}
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return unwritten(err)
	}
	if err := writable([]string{r.shapes}, output{flag: "-o", path: path}); err != nil {
		return err
	}
	ctx, ended, stop := a.UntilCut(r.limit)
	defer stop()
	r.options.Progress = a.progress()
	report, table, err := benchmark.Tune(ctx, dev, jobs, r.options, func(done, all int, row *benchmark.Tuning) {
		a.Clear()
		fmt.Fprintf(a.Err, "%d of %d: %s %s: %s\n", done, all, row.Suite, row.Job, row.Why)
	})
	a.Clear()
	if err != nil {
		return err
	}
	report.Program, report.Path = versionOf().String(), path
	if len(report.Rows) > 0 {
		if err := atomicfile.WriteFile(path, table.Write); err != nil {
			return unwritten(err)
		}
	}
	if a.JSON {
		err = a.WriteJSON(schema.Tune, report)
	} else if err = report.WriteTable(a.Out); err == nil && len(report.Rows) > 0 {
		_, err = fmt.Fprintf(a.Out, "\n%s has %d keys\n", path, report.Keys)
	}
	if err == nil && ended() && report.Cut != "" {
		err = &cutError{When: report.Cut}
	}
	return err
}
