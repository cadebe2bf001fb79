package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// brief are flags that measure so briefly that only the form of the figures can be checked.
var brief = []string{"--backend=cpu", "--samples=5", "--time=1us", "--batch=1us", "--rotate=1"}

// shapesFile writes two small jobs. The CPU cannot run one of them.
func shapesFile(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shapes.json")
	text := `{"jobs": [{"suite": "resample", "B": 2, "S": 9, "T": 5, "D": 3}, {"suite": "launch", "form": "plan"}, {"suite": "launch", "form": "graph"}]}`
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func benched(t *testing.T, args ...string) (stdout, stderr string) {
	t.Helper()
	return good(t, append(append([]string{"bench"}, brief...), args...)...)
}

func TestBenchPrintsATable(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	out, stderr := benched(t, "--shapes", shapesFile(t))
	assert.Regexp(t, `(?s)^robocache .* on cpu, .*\nresample\n +job +ours +p10..p90 +limit +ratio .*\n +2x9->5x3 .* wall `, out)
	assert.Contains(t, out, "launch graph: the CPU launches no kernels")
	assert.Empty(t, stderr, "no progress where nobody sees it come")
}

func TestBenchWritesAndReadsItsFigures(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	text, _ := benched(t, "--shapes", shapesFile(t), "--json")
	v := unmarshal(t, text)
	rows := v["rows"].([]any)
	require.Len(t, rows, 2)
	row := rows[0].(map[string]any)
	assert.Equal(t, "2x9->5x3", row["job"])
	assert.Positive(t, row["time"].(map[string]any)["median_us"])
	assert.Positive(t, row["ratio"])
	assert.Equal(t, "cpu", v["device"].(map[string]any)["backend"])
	assert.Equal(t, "default", v["launch"])
	dir := t.TempDir()
	ours, peers, picture := filepath.Join(dir, "ours.json"), filepath.Join(dir, "peers.json"), filepath.Join(dir, "out.png")
	require.NoError(t, os.WriteFile(ours, []byte(text), 0o644))
	require.NoError(t, os.WriteFile(peers, []byte(`{"program": "numpy 2", "rows": [
		{"suite": "resample", "job": "2x9->5x3", "time": {"median_us": 1e6}}, {"suite": "resample", "job": "other", "time": {"median_us": 1}}]}`), 0o644))
	out, _ := good(t, "bench", "--from", ours, "--compare", peers, "--plot", picture)
	assert.Regexp(t, `(?m)^2x9->5x3 +numpy 2 +1000000 `, out)
	assert.Contains(t, out, "without a counterpart here:\n  resample other by numpy 2\n")
	assert.FileExists(t, picture)
	text, _ = good(t, "bench", "--from", ours, "--compare", peers, "--json")
	assert.Contains(t, text, `"who": "numpy 2"`)
	assert.Contains(t, text, `"resample other by numpy 2"`)
	assert.NotContains(t, text+out, "the worst of")
	for _, form := range []string{"--markdown=false", "--markdown"} {
		out, _ = good(t, "bench", "--from", ours, "--worst=1", form)
		assert.Regexp(t, `median ratio [\d.]+: resample [\d.]+\nthe worst of 1:\n\n    [\d.]+  [\d.]+ us  resample 2x9->5x3\n$`, out)
	}
	out, _ = good(t, "bench", "--from", ours, "--benchstat")
	assert.Regexp(t, `(?m)^BenchmarkResample/backend=cpu/B=2/S=9/T=5/D=3 \d+ [\d.]+ ns/op `, out)
}

func TestBenchListsItsJobsAsAShapesFile(t *testing.T) {
	names, _ := good(t, "bench", "--list")
	assert.Contains(t, names, "resample   64x4096->1024x32\n")
	text, _ := good(t, "bench", "--list", "--json")
	path := filepath.Join(t.TempDir(), "shapes.json")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	again, _ := good(t, "bench", "--list", "--shapes", path)
	assert.Equal(t, names, again)
	some, _ := good(t, "bench", "launch", "--list", "--only", "plan")
	assert.Equal(t, "launch     plan\n", some)
}

func TestBenchSweepsRandomShapes(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	list, _ := good(t, "bench", "resample", "--sweep=3", "--seed=5", "--list")
	assert.Equal(t, 3, strings.Count(list, "\n"))
	again, _ := good(t, "bench", "resample", "--sweep=3", "--seed=5", "--list")
	assert.Equal(t, list, again)
	small, _ := good(t, "bench", "voxelize", "--sweep=60", "--list", "--json")
	var jobs struct {
		Jobs []map[string]any `json:"jobs"`
	}
	require.NoError(t, json.Unmarshal([]byte(small), &jobs))
	assert.Len(t, jobs.Jobs, 60)
	out, _ := benched(t, "voxelize", "--sweep=60", "--only", `1\d\d\d->\d+\^3|->8\^3`, "--worst=2")
	_, worst, found := strings.Cut(out, "the worst of ")
	require.True(t, found)
	assert.Regexp(t, `^\d+, seed 1:\n\n +[\d.]+  [\d.]+ us  voxelize .*\n`, worst)
	assert.LessOrEqual(t, strings.Count(worst, "\n"), 4)
}

// signalling sends this process a signal when something is first written to it.
type signalling struct {
	bytes.Buffer
	once sync.Once
}

func (s *signalling) Write(p []byte) (int, error) {
	s.once.Do(func() {
		self, err := os.FindProcess(os.Getpid())
		if err != nil || self.Signal(os.Interrupt) != nil {
			panic("no signal was sent")
		}
	})
	return s.Buffer.Write(p)
}

func TestACutBenchWritesWhatItHas(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	args := append([]string{"bench"}, brief...)
	sweep := append(args, "forms", "--sweep=1000", "--only=x[1-9] ", "--worst=2")
	list, _ := good(t, "bench", "--list", "forms", "--sweep=1000", "--only=x[1-9] ")
	require.Greater(t, strings.Count(list, "\n"), 20)
	out, stderr := good(t, append(sweep, "--limit=200ms")...)
	assert.Regexp(t, `cut short after \d+ of \d+ jobs: --limit 200ms\n`, out)
	assert.Contains(t, out, "the worst of ")
	assert.Regexp(t, `^1 of \d+: [\d.e+]+ us, ratio [\d.]+, forms \d+x`, stderr)
	code, _, stderr := execute(append(args, "--limit=1ns")...)
	assert.Equal(t, exitOther, code)
	assert.Contains(t, stderr, "nothing was measured: cut short after 0 of")
	if runtime.GOOS == "windows" || signal.Ignored(os.Interrupt) {
		return // a program cannot send itself an interrupt there, and a shell's background jobs ignore it
	}
	for _, form := range []string{"", "--json"} {
		var stdout bytes.Buffer
		told := &signalling{}
		code := run(slices.DeleteFunc(append(slices.Clone(sweep), form), func(s string) bool { return s == "" }), strings.NewReader(""), &stdout, told)
		assert.Equal(t, exitOther, code)
		assert.Regexp(t, `cut short after \d+ of \d+ jobs: \S`, told.String())
		if form == "--json" {
			assert.Regexp(t, `^after \d+ of `, unmarshal(t, stdout.String())["cut"])
		} else {
			assert.Contains(t, stdout.String(), "\ncut short after ")
		}
	}
}

func TestBenchRunsForAProfiler(t *testing.T) {
	out, _ := good(t, "bench", "--backend=cpu", "--runs=3", "--shapes", shapesFileOf(t, `{"suite": "resample", "B": 2, "S": 9, "T": 5, "D": 3}`))
	assert.Equal(t, "resample 2x9->5x3: 3 runs, 220 bytes read, 60 written, at least, each\n", out)
	out, _ = good(t, "bench", "--backend=cpu", "--first")
	assert.Regexp(t, `^start to first result: \d+ ms on cpu`, out)
}

func TestBenchExplainsItsLaunches(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	jobs := shapesFileOf(t, `{"suite": "resample", "B": 2, "S": 9, "T": 5, "D": 3}`)
	out, _ := good(t, "bench", "--backend=sim", "--explain", "--shapes", jobs)
	assert.Regexp(t, `(?m)^resample 2x9->5x3 +resample\w* +\d+ +\d+ `, out)
	assert.Regexp(t, `(?m) plain$`, out)
	early, _ := good(t, "bench", "--backend=sim", "--explain", "--launch=ready", "--shapes", jobs)
	assert.Regexp(t, `(?m)^resample 2x9->5x3 .* (plain|early)$`, early)
	// After the table, each job lists the rejected kernels with the reasons, unless its kernel is the first.
	assert.Contains(t, early, `
resample 2x9->5x3
  not resample_small: rows that are no multiples of 16 bytes, or apart from each other
  not resample_fast: rows that are no multiples of 16 bytes, or apart from each other
  not resample_thread_per_row: one interpolation, and inputs that are ready
`)
	assert.Contains(t, early, "  not fuse_fast_few: widths or places that are no multiples of 4 bytes\nlaunch shapes")
	first, _ := good(t, "bench", "--backend=sim", "--explain", "--shapes", shapesFileOf(t, `{"suite": "resample", "B": 2, "S": 9, "T": 5, "D": 8}`))
	assert.NotContains(t, first, "  not ")
	text, _ := good(t, "bench", "--backend=sim", "--explain", "--json", "--launch=ready", "--shapes", jobs)
	considered := unmarshal(t, text)["jobs"].([]any)[0].(map[string]any)["launches"].([]any)[0].(map[string]any)["Considered"].([]any)
	assert.Equal(t, "resample_small", considered[0].(map[string]any)["Variant"])
	assert.NotEmpty(t, considered[0].(map[string]any)["Why"])
	clouds, _ := good(t, "bench", "--backend=sim", "--explain", "--shapes", shapesFileOf(t, `{"suite": "voxelize", "points": 1000, "cells": 9, "cloud": "uniform", "reduce": "count"}`))
	assert.Regexp(t, `(?m)^voxelize .*\n  not fill: there are points\n  not count: .*\n(launch|registers)`, clouds)
	out, _ = good(t, "bench", "--backend=cpu", "--explain", "--shapes", jobs)
	assert.Contains(t, out, "no launches: resample 2x9->5x3: the CPU launches no kernels\n")
}

func shapesFileOf(t *testing.T, jobs string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shapes.json")
	require.NoError(t, os.WriteFile(path, []byte(`{"jobs": [`+jobs+`]}`), 0o644))
	return path
}

func TestBenchRefusesWhatCannotBe(t *testing.T) {
	thorough.SkipRace(t, thorough.Programs)
	shapes := shapesFile(t)
	bad := shapesFileOf(t, `{"suite": "resample", "B": 0}`)
	for _, x := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"nothing"}, exitUsage, `got "nothing", want resample, `},
		{[]string{"--only=("}, exitUsage, "--only"},
		{[]string{"--only=nothing at all"}, exitUsage, "no job matches"},
		{[]string{"--samples=4"}, exitUsage, "samples: got 4, want 5 to"},
		{[]string{"--rotate=-1"}, exitUsage, "not negative"},
		{[]string{"--limit=-1s"}, exitUsage, "not negative"},
		{[]string{"--limit=1s", "--list"}, exitUsage, "--limit is how long"},
		{[]string{"--launch=early"}, exitUsage, "want default, dependent or ready"},
		{[]string{"--launch=ready", "--list"}, exitUsage, "--launch is for"},
		{[]string{"--list", "--first"}, exitUsage, "--list and --first do not go together"},
		{[]string{"--list", "--plot=x.png"}, exitUsage, "measures nothing"},
		{[]string{"resample", "--shapes", shapes}, exitUsage, "--shapes selects the jobs"},
		{[]string{"resample", "--from", shapes}, exitUsage, "--from selects the jobs"},
		{[]string{"launch", "--sweep=2"}, exitUsage, "a suite with shapes"},
		{[]string{"--shapes=missing.json"}, exitInput, "missing.json"},
		{[]string{"--shapes", bad}, exitInput, "B: got 0"},
		{[]string{"--from", shapes}, exitInput, "a report, as --json writes it"},
		{[]string{"launch", "--only=plan", "--plot=x.png"}, exitUsage, "no job with a limit"},
		{[]string{"--backend=nope"}, exitUsage, "nope"},
	} {
		args := append([]string{"bench", "--backend=cpu"}, x.args...)
		code, _, stderr := execute(args...)
		assert.Equal(t, x.code, code, "%v: %s", x.args, stderr)
		assert.Contains(t, stderr, x.want, "%v", x.args)
	}
}
