package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"github.com/robocache/robocache/cmd/robocache/internal/cli"
	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/dataset/notetext"
	"github.com/robocache/robocache/doctor"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/benchmark"
	"github.com/robocache/robocache/internal/failure"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/internal/video"
	"github.com/robocache/robocache/ops"
)

// The exit codes. Scripts depend on them.
const (
	exitGood     = 0
	exitOther    = cli.ExitOther
	exitUsage    = 2
	exitInput    = 3
	exitNoDevice = 4
	exitFound    = 5
)

// inputError is an error about an input.
type inputError = batching.InputError

// usageError is an error on the command line. Arg, Got and Want are set if it is about one argument.
type usageError struct{ Message, Arg, Got, Want string }

func (e *usageError) Error() string { return e.Message }

func usagef(format string, args ...any) error {
	return &usageError{Message: fmt.Sprintf(format, args...)}
}

// joinClose closes c and adds the error.
func joinClose(err *error, c io.Closer) { *err = errors.Join(*err, c.Close()) }

func readError(path string, err error) error { return batching.ReadError(path, err) }

// cause removes the path from an error if an inputError already has it.
func cause(err error) error { return batching.Cause(err) }

// outputError is an error about a file to write.
type outputError struct {
	Path string
	Err  error
}

func (e *outputError) Error() string { return "write " + e.Path + ": " + e.Err.Error() }

func (e *outputError) Unwrap() error { return e.Err }

// cutError reports that a signal stopped the command. Its results until then are written.
type cutError struct {
	When string
	Kept string // the file to continue from, or ""
	Code int    // the exit code; 0 means 1
}

func (e *cutError) Error() string {
	if e.Kept != "" {
		return fmt.Sprintf("ended by a signal %s, which %s has", e.When, e.Kept)
	}
	return "cut short " + e.When
}

// foundError reports findings with at least the severity in --fail-on.
type foundError struct {
	Severity doctor.Severity
	Count    int
}

func (e *foundError) Error() string {
	return fmt.Sprintf("%s as bad as --fail-on %s", text.Count(e.Count, "finding is", "findings are"), e.Severity)
}

// report is an error as --json writes it.
type report struct {
	Kind string `json:"kind"` // "usage", "input", "device", "found", "system" or "other"
	Code int    `json:"code"` // the exit code
	failure.Report
}

// exitCodes are the exit codes by error kind.
var exitCodes = map[failure.Code]int{
	failure.Usage: exitUsage, failure.Input: exitInput, failure.Device: exitNoDevice, failure.Found: exitFound, failure.System: exitOther, failure.Other: exitOther,
}

// rules are for the error types that only this program reports.
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

// describe returns the report of an error, with its exit code.
func describe(err error) report {
	r := report{Report: failure.Of(err, rules...)}
	r.Kind, r.Code = string(r.Report.Code), exitCodes[r.Report.Code]
	r.Class, r.Op, r.Message = "", "", notetext.ErrorText(err)
	r.Message = plainText(err, r.Message)
	if library, lacks := lacksFFmpeg(err); lacks {
		r.Kind, r.Code, r.Got, r.Want = string(failure.Other), exitOther, "", ""
		r.Message = "ffmpeg decodes and encodes videos: got no program ffmpeg, want it in PATH, where its package puts it, or its path in ROBOCACHE_FFMPEG"
		if value := os.Getenv("ROBOCACHE_FFMPEG"); value != "" {
			r.Message += ", which is now " + value
		}
		if library != "" {
			r.Message += "; the package " + library + " decodes this video too"
		}
	}
	if r.Cure == failure.CureStretch {
		r.Message += ": --stretch 1 reads the first"
	}
	if r.Cure == failure.CureMemory {
		r.Message += ": a larger --max-memory allows more"
	}
	var cut *cutError
	if errors.As(err, &cut) {
		r.Code = cmp.Or(cut.Code, exitOther)
	}
	return r
}

// lacksFFmpeg reports whether an error means that ffmpeg is not installed. library, if any, decodes the video too.
func lacksFFmpeg(err error) (library string, lacks bool) {
	var program *video.ProgramError
	if !errors.As(err, &program) {
		return "", false
	}
	return program.Library, errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist)
}

// plainText returns an error's text with the backend's flag in place of the Go function, and without the paths at which a library was
// searched.
func plainText(err error, text string) string {
	var open *ops.OpenError
	if errors.As(err, &open) {
		text = strings.Replace(text, fmt.Sprintf("ops.Open(%q): ", open.Backend), fmt.Sprintf("--backend %s: ", open.Backend), 1)
	}
	var load *cudadrv.LoadError
	if errors.As(err, &load) {
		short := *load
		short.Tried = nil
		text = strings.Replace(text, load.Error(), strings.TrimPrefix(short.Error(), "cudadrv: "), 1)
	}
	return text
}
