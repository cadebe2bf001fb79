package failure

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/memory"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Code groups errors by who can mend them. The command line has one exit code for each.
type Code string

// The codes.
const (
	Usage  Code = "usage"  // an argument, flag or option
	Input  Code = "input"  // a file or dataset that is read
	Device Code = "device" // the GPU is missing or cannot be used
	Found  Code = "found"  // the program did its work, and found what it was run to find
	System Code = "system" // the system or the network: the same request may work later
	Other  Code = "other"
)

// Cure is a change of the request that makes the error go away. Each front end has its own words for it, for example a flag.
type Cure int

// The cures. 0 is none.
const (
	CureSort    Cure = iota + 1 // sort samples by their timestamps
	CureDrop                    // drop samples with invalid timestamps
	CureRate                    // set the rate of a recording that counts steps
	CureStretch                 // select a stretch of a log whose clock was set back
	CureMemory                  // allow more memory
)

// Report is an error as fields. If a field is not known, its string is empty, its number 0 and its pointer nil.
type Report struct {
	Code Code `json:"code,omitempty"`
	Cure Cure `json:"-"`

	Class   string `json:"class,omitempty"` // the exception: "OptionError", "ArgError", "ValueError", "MemoryError", "PlanError", "FormatError", "RecordingError" or "Error"
	Message string `json:"message"`         // the whole text

	Op   string `json:"op,omitempty"`   // the operation
	Arg  string `json:"arg,omitempty"`  // the option, the operation's argument, or the plan's key
	Kind string `json:"kind,omitempty"` // as package ops, tensor or dataset names it: "wrong shape"

	Row   *int   `json:"row,omitempty"` // of a value
	Index *int   `json:"index,omitempty"`
	Got   string `json:"got,omitempty"`
	Want  string `json:"want,omitempty"`

	Path   string `json:"path,omitempty"`
	Stream string `json:"stream,omitempty"`
	Array  string `json:"array,omitempty"`  // of an archive
	Offset *int64 `json:"offset,omitempty"` // the byte of the file
	Line   int    `json:"line,omitempty"`   // of a text file or header, from 1
	Column int    `json:"column,omitempty"` // of a plan file, from 1
	Plan   string `json:"plan,omitempty"`   // the plan file of Line and Column, if Path is another file
}

// Set sets the fields that most types of error have.
func (r *Report) Set(class, arg, got, want string) {
	r.Class, r.Arg, r.Got, r.Want = class, arg, got, want
}

// Rule fills in a report for errors of one type.
type Rule func(*Report, error)

// On returns the rule for errors that are, or wrap, an E.
func On[E error](fill func(*Report, E)) Rule {
	return func(r *Report, err error) {
		var e E
		if errors.As(err, &e) {
			fill(r, e)
		}
	}
}

// rules are the types that packages of several front ends return. A later rule overwrites the fields of an earlier one.
var rules = []Rule{
	On(func(r *Report, e *fs.PathError) { r.Path = e.Path }),
	On(func(r *Report, e *tensor.Error) {
		r.Set("ArgError", "", e.Got, e.Want)
		r.Op, r.Kind = e.Op, text(e.Kind)
	}),
	On(func(r *Report, e *dataset.OptionError) { r.Set("OptionError", e.Arg, e.Got, e.Want) }),
	On(func(r *Report, e *ops.ArgError) {
		r.Set("ArgError", e.Arg, e.Got, e.Want)
		r.Op, r.Kind, r.Code = e.Op, text(e.Kind), Input
		if errors.Is(e, ops.ErrOption) {
			r.Code = Usage
		}
	}),
	On(func(r *Report, e *ops.ValueError) {
		r.Class, r.Op, r.Arg, r.Kind, r.Row, r.Index = "ValueError", e.Op, e.Arg, text(e.Kind), &e.Row, &e.Index
		r.input()
		switch {
		case !strings.HasSuffix(e.Arg, "SrcTimes"):
		case errors.Is(e, ops.ErrUnsorted):
			r.Cure = CureSort
		case errors.Is(e, ops.ErrNotFinite), errors.Is(e, ops.ErrTimeRange):
			r.Cure = CureDrop
		}
	}),
	On(func(r *Report, e *dataset.FormatError) {
		r.Set("FormatError", r.Arg, e.Got, e.Want)
		r.Path, r.Line, r.Kind = e.Path, e.Line, text(e.Kind)
		if e.Offset >= 0 {
			r.Offset = &e.Offset
		}
		r.input()
	}),
	On(func(r *Report, e *align.StreamError) { r.Stream = e.Stream }),
	On(func(r *Report, e *clocks.InPlanError) { r.Line, r.Column = e.Line, e.Column }),
	On(func(r *Report, _ *clocks.StepsError) { r.Cure = CureRate }),
	On(func(r *Report, e *dataset.SetBackError) {
		r.Set("RecordingError", "", "all stretches", "stretch 1 to "+strconv.Itoa(e.Stretches))
		r.Stream, r.Cure = e.Subject, CureStretch
		r.input()
	}),
	On(func(r *Report, e *npz.StreamError) {
		r.Array = e.Array
		if e.Got != "" {
			r.Got, r.Want = e.Got, e.Want
		}
	}),
	On(func(r *Report, e *align.PlanError) {
		r.Set("PlanError", e.Key, e.Got, e.Want)
		r.Path, r.Line, r.Column, r.Code = e.Path, e.Line, e.Column, Input
		if e.Path == "" {
			r.Code = Usage
		}
	}),
	On(func(r *Report, e *batching.InputError) {
		r.Stream, r.Array = cmp.Or(e.Stream, r.Stream), cmp.Or(e.Array, r.Array)
		if r.Class == "PlanError" {
			r.Code = Input
		} else {
			r.Path, r.Got, r.Want = e.Path, cmp.Or(e.Got, r.Got), cmp.Or(e.Want, r.Want)
		}
		if p := e.Plan; p != nil {
			r.Plan, r.Line, r.Column = p.Path, p.Line, p.Column
		}
		r.input()
		r.recording()
	}),
	On(func(r *Report, _ *dataset.EpisodeError) { r.recording() }),
	On(func(r *Report, e *ops.OpenError) {
		switch {
		case errors.Is(e, ops.ErrUnknownBackend):
			r.Code = Usage
		case errors.Is(e, ops.ErrNoDevice):
			r.Code = Device
		}
	}),
}

// input sets the code of an input, if no rule before has set another.
func (r *Report) input() {
	if r.Code == Other {
		r.Code = Input
	}
}

// recording sets the class of a recording, if no rule before has set another.
func (r *Report) recording() {
	if r.Class == "Error" {
		r.Class = "RecordingError"
	}
}

// Of returns the report of an error. own are the rules for the types of a front end, which come last.
func Of(err error, own ...Rule) Report {
	r := Report{Code: Other, Class: "Error", Message: err.Error()}
	for _, fill := range rules {
		fill(&r, err)
	}
	if errors.Is(err, tensor.ErrOutOfMemory) {
		r.Class = "MemoryError"
		var refused *memory.Error
		var device *ops.MemoryError
		switch {
		case errors.As(err, &refused) && refused.Raised():
			r.Cure = CureMemory
			fallthrough
		case !errors.As(err, &device) || device.Device == "host":
			r.input()
		}
	}
	if (r.Code == Input || r.Code == Other) && dataset.IsSystem(err) && !errors.Is(err, context.Canceled) {
		r.Code, r.Cure = System, 0
	}
	for _, fill := range own {
		fill(&r, err)
	}
	return r
}

// text returns the text of an error, "" for nil.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
