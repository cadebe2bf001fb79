package main

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/doctor"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/benchmark"
	"github.com/robocache/robocache/internal/failure"
	"github.com/robocache/robocache/ops"
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
	Kind string `json:"kind"` // "usage", "input", "device" or "other"
	Code int    `json:"code"` // the exit code
	failure.Report
	Plan string `json:"plan,omitempty"` // the plan file that line and column are of, if path is another
}

// describe is the one place where errors become exit codes.
func describe(err error) report {
	r := report{Kind: "other", Code: exitOther, Report: failure.Of(err)}
	r.Class, r.Op, r.Message = "", "", notetext.ErrorText(err)
	var (
		usage  *usageError
		input  *inputError
		output *outputError
		arg    *ops.ArgError
		value  *ops.ValueError
		format *dataset.FormatError
		open   *ops.OpenError
		cut    *cutError
		bench  *benchmark.InputError
		found  *foundError
		plan   *align.PlanError
	)
	is := func(kind string, code int) { r.Kind, r.Code = kind, code }
	errors.As(err, &value)
	errors.As(err, &format)
	errors.As(err, &plan)
	if errors.As(err, &input) {
		r.Stream, r.Array = input.Stream, input.Array
		if plan == nil {
			r.Path = input.Path
			if input.Got != "" {
				r.Got, r.Want = input.Got, input.Want
			}
		}
		if p := input.Plan; p != nil {
			r.Plan, r.Line, r.Column = p.Path, p.Line, p.Column
		}
	}
	if errors.As(err, &bench) {
		r.Arg, r.Got, r.Want = bench.Where, bench.Got, bench.Want
	}
	switch {
	case errors.As(err, &cut):
		r.Code = cmp.Or(cut.Code, exitOther)
	case errors.As(err, &found):
		is("found", exitFound)
	case bench != nil && input == nil:
		is("usage", exitUsage)
	case errors.As(err, &output):
		r.Path = output.Path
	case errors.As(err, &usage):
		is("usage", exitUsage)
		r.Arg, r.Got, r.Want = usage.Arg, usage.Got, usage.Want
	case errors.Is(err, ops.ErrUnknownBackend):
		is("usage", exitUsage)
	case errors.Is(err, ops.ErrNoDevice) && errors.As(err, &open):
		is("device", exitNoDevice)
	case plan != nil && plan.Path == "" && input == nil:
		is("usage", exitUsage)
	case plan != nil && input == nil:
		is("input", exitInput)
	case errors.As(err, &arg) && errors.Is(arg, ops.ErrOption):
		is("usage", exitUsage)
	case arg != nil, value != nil, input != nil, format != nil:
		is("input", exitInput)
	}
	return r
}
