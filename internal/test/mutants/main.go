// Command mutants measures whether the conformance suite finds defects in kernels. It changes one instruction of the shipped PTX at a
// time, runs the suite on the simulated device, and counts the changes that make the suite fail.
//
//	go run ./internal/test/mutants -n 300 -seed 1
//
// It changes only instructions that the suite runs: arithmetic, comparisons, conversions, loads, stores, atomics, and branches.
// Instructions that no case runs are counted by family.
//
// First it runs the suite on the original kernels, with many more generated cases than usual, and records the lines that each case
// runs. The trial of a mutant runs the cases that reach its line, with blocks and warps in another order, and then the named cases.
// All run under checks for races, reads of uninitialised memory, and accesses out of bounds. Finally the changed kernels must do the
// same work as the original ones in the main shapes of the operation, as counted by package pins. This finds a defect that costs time
// but changes no result; such mutants are counted separately.
//
// A mutant that survives needs a new case that finds it, or an argument that it is equivalent. A full run takes about a core-hour.
// The flags -only, -kernels and -n shorten it, and -from tries the survivors of an earlier run. The exit code is 1 if fewer than 95 %
// of the mutants were found. The program needs Go, or -trial with a test binary made by "CGO_ENABLED=0 go test -c
// ./internal/test/mutants", for a machine with many cores and no Go.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/robocache/robocache/ptx"
)

const wanted = 0.95

// suites has the part of the suite for each kernel family: an operation, or a group of package nntest. Families that no operation
// launches are missing.
var suites = map[string]string{
	"resample": "resample", "resample_f64": "resample", "resample_channels": "resample", "resample_channels_f64": "resample", "resample_curves": "resample",
	"resample_curves_f64": "resample", "resample_fast": "resample", "resample_thread_per_row": "resample",
	"fuse": "fuse", "fuse_chunks": "fuse", "fuse_fast": "fuse", "fuse_unaligned": "fuse", "fuse_small": "fuse",
	"fuse_backward": "backward", "fuse_backward_f64": "backward",
	"voxel_fill": "voxel", "voxel_write": "voxel", "voxel_count": "voxel", "voxel_atomic": "voxel", "voxel_bucket": "voxel", "voxel_group": "voxel", "voxel_sort": "voxel", "voxel_reduce": "voxel", "voxel_f64": "voxel",
	"draw":      "draw",
	"tally":     "tally",
	"frames":    "frames",
	"deproject": "deproject",
	"farthest":  "farthest",
	"integrate": "integrate",
	"tokens":    "tokens", "matmul": "matmul", "matmul_norm": "matmul", "matmul_norm_back": "matmul", "attention": "attention", "attention_backward": "attention", "norm": "norm",
	"noise": "noise", "embed": "embed", "loss": "loss", "gradient": "gradient", "adamw": "gradient",
}

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

type options struct {
	n, workers int
	seed       uint64
	only, out  string
	kernels    string
	from       string
	trial, dir string
	timeout    time.Duration
}

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.n, "n", 300, "how many mutants, shared out evenly among the families")
	flags.Uint64Var(&o.seed, "seed", 1, "of the sample")
	flags.StringVar(&o.only, "only", "", "families to take mutants of, by commas; all unless given")
	flags.StringVar(&o.kernels, "kernels", "", "take mutants only of kernels whose names match this regular expression")
	flags.StringVar(&o.out, "out", "", "write every mutant that was tried and its end to this file, as JSON, as they come")
	flags.StringVar(&o.from, "from", "", "try again what survived in this file, which -out wrote, in place of a sample")
	flags.StringVar(&o.dir, "dir", "", "a folder that keeps which lines the suite runs, for the next time")
	flags.StringVar(&o.trial, "trial", "", "the test binary of this package; built unless given")
	flags.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "how many to try at once")
	flags.DurationVar(&o.timeout, "timeout", 15*time.Minute, "after which a trial counts as noticed: it hangs")
	if err := flags.Parse(args); err != nil || flags.NArg() > 0 {
		return 2
	}
	ok, err := o.run(stdout, stderr)
	switch {
	case err != nil:
		fmt.Fprintln(stderr, "mutants:", err)
		return 2
	case !ok:
		return 1
	}
	return 0
}

func (o *options) run(stdout, stderr io.Writer) (bool, error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	trial, err := filepath.Abs(o.trial)
	if err != nil {
		return false, err
	}
	if o.trial == "" {
		trial = filepath.Join(dir, "trial")
		build := exec.Command("go", "test", "-c", "-o", trial, "github.com/robocache/robocache/internal/test/mutants")
		build.Stderr = stderr
		if err := build.Run(); err != nil {
			return false, fmt.Errorf("building the trial: %w", err)
		}
	}
	if o.dir != "" {
		dir = o.dir
	}
	var families []string
	for _, name := range ptx.Families() {
		if suites[name] != "" && (o.only == "" || slices.Contains(strings.Split(o.only, ","), name)) {
			families = append(families, name)
		}
	}
	if len(families) == 0 {
		return false, fmt.Errorf("-only: got %q, want some of %v", o.only, ptx.Families())
	}
	kernels, err := regexp.Compile(o.kernels)
	if err != nil {
		return false, fmt.Errorf("-kernels: %w", err)
	}
	fmt.Fprintf(stderr, "finding out which instructions run\n")
	covered, err := o.coverage(trial, dir, families)
	if err != nil {
		return false, err
	}
	again, err := o.again()
	if err != nil {
		return false, err
	}
	var all []*Mutant
	for i, family := range families {
		c := covered[suites[family]]
		found := candidates(family, imageOf(family), c.Lines[family])
		sample := slices.DeleteFunc(slices.Clone(found.mutants), func(m *Mutant) bool { return !kernels.MatchString(m.Kernel) })
		if o.from != "" {
			sample = slices.DeleteFunc(sample, func(m *Mutant) bool { return !again[m.key()] })
		} else {
			r := rand.New(rand.NewPCG(o.seed, uint64(i)))
			r.Shuffle(len(sample), func(a, b int) { sample[a], sample[b] = sample[b], sample[a] })
			share := (o.n*(i+1))/len(families) - o.n*i/len(families)
			sample = sample[:min(share, len(sample))]
		}
		for _, m := range sample {
			m.task = Task{Suite: suites[family], Family: family, Line: m.Line, New: m.New, Cases: c.casesAt(family, m.Line), Work: c.Work}
		}
		all = append(all, sample...)
		fmt.Fprintf(stdout, "%-18s %6d instructions, %6d of them run by the suite, %6d can be changed\n", family, found.instructions, found.ran, len(found.mutants))
	}
	if err := o.tryAll(trial, all, stderr); err != nil {
		return false, err
	}
	return report(stdout, families, all), nil
}

// again returns the keys of the survivors, with or without an argument, in the file of -from. It returns nil if -from is not set.
func (o *options) again() (map[string]bool, error) {
	if o.from == "" {
		return nil, nil
	}
	text, err := os.ReadFile(o.from)
	if err != nil {
		return nil, err
	}
	var all []*Mutant
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", o.from, err)
	}
	again := map[string]bool{}
	for _, m := range all {
		if m.End == Survived || m.End == Argued {
			again[m.key()] = true
		}
	}
	return again, nil
}

// write replaces the file of -out by the mutants tried so far. It does nothing if -out is not set.
func (o *options) write(all []*Mutant) error {
	if o.out == "" {
		return nil
	}
	tried := slices.DeleteFunc(slices.Clone(all), func(m *Mutant) bool { return m.End == "" })
	text, err := json.MarshalIndent(tried, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(o.out, append(text, '\n'), 0o644)
}

// coverage runs the suites of the families on the original kernels, several parts in parallel, and returns the coverage by suite.
func (o *options) coverage(trial, dir string, families []string) (map[string]*Coverage, error) {
	parts := map[string]*[shards]Coverage{}
	var failed error
	var wg sync.WaitGroup
	var mu sync.Mutex
	free := make(chan bool, o.workers)
	for _, family := range families {
		suite := suites[family]
		if parts[suite] != nil {
			continue
		}
		parts[suite] = new([shards]Coverage)
		for i := range parts[suite] {
			wg.Go(func() {
				free <- true
				defer func() { <-free }()
				if err := parts[suite][i].find(trial, dir, suite, i); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed = errors.Join(failed, err)
				}
			})
		}
	}
	wg.Wait()
	all := map[string]*Coverage{}
	for suite, list := range parts {
		all[suite] = newCoverage()
		for i := range list {
			all[suite].add(&list[i])
		}
	}
	return all, failed
}

// tryAll runs the trial of each mutant, in parallel, and writes the file of -out after each.
func (o *options) tryAll(trial string, all []*Mutant, stderr io.Writer) error {
	var failed error
	work := make(chan *Mutant)
	var wg sync.WaitGroup
	var mu sync.Mutex
	done, noticed, began := 0, 0, time.Now()
	for range o.workers {
		wg.Go(func() {
			for m := range work {
				tried := *m
				tried.try(trial, o.timeout)
				mu.Lock()
				*m = tried
				failed = errors.Join(failed, o.write(all))
				done++
				if m.End != Survived {
					noticed++
				}
				fmt.Fprintf(stderr, "\r%d of %d, %d noticed, %s ", done, len(all), noticed, time.Since(began).Round(time.Second))
				mu.Unlock()
			}
		})
	}
	for _, m := range all {
		work <- m
	}
	close(work)
	wg.Wait()
	fmt.Fprintln(stderr)
	return failed
}

func (m *Mutant) try(trial string, timeout time.Duration) {
	began := time.Now()
	out, err := m.task.run(trial, timeout)
	m.Seconds = time.Since(began).Seconds()
	switch {
	case err == nil:
		m.End = Survived
		if m.Why = argued(strings.Split(string(imageOf(m.Family)), "\n"), m); m.Why != "" {
			m.End = Argued
		}
	default:
		m.End, m.Why = Noticed, firstFailure(string(out))
		if strings.HasPrefix(m.Why, "TestTrial/work") {
			m.End = ByWork
		}
	}
}

// firstFailure returns the name of the first failed subtest with all its parents, or the line of a panic if that comes first. It is
// "" if there is neither.
func firstFailure(out string) string {
	best := ""
	for line := range strings.Lines(out) {
		if _, name, ok := strings.Cut(line, "--- FAIL: "); ok {
			best = strings.TrimSpace(name) // the innermost subtest is printed last
		} else if strings.HasPrefix(line, "panic: ") && best == "" {
			return strings.TrimSpace(line)
		}
	}
	return best
}

// report prints the counts and the survivors. It returns true if at least 95 % of the mutants were found.
func report(w io.Writer, families []string, all []*Mutant) bool {
	count := func(family string, end End) (n int) {
		for _, m := range all {
			if (family == "" || m.Family == family) && m.End == end {
				n++
			}
		}
		return n
	}
	row := func(name, family string) float64 {
		noticed, work, left, argued := count(family, Noticed), count(family, ByWork), count(family, Survived), count(family, Argued)
		share := 1.0
		if noticed+work+left > 0 {
			share = float64(noticed+work) / float64(noticed+work+left)
		}
		fmt.Fprintf(w, "%-18s %4d noticed, %3d of them by nothing but the work done, %3d survived: %.1f %%; %d equivalent, by argument\n", name, noticed+work, work, left, 100*share, argued)
		return share
	}
	for _, f := range families {
		row(f, f)
	}
	share := row("together", "")
	for _, a := range arguments {
		n := 0
		for _, m := range all {
			if m.End == Argued && m.Why == a.name {
				n++
			}
		}
		if n > 0 {
			fmt.Fprintf(w, "\n%d equivalent, %s: %s\n", n, a.name, a.why)
		}
	}
	for _, m := range all {
		if m.End == Survived {
			fmt.Fprintf(w, "\n%s, %s, line %d: %s\n  was %s\n  now %s\n", m.Family, m.Kernel, m.Line, m.Rule, strings.TrimSpace(m.Old), strings.TrimSpace(m.New))
		}
	}
	return share >= wanted
}
