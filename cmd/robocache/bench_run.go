package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/robocache/robocache/internal/benchmark"
)

// started is when the program began, for --first.
var started = time.Now()

// progress shows what is measured, on a terminal.
func (a *app) progress() func(done, all int, j benchmark.Job) {
	if a.announce == nil {
		return nil
	}
	return func(done, all int, j benchmark.Job) {
		fmt.Fprintf(a.err, "\r\x1b[K%d of %d: %s %s", done+1, all, j.Suite(), j.Name())
	}
}

// measured tells what a job of a sweep took, a line each, so that nothing is lost with what comes after it.
func (a *app) measured(done, all int, row *benchmark.Row) {
	a.progressDone()
	fmt.Fprintf(a.err, "%d of %d: %.3g us, ratio %.2f, %s %s\n", done, all, row.Time.Median, row.Ratio, row.Suite, row.Job)
}

func (a *app) progressDone() {
	if a.announce != nil {
		fmt.Fprint(a.err, "\r\x1b[K")
	}
}

// readShapes takes jobs from a file.
func readShapes(path string) (jobs []benchmark.Job, err error) {
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		jobs, err = benchmark.ReadShapes(f)
	}
	if err != nil {
		return nil, &inputError{Path: path, Err: err}
	}
	return jobs, nil
}

// only are the jobs whose suite and name match a regular expression.
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
	f, err := os.Open(path)
	if err != nil {
		return nil, &inputError{Path: path, Err: err}
	}
	defer f.Close()
	report, err := benchmark.ReadReport(f, path)
	if err != nil {
		return nil, &inputError{Path: path, Err: err}
	}
	return report, nil
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
