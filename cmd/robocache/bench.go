package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robocache/robocache/internal/atomicfile"
	"github.com/robocache/robocache/internal/benchmark"
	"github.com/robocache/robocache/internal/schema"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
	"github.com/spf13/cobra"
)

// benchRequest has the bench flags.
type benchRequest struct {
	suites             []string
	backend, only      string
	shapes, plot, from string
	compare            []string
	sweep, runs, worst int
	seed               uint64
	benchstat, list    bool
	markdown           bool
	worstToo           bool // --worst was given; --from lists the worst rows too
	first, explain     bool
	measuring
}

const benchHelp = `Bench measures the operations beside the least that they could take.

Each job is one shape of a suite. On a GPU its time is the time on the device, by events around
replays of a CUDA graph, over several sets of inputs that together are far larger than the L2
cache; on the CPU it is wall time. The limit is measured in the same run and the same way: the
least bytes that the job must move, read and written by a kernel that does nothing else, and on
the CPU by a copy of as many bytes. ratio is our time over the limit's, and 1 cannot be beaten.

A sample is the mean over a batch of calls. Medians and percentiles are those of the samples,
after the first ones are thrown away. host ns and allocs are the program's cost
for giving one call to the device.

An interrupt, SIGTERM or --limit cuts a run short, and the results so far are written. A
sweep also prints each job on standard error as it ends.

--shapes takes jobs from a file: {"jobs": [{"suite": "resample", "B": 64, "S": 4096, "T": 1024,
"D": 32}, ...]}; --list --json writes the built-in ones in this form. --compare joins the
figures of another program, which wrote the same form as --json does (bench/peers has some).`

const benchExample = `  robocache bench
  robocache bench resample --backend cuda --plot resample.png
  robocache bench resample --only 64x4096 --benchstat > new.txt
  robocache bench --json > ours.json
  robocache bench --from ours.json --compare peers.json
  robocache bench resample --sweep 50 --seed 7`

func (a *app) benchCommand() *cobra.Command {
	r := &benchRequest{}
	cmd := &cobra.Command{
		Use:     "bench [SUITE...]",
		Short:   "Time the operations next to their lower bounds",
		Long:    benchHelp + "\n\nSuites:\n" + suiteList(),
		Example: benchExample,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.suites, r.worstToo = args, cmd.Flags().Changed("worst")
			return a.bench(r)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			return slices.DeleteFunc(suiteNames(), func(s string) bool { return slices.Contains(args, s) }), cobra.ShellCompDirectiveNoFileComp
		},
	}
	f := cmd.Flags()
	backendFlag(cmd, &r.backend, "auto", "auto, cpu, cuda or cuda:N; several between commas, or cuda:all, for train, which they do together")
	f.BoolVar(&r.options.NCCL, "nccl", false, "several GPUs share by NCCL, not by themselves")
	f.StringVar(&r.only, "only", "", "measure only jobs with a suite and name that match this regular `EXPRESSION`")
	f.StringVar(&r.shapes, "shapes", "", "take the jobs from this .json `FILE`")
	f.StringVar(&r.from, "from", "", "measure nothing: take the figures from this `FILE`, which --json wrote")
	f.StringArrayVar(&r.compare, "compare", nil, "a .json `FILE` with the figures of another program; repeatable")
	f.StringVar(&r.options.Videos, "videos", "", "the `FOLDER` for the videos that frames jobs decode; ffmpeg encodes missing ones (default a temporary one)")
	f.StringVar(&r.plot, "plot", "", "also draw bars against the limit and a roofline to this .png `FILE`")
	f.BoolVar(&r.benchstat, "benchstat", false, "write benchmark lines for benchstat instead of a table")
	f.BoolVar(&r.markdown, "markdown", false, "write tables in Markdown instead")
	f.BoolVar(&r.list, "list", false, "list the jobs and measure nothing")
	r.flags(cmd)
	f.IntVar(&r.sweep, "sweep", 0, "measure that many random jobs, and list those with the worst ratios")
	f.Uint64Var(&r.seed, "seed", 1, "the seed of --sweep")
	f.IntVar(&r.worst, "worst", 10, "how many jobs --sweep lists; --from lists them if it is given")
	f.IntVar(&r.runs, "runs", 0, "measure nothing: run each job that often, for a profiler, and print the least bytes of a call")
	f.BoolVar(&r.explain, "explain", false, "measure nothing: print which kernels each job launches, and in which shape")
	f.BoolVar(&r.first, "first", false, "measure only the time from the start of the program to the first result")
	files(cmd, map[string]string{"shapes": "json", "from": "json", "compare": "json", "plot": "png"})
	return cmd
}

// check returns a usage error for flags that exclude each other.
func (r *benchRequest) check() error {
	var modes []string
	for _, m := range []struct {
		name string
		on   bool
	}{{"--from", r.from != ""}, {"--list", r.list}, {"--runs", r.runs != 0}, {"--first", r.first}, {"--explain", r.explain}} {
		if m.on {
			modes = append(modes, m.name)
		}
	}
	switch {
	case len(modes) > 1:
		return usagef("%s do not go together", strings.Join(modes, " and "))
	case r.shapes != "" && (r.sweep != 0 || len(r.suites) > 0):
		return usagef("--shapes selects the jobs: no suites and no --sweep with it")
	case r.from != "" && (r.shapes != "" || r.sweep != 0 || len(r.suites) > 0):
		return usagef("--from selects the jobs: no suites, --shapes or --sweep with it")
	case (r.list || r.runs != 0 || r.first || r.explain) && (r.plot != "" || len(r.compare) > 0 || r.benchstat || r.markdown):
		return usagef("%s measures nothing: no --plot, --compare, --benchstat or --markdown with it", modes[0])
	case r.benchstat && r.markdown:
		return usagef("--benchstat and --markdown do not go together")
	case r.limit > 0 && (r.from != "" || len(modes) > 0):
		return usagef("--limit is how long is measured: not with a flag under which nothing is")
	case r.sweep < 0 || r.runs < 0 || r.worst < 1:
		return usagef("--sweep and --runs are not negative, --worst is at least 1")
	}
	if err := r.measuring.check(); err != nil {
		return err
	}
	if r.launch != "default" && (r.from != "" || r.list || r.runs != 0 || r.first) {
		return usagef("--launch is for jobs that are measured or explained, and here none is")
	}
	return nil
}

func (a *app) bench(r *benchRequest) error {
	if err := r.check(); err != nil {
		return err
	}
	if err := writable(append(r.compare, r.shapes, r.from), picture(r.plot)); err != nil {
		return err
	}
	if r.from != "" {
		report, err := readReport(r.from)
		if err != nil {
			return err
		}
		return a.showBench(r, report)
	}
	jobs, err := r.jobs()
	if err != nil {
		return err
	}
	if r.list {
		return a.listJobs(jobs)
	}
	devices, err := ops.OpenAll(r.backend)
	if err != nil {
		return err
	}
	r.options.With = devices[1:]
	err = a.benchOn(r, devices[0], jobs)
	for _, d := range devices {
		err = errors.Join(err, d.Close())
	}
	return err
}

func (a *app) benchOn(r *benchRequest, dev *ops.Device, jobs []benchmark.Job) error {
	switch {
	case r.first:
		return a.firstResult(dev)
	case r.explain:
		return a.explainJobs(dev, jobs, r.options.Launch)
	case r.runs > 0:
		return a.profileRuns(dev, jobs, r.runs)
	}
	ctx, ended, stop := a.UntilCut(r.limit)
	defer stop()
	r.options.Progress = a.progress()
	if r.sweep > 0 {
		r.options.Measured = a.measured
	}
	report, err := benchmark.Run(ctx, dev, jobs, r.options)
	a.Clear()
	if err != nil {
		return err
	}
	if report.Program = versionOf().String(); len(report.Rows) == 0 && report.Cut != "" {
		return fmt.Errorf("nothing was measured: cut short %s", report.Cut)
	}
	if err := a.showBench(r, report); err != nil {
		return err
	}
	if ended() && report.Cut != "" {
		return &cutError{When: report.Cut}
	}
	return nil
}

// jobs returns the jobs to run.
func (r *benchRequest) jobs() (jobs []benchmark.Job, err error) {
	switch {
	case r.shapes != "":
		jobs, err = readShapes(r.shapes)
	case r.sweep > 0:
		jobs, err = benchmark.Sweep(r.sweep, r.seed, r.suites...)
	default:
		jobs, err = benchmark.Jobs(r.suites...)
	}
	if err != nil {
		return nil, err
	}
	return only(jobs, r.only)
}

// showBench joins reports from other runs and prints the result.
func (a *app) showBench(r *benchRequest, report *benchmark.Report) error {
	for _, path := range r.compare {
		other, err := readReport(path)
		if err != nil {
			return err
		}
		report.Compare(other)
	}
	if r.plot != "" {
		if err := atomicfile.WriteFile(r.plot, report.WritePNG); err != nil {
			return unwritten(err)
		}
	}
	switch {
	case a.JSON:
		return a.WriteJSON(schema.Bench, report)
	case r.benchstat:
		return report.WriteBenchstat(a.Out)
	}
	write, title := report.WriteTable, ""
	if r.markdown {
		write = report.WriteMarkdown
	}
	if err := write(a.Out); err != nil {
		return err
	}
	switch {
	case r.sweep > 0:
		title = fmt.Sprintf(", seed %d", r.seed)
	case !r.worstToo:
		return nil
	}
	return report.WriteWorst(a.Out, r.worst, title)
}

// listJobs prints the jobs. With --json it prints a file for --shapes.
func (a *app) listJobs(jobs []benchmark.Job) error {
	if a.JSON {
		list := []map[string]any{}
		for _, j := range jobs {
			text, err := json.Marshal(j)
			if err != nil {
				return err
			}
			fields := map[string]any{}
			if err := json.Unmarshal(text, &fields); err != nil {
				return err
			}
			fields["suite"], fields["name"] = j.Suite(), j.Name()
			list = append(list, fields)
		}
		return a.WriteJSON(schema.BenchJobs, map[string]any{"jobs": list})
	}
	for _, j := range jobs {
		if _, err := fmt.Fprintf(a.Out, "%-10s %s\n", j.Suite(), j.Name()); err != nil {
			return err
		}
	}
	return nil
}

// jobRuns is the report for a job that ran under a profiler.
type jobRuns struct {
	Suite   string `json:"suite"`
	Job     string `json:"job"`
	Runs    int    `json:"runs"`
	Read    int64  `json:"read_bytes"`
	Written int64  `json:"written_bytes"`
}

func (a *app) profileRuns(dev *ops.Device, jobs []benchmark.Job, n int) error {
	var list []jobRuns
	for _, j := range jobs {
		read, written, err := benchmark.Runs(dev, j, n)
		if err != nil {
			return err
		}
		list = append(list, jobRuns{j.Suite(), j.Name(), n, read, written})
	}
	if a.JSON {
		return a.WriteJSON(schema.BenchRuns, map[string]any{"runs": list})
	}
	for _, p := range list {
		if _, err := fmt.Fprintf(a.Out, "%s %s: %d runs, %d bytes read, %d written, at least, each\n", p.Suite, p.Job, p.Runs, p.Read, p.Written); err != nil {
			return err
		}
	}
	return nil
}

// firstResult measures the time from the program's start to its first result.
func (a *app) firstResult(dev *ops.Device) error {
	_, err := dev.Resample(context.Background(), ops.ResampleArgs{
		Src:      tensor.Must(tensor.Of([]float32{0, 1, 2}, 3, 1)),
		SrcTimes: tensor.Must(tensor.Of([]int64{0, 10, 20}, 3)),
		Targets:  ops.Uniform(0, 2e8, 5),
	}, ops.ResampleOptions{})
	if err != nil {
		return err
	}
	ms := time.Since(started).Seconds() * 1e3
	if a.JSON {
		return a.WriteJSON(schema.BenchStart, map[string]any{"first_result_ms": ms, "device": dev.Info().Name, "kernels": dev.Info().Kernels})
	}
	_, err = fmt.Fprintf(a.Out, "start to first result: %.0f ms on %s %s\n", ms, dev.Info().Name, dev.Info().Kernels)
	return err
}
