package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/doctor"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/benchmark"
	"github.com/robocache/robocache/internal/failure"
)

// The exit codes, which scripts depend on.
const (
	exitGood     = 0
	exitOther    = cli.ExitOther
	exitUsage    = 2
	exitInput    = 3
	exitNoDevice = 4
	exitFound    = 5
)

// inputError is an input that cannot be used.
type inputError = batching.InputError

// usageError is a command line that cannot be. Arg, Got and Want are those of an argument, if it is the error of one.
type usageError struct{ Message, Arg, Got, Want string }

func (e *usageError) Error() string { return e.Message }

func usagef(format string, args ...any) error {
	return &usageError{Message: fmt.Sprintf(format, args...)}
}

func readError(path string, err error) error { return batching.ReadError(path, err) }

// cause strips the path that an inputError already names.
func cause(err error) error { return batching.Cause(err) }

// outputError is a file that could not be written.
type outputError struct {
	Path string
	Err  error
}

func (e *outputError) Error() string { return "write " + e.Path + ": " + e.Err.Error() }

func (e *outputError) Unwrap() error { return e.Err }

// cutError is a command that a signal ended, after it wrote the results that it had.
type cutError struct {
	When string
	Kept string // the file that has all of that, so that nothing is lost
	Code int    // the exit code; 0 is 1
}

func (e *cutError) Error() string {
	if e.Kept != "" {
		return fmt.Sprintf("ended by a signal %s, which %s has", e.When, e.Kept)
	}
	return "cut short " + e.When
}

// foundError is that doctor found something as bad as was asked for.
type foundError struct {
	Severity doctor.Severity
	Count    int
}

func (e *foundError) Error() string {
	return fmt.Sprintf("%d of the findings are as bad as --fail-on %s", e.Count, e.Severity)
}

// report is an error as --json writes it.
type report struct {
	Kind string `json:"kind"` // "usage", "input", "device", "found" or "other"
	Code int    `json:"code"` // the exit code
	failure.Report
}

// exitCodes are the exit codes of kinds of error.
var exitCodes = map[failure.Code]int{
	failure.Usage: exitUsage, failure.Input: exitInput, failure.Device: exitNoDevice, failure.Found: exitFound, failure.Other: exitOther,
}

// rules are the types of error that only this program reports.
var rules = []failure.Rule{
	failure.On(func(r *failure.Report, e *usageError) {
		r.Set("", e.Arg, e.Got, e.Want)
		r.Code = failure.Usage
	}),
	failure.On(func(r *failure.Report, e *outputError) { r.Path, r.Code = e.Path, failure.Other }),
	failure.On(func(r *failure.Report, e *benchmark.InputError) {
		r.Set("", e.Where, e.Got, e.Want)
		if r.Code != failure.Input {
			r.Code = failure.Usage
		}
	}),
	failure.On(func(r *failure.Report, _ *foundError) { r.Code = failure.Found }),
	failure.On(func(r *failure.Report, _ *cutError) { r.Code = failure.Other }),
}

// describe returns the report of an error, with the exit code.
func describe(err error) report {
	r := report{Report: failure.Of(err, rules...)}
	r.Kind, r.Code = string(r.Report.Code), exitCodes[r.Report.Code]
	r.Class, r.Op = "", ""
	var cut *cutError
	if errors.As(err, &cut) {
		r.Code = cmp.Or(cut.Code, exitOther)
	}
	return r
}
