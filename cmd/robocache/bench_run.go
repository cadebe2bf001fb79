package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/robocache/robocache/internal/benchmark"
	"github.com/robocache/robocache/ops"
	"github.com/spf13/cobra"
)

// started is the program's start time, for --first.
var started = time.Now()

// progress shows the current job on a terminal.
func (a *app) progress() func(done, all int, j benchmark.Job) {
	if a.Announce == nil {
		return nil
	}
	return func(done, all int, j benchmark.Job) {
		a.Draw(fmt.Sprintf("%d of %d: %s %s", done+1, all, j.Suite(), j.Name()))
	}
}

// measured prints a line for each finished job in a sweep, so that a crash does not lose it.
func (a *app) measured(done, all int, row *benchmark.Row) {
	fmt.Fprintf(a.Err, "%d of %d: %.3g us, ratio %.2f, %s %s\n", done, all, row.Time.Median, row.Ratio, row.Suite, row.Job)
}

// readJSON reads a file by a function.
func readJSON[T any](path string, read func(io.Reader) (T, error)) (v T, err error) {
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		v, err = read(f)
	}
	if err != nil {
		return v, &inputError{Path: path, Err: err}
	}
	return v, nil
}

func readShapes(path string) ([]benchmark.Job, error) { return readJSON(path, benchmark.ReadShapes) }

// only returns the jobs with a suite and name that match a regular expression.
func only(jobs []benchmark.Job, expr string) ([]benchmark.Job, error) {
	match, err := regexp.Compile(expr)
	if err != nil {
		return nil, usagef("--only %q: %v", expr, err)
	}
	jobs = slices.DeleteFunc(jobs, func(j benchmark.Job) bool { return !match.MatchString(j.Suite() + " " + j.Name()) })
	if len(jobs) == 0 {
		return nil, usagef("no job matches --only %q: bench --list lists them", expr)
	}
	return jobs, nil
}

func readReport(path string) (*benchmark.Report, error) {
	return readJSON(path, func(r io.Reader) (*benchmark.Report, error) { return benchmark.ReadReport(r, path) })
}

func suiteNames() []string {
	var names []string
	for _, s := range benchmark.Suites() {
		names = append(names, s[0])
	}
	return names
}

func suiteList() string {
	var b strings.Builder
	for _, s := range benchmark.Suites() {
		fmt.Fprintf(&b, "  %-10s %s\n", s[0], s[1])
	}
	return strings.TrimRight(b.String(), "\n")
}

// launchModes are the --launch values.
func launchModes() []string { return []string{"default", "dependent", "ready"} }

// launchMode parses a --launch value.
func launchMode(name string) (ops.LaunchMode, error) {
	mode, err := ops.ParseLaunchMode(name)
	if err != nil {
		return mode, usagef("--launch %q: want default, dependent or ready", name)
	}
	return mode, nil
}

// measuring has the flags for repetitions and durations.
type measuring struct {
	options benchmark.Options
	limit   time.Duration
	rotate  float64
	launch  string
}

func (m *measuring) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&m.options.Samples, "samples", 31, "the least number of samples, at least 5")
	f.DurationVar(&m.options.Time, "time", 200*time.Millisecond, "the least time that the samples of a job take together")
	f.DurationVar(&m.limit, "limit", 0, "measure for no longer than that, and write the results so far")
	f.DurationVar(&m.options.Batch, "batch", 10*time.Millisecond, "about how long a sample takes")
	f.Float64Var(&m.rotate, "rotate", 0, "megabytes of input sets that the calls take in turn (default 300 on a GPU, 64 on the CPU)")
	f.StringVar(&m.launch, "launch", "default", "how resample and fuse jobs follow each other on a GPU: default, dependent (the next is made ready meanwhile) or ready (they overlap)")
	complete(cmd, "launch", launchModes)
}

func (m *measuring) check() (err error) {
	if m.limit < 0 || !(m.rotate >= 0) {
		return usagef("--limit and --rotate are not negative")
	}
	m.options.Rotate = int64(m.rotate * 1e6)
	m.options.Launch, err = launchMode(m.launch)
	return err
}
