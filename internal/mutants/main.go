// Command mutants asks whether the conformance suite would notice a defect in a kernel. It changes one instruction of the
// shipped PTX at a time, runs the suite on the simulated device, and counts the changes that make it fail.
//
//	go run ./internal/mutants -n 300 -seed 1
//
// Only instructions that the suite runs are changed: arithmetic, comparisons, conversions, loads, stores, atomics and branches.
// What nothing runs is counted and reported, by family. A mutant that survives wants a case that notices it, or an argument that it
// computes the same: in the search for a target's place, for one, a worse first guess costs time and no bit. It takes a core-hour
// or so; -only and -n make it shorter. The exit code is 1 if fewer than 95 of 100 mutants were noticed. It needs Go, or, for a
// machine with many cores and no Go, -trial with what "CGO_ENABLED=0 go test -c ./internal/mutants" made.
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
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/robocache/robocache/ptx"
)

const wanted = 0.95

// suites says which tests of the suite look at the kernels of a family. Families that no operation launches are not here.
var suites = map[string]string{
	"resample":          resampleSuite,
	"resample_channels": resampleSuite,
	"resample_plain":    resampleSuite,
	"fuse":              "^TestTrial$/^fuse$",
	"fuse_plain":        "^TestTrial$/^fuse$",
	"voxel_bin":         voxelSuite,
	"voxel_count":       voxelSuite,
	"voxel_reduce":      voxelSuite,
	"voxel_sort":        voxelSuite,
}

const (
	resampleSuite = "^TestTrial$/^(named|values|golden|properties|generated)$"
	voxelSuite    = "^TestTrial$/^voxel$/^(named|golden|properties|generated)$"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

type options struct {
	n, workers int
	seed       uint64
	only, out  string
	trial      string
	timeout    time.Duration
}

func run(args []string, stdout, stderr io.Writer) int {
	var o options
	flags := flag.NewFlagSet("mutants", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.n, "n", 300, "how many mutants, shared out evenly among the families")
	flags.Uint64Var(&o.seed, "seed", 1, "of the sample")
	flags.StringVar(&o.only, "only", "", "families to take mutants of, by commas; all unless given")
	flags.StringVar(&o.out, "out", "", "write every mutant that was tried and its end to this file, as JSON, as they come")
	flags.StringVar(&o.trial, "trial", "", "the test binary of this package; built unless given")
	flags.IntVar(&o.workers, "workers", runtime.GOMAXPROCS(0), "how many to try at once")
	flags.DurationVar(&o.timeout, "timeout", 3*time.Minute, "after which a trial counts as noticed: it hangs")
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
		build := exec.Command("go", "test", "-c", "-o", trial, "github.com/robocache/robocache/internal/mutants")
		build.Stderr = stderr
		if err := build.Run(); err != nil {
			return false, fmt.Errorf("building the trial: %w", err)
		}
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
	var all []*Mutant
	for i, family := range families {
		fmt.Fprintf(stderr, "finding out which instructions of %s run\n", family)
		ran, err := coverage(trial, dir, family)
		if err != nil {
			return false, err
		}
		text := imageOf(family)
		found := candidates(family, text, ran)
		r := rand.New(rand.NewPCG(o.seed, uint64(i)))
		r.Shuffle(len(found.mutants), func(a, b int) { found.mutants[a], found.mutants[b] = found.mutants[b], found.mutants[a] })
		share := (o.n*(i+1))/len(families) - o.n*i/len(families)
		all = append(all, found.mutants[:min(share, len(found.mutants))]...)
		fmt.Fprintf(stdout, "%-18s %6d instructions, %6d of them run by the suite, %6d can be changed\n", family, found.instructions, found.ran, len(found.mutants))
	}
	if err := o.tryAll(trial, all, stderr); err != nil {
		return false, err
	}
	return report(stdout, families, all), nil
}

// write replaces the file of -out.
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

// imageOf is the PTX that the simulated device loads.
func imageOf(family string) []byte {
	for _, im := range ptx.Images(family) {
		if im.Kind == ptx.PTX && im.SM == 90 {
			return im.Data()
		}
	}
	panic("mutants: no sm_90 PTX of " + family)
}

// coverage runs the suite once on good kernels and reads which lines ran.
func coverage(trial, dir, family string) (map[int]bool, error) {
	file := filepath.Join(dir, family+".lines")
	task, _ := json.Marshal(Task{Family: family, Lines: file})
	cmd := exec.Command(trial, "-test.run", suites[family], "-test.timeout", "30m")
	cmd.Env = append(os.Environ(), TaskEnv+"="+string(task))
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the suite fails on good kernels: %w\n%s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var lines []int
	if err := json.Unmarshal(text, &lines); err != nil {
		return nil, err
	}
	ran := map[int]bool{}
	for _, n := range lines {
		ran[n] = true
	}
	return ran, nil
}

// tryAll runs the suite on each mutant.
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
	task, _ := json.Marshal(Task{Family: m.Family, Line: m.Line, New: m.New})
	cmd := exec.Command(trial, "-test.run", suites[m.Family], "-test.failfast", "-test.timeout", timeout.String())
	cmd.Env = append(os.Environ(), TaskEnv+"="+string(task))
	began := time.Now()
	out, err := cmd.CombinedOutput()
	m.Seconds = time.Since(began).Seconds()
	switch {
	case err == nil:
		m.End = Survived
	default:
		m.End, m.Why = Noticed, firstFailure(string(out))
	}
}

// firstFailure is the first subtest that failed, or the first line of what came instead.
func firstFailure(out string) string {
	best := ""
	for line := range strings.Lines(out) {
		if _, name, ok := strings.Cut(line, "--- FAIL: "); ok {
			best = strings.TrimSpace(name) // the innermost comes last
		} else if strings.HasPrefix(line, "panic: ") && best == "" {
			return strings.TrimSpace(line)
		}
	}
	return best
}

// report prints the counts and the survivors, and says whether enough were noticed.
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
		noticed, left := count(family, Noticed), count(family, Survived)
		share := 1.0
		if noticed+left > 0 {
			share = float64(noticed) / float64(noticed+left)
		}
		fmt.Fprintf(w, "%-18s %4d noticed, %3d survived: %.1f %%\n", name, noticed, left, 100*share)
		return share
	}
	for _, f := range families {
		row(f, f)
	}
	share := row("together", "")
	for _, m := range all {
		if m.End == Survived {
			fmt.Fprintf(w, "\n%s, %s, line %d: %s\n  was %s\n  now %s\n", m.Family, m.Kernel, m.Line, m.Rule, strings.TrimSpace(m.Old), strings.TrimSpace(m.New))
		}
	}
	return share >= wanted
}
