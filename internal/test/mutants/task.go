package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/robocache/robocache/internal/test/pins"
	"github.com/robocache/robocache/ptx"
)

// TaskEnv is the environment variable with the name of the trial's task file, which is a Task as JSON.
const TaskEnv = "ROBOCACHE_MUTANT"

// Task describes a trial. It runs a part of the suite with one line of a family's PTX replaced, or records the lines that the suite
// runs.
type Task struct {
	Suite    string // resample, fuse, backward, voxel, draw, or a group of package nntest
	Coverage string // file for a Coverage; if it is set, no line is replaced
	Shard    int    // from 0 to shards-1, a part of the generated cases; part 0 also has the other cases
	Family   string
	Line     int
	New      string                   // the text that replaces the line
	Cases    []string                 // generated cases that run the line: sample numbers, or names from nntest
	Work     map[string][]pins.Launch // the work of the original kernels in the operation's pinned shapes
}

// Coverage records the lines that the suite runs on the original kernels.
type Coverage struct {
	Lines map[string]map[int]bool    // by family
	At    map[string]map[int][]int32 // by family and line: indices in Cases of the generated cases that run it
	Cases []string
	Work  map[string][]pins.Launch // as in Task
}

func newCoverage() *Coverage {
	return &Coverage{Lines: map[string]map[int]bool{}, At: map[string]map[int][]int32{}}
}

// pinned returns the operation with the pinned shapes for a suite: "nn" for a group of package nntest, otherwise the suite itself.
func pinned(suite string) string {
	if slices.Contains(pins.Operations(), suite) {
		return suite
	}
	return "nn"
}

// mostCases limits the generated cases of a trial, by suite, to about half a minute. A group of package nntest has no limit, because
// it has no other cases.
var mostCases = map[string]int{"resample": 600, "fuse": 300, "backward": 300, "voxel": 200, "draw": 300, "tally": 100, "frames": 200, "deproject": 200, "farthest": 200, "integrate": 100}

// casesAt returns the generated cases that run a line. If there are more than mostCases, it picks that many at even distances.
func (c *Coverage) casesAt(family string, line int) []string {
	all := c.At[family][line]
	n := len(all)
	if most, ok := mostCases[suites[family]]; ok {
		n = min(n, most)
	}
	cases := make([]string, n)
	for i := range cases {
		cases[i] = c.Cases[all[i*len(all)/n]]
	}
	return cases
}

// shards is the number of parts into which a suite is divided for its coverage. The parts may run in parallel.
const shards = 6

// find reads the coverage of one part of a suite. It runs the trial program, unless a file from an earlier run of the same program
// exists. It returns an error if the suite fails on the original kernels.
func (c *Coverage) find(trial, dir, suite string, shard int) error {
	program, err := os.ReadFile(trial)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, fmt.Sprintf("%s-%d-%x.gob", suite, shard, sha256.Sum256(program)))
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		if out, err := (Task{Suite: suite, Coverage: file, Shard: shard}).run(trial, time.Hour); err != nil {
			return fmt.Errorf("the suite fails on good kernels: %w\n%s", err, out)
		}
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return err
	}
	return gob.NewDecoder(bytes.NewReader(text)).Decode(c)
}

// add adds the coverage of another part of the suite.
func (c *Coverage) add(o *Coverage) {
	for family, lines := range o.Lines {
		if c.Lines[family] == nil {
			c.Lines[family], c.At[family] = map[int]bool{}, map[int][]int32{}
		}
		for line := range lines {
			c.Lines[family][line] = true
		}
		for line, cases := range o.At[family] {
			for _, n := range cases {
				c.At[family][line] = append(c.At[family][line], n+int32(len(c.Cases)))
			}
		}
	}
	c.Cases = append(c.Cases, o.Cases...)
	if o.Work != nil {
		c.Work = o.Work
	}
}

// run runs the task in another process and returns its output. The error is not nil if the process fails.
func (t Task) run(trial string, timeout time.Duration) ([]byte, error) {
	file, err := os.CreateTemp("", "mutant-*.json")
	if err != nil {
		return nil, err
	}
	defer os.Remove(file.Name())
	if err := errors.Join(json.NewEncoder(file).Encode(t), file.Close()); err != nil {
		return nil, err
	}
	cmd := exec.Command(trial, "-test.run", "^TestTrial$", "-test.failfast", "-test.timeout", timeout.String())
	cmd.Env = append(os.Environ(), TaskEnv+"="+file.Name())
	return cmd.CombinedOutput()
}

// imageOf returns the PTX of a family for sm_90, which the simulated device loads. It panics if the family has none.
func imageOf(family string) []byte {
	for _, im := range ptx.Images(family) {
		if im.Kind == ptx.PTX && im.SM == 90 {
			return im.Data()
		}
	}
	panic("mutants: no sm_90 PTX of " + family)
}
