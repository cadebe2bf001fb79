package failure

import (
	"errors"
	"io/fs"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// Report is what is known of an error. Strings are empty, numbers 0 and pointers nil where it is not known.
type Report struct {
	Class   string `json:"class,omitempty"` // the type that says most: "OptionError", "ArgError", "ValueError", "MemoryError", "PlanError", "FormatError" or "Error"
	Message string `json:"message"`         // all of it

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
}

// Of takes an error apart. Of several types that it holds, the later of those below has the fields that both have.
func Of(err error) Report {
	r := Report{Class: "Error", Message: err.Error()}
	var (
		path   *fs.PathError
		shape  *tensor.Error
		memory *ops.MemoryError
		option *dataset.OptionError
		arg    *ops.ArgError
		value  *ops.ValueError
		format *dataset.FormatError
		stream *align.StreamError
		plan   *align.PlanError
	)
	if errors.As(err, &path) {
		r.Path = path.Path
	}
	if errors.As(err, &shape) {
		r.Class, r.Op, r.Kind, r.Got, r.Want = "ArgError", shape.Op, text(shape.Kind), shape.Got, shape.Want
	}
	if errors.As(err, &option) {
		r.Class, r.Arg, r.Got, r.Want = "OptionError", option.Arg, option.Got, option.Want
	}
	if errors.As(err, &arg) {
		r.Class, r.Op, r.Arg, r.Kind, r.Got, r.Want = "ArgError", arg.Op, arg.Arg, text(arg.Kind), arg.Got, arg.Want
	}
	if errors.As(err, &value) {
		r.Class, r.Op, r.Arg, r.Kind, r.Row, r.Index = "ValueError", value.Op, value.Arg, text(value.Kind), &value.Row, &value.Index
	}
	if errors.As(err, &format) {
		r.Class, r.Path, r.Got, r.Want, r.Line = "FormatError", format.Path, format.Got, format.Want, format.Line
		r.Kind = text(format.Kind)
		if format.Offset >= 0 {
			r.Offset = &format.Offset
		}
	}
	if errors.As(err, &stream) {
		r.Stream = stream.Stream
	}
	if errors.As(err, &plan) {
		r.Class, r.Path, r.Line, r.Column, r.Arg, r.Got, r.Want = "PlanError", plan.Path, plan.Line, plan.Column, plan.Key, plan.Got, plan.Want
	}
	if errors.As(err, &memory) || errors.Is(err, tensor.ErrOutOfMemory) {
		r.Class = "MemoryError"
	}
	return r
}

// text is what an error says, and nothing of none.
func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
