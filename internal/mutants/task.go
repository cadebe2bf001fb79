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
	"time"

	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/ptx"
)

// TaskEnv holds the name of a file with a Task for the trial, as JSON.
const TaskEnv = "ROBOCACHE_MUTANT"

// Task is what a trial does: run a part of the suite with one line of a family's PTX replaced, or find out what it runs.
type Task struct {
	Suite    string // resample, fuse or voxel
	Coverage string // a file for what was found out; then nothing is replaced
	Family   string
	Line     int
	New      string        // the line
	Cases    []Case        // generated ones that run it
	Work     cudasim.Tally // what good kernels do in the suite
}

// Case is a generated case, and what good kernels do in it.
type Case struct {
	Name string
	Work cudasim.Tally
}

// Coverage is what the suite runs on good kernels.
type Coverage struct {
	Lines map[string]map[int]bool    // by family
	At    map[string]map[int][]int32 // by family and line: which generated cases run it
	Cases []Case
	Work  cudasim.Tally
}

// mostCases is how many generated cases a trial runs at most, by suite: half a minute's.
var mostCases = map[string]int{"resample": 600, "fuse": 300, "voxel": 200}

// casesAt lists the generated cases that run a line, evenly picked if they are more than a trial runs.
func (c *Coverage) casesAt(family string, line int) []Case {
	all := c.At[family][line]
	n := min(len(all), mostCases[suites[family]])
	cases := make([]Case, n)
	for i := range cases {
		cases[i] = c.Cases[all[i*len(all)/n]]
	}
	return cases
}

// find asks the trial, or the file of an earlier run of the same trial.
func (c *Coverage) find(trial, dir, suite string) error {
	program, err := os.ReadFile(trial)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, fmt.Sprintf("%s-%x.gob", suite, sha256.Sum256(program)))
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		if out, err := (Task{Suite: suite, Coverage: file}).run(trial, time.Hour); err != nil {
			return fmt.Errorf("the suite fails on good kernels: %w\n%s", err, out)
		}
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return err
	}
	return gob.NewDecoder(bytes.NewReader(text)).Decode(c)
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
