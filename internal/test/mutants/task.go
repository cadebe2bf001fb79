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

// TaskEnv holds the name of a file with a Task for the trial, as JSON.
const TaskEnv = "ROBOCACHE_MUTANT"

// Task is what a trial does: run a part of the suite with one line of a family's PTX replaced, or find out what it runs.
type Task struct {
	Suite    string // resample, fuse, backward, voxel, draw, or a group of package nntest
	Coverage string // a file for what was found out; then nothing is replaced
	Shard    int    // of the generated cases, which of shards parts; the first comes with the other cases
	Family   string
	Line     int
	New      string                   // the line
	Cases    []string                 // generated ones that run it: numbers of a sample, or names of nntest
	Work     map[string][]pins.Launch // what good kernels do in the operation's pinned shapes
}

// Coverage is what the suite runs on good kernels.
type Coverage struct {
	Lines map[string]map[int]bool    // by family
	At    map[string]map[int][]int32 // by family and line: which generated cases run it
	Cases []string
	Work  map[string][]pins.Launch // as Task's
}

func newCoverage() *Coverage {
	return &Coverage{Lines: map[string]map[int]bool{}, At: map[string]map[int][]int32{}}
}

// pinned is the operation that a suite's pinned shapes are of: networks, if it is a group of package nntest.
func pinned(suite string) string {
	if slices.Contains(pins.Operations(), suite) {
		return suite
	}
	return "nn"
}

// mostCases is how many generated cases a trial runs at most, by suite: half a minute's.
// Of a group of package nntest it runs all: they are its only cases.
var mostCases = map[string]int{"resample": 600, "fuse": 300, "backward": 300, "voxel": 200, "draw": 300, "tally": 100}

// casesAt lists the generated cases that run a line, evenly picked if they are more than a trial runs.
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

// shards is in how many parts, which may run beside each other, a suite is asked what it runs.
const shards = 6

// find asks the trial, or the file of an earlier run of the same trial.
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

// add adds what another part of the suite runs.
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

// run does the task in a process of its own.
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

// imageOf is the PTX that the simulated device loads.
func imageOf(family string) []byte {
	for _, im := range ptx.Images(family) {
		if im.Kind == ptx.PTX && im.SM == 90 {
			return im.Data()
		}
	}
	panic("mutants: no sm_90 PTX of " + family)
}
