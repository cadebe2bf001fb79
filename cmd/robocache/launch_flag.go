package main

import (
	"time"

	"github.com/robocache/robocache/internal/benchmark"
	"github.com/robocache/robocache/ops"
	"github.com/spf13/cobra"
)

// launchModes are the values of --launch.
func launchModes() []string { return []string{"default", "dependent", "ready"} }

// launchMode reads one.
func launchMode(name string) (ops.LaunchMode, error) {
	mode, err := ops.ParseLaunchMode(name)
	if err != nil {
		return mode, usagef("--launch %q: want default, dependent or ready", name)
	}
	return mode, nil
}

// measuring is how long and how jobs are measured, as given.
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
	f.DurationVar(&m.limit, "limit", 0, "measure for no longer than that, and write what was measured until then")
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
