package batching

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
)

// Spelling is how a front end writes the name of an argument in a message: "--shard-windows" for "shard_windows". Nil leaves it as a Request has it.
type Spelling func(arg string) string

func (s Spelling) of(arg string) string {
	if s == nil {
		return arg
	}
	return s(arg)
}

// OptionError is an argument that cannot be. Arg is its name in the JSON of a [Request], or what is no argument, such as a variable of the environment.
type OptionError = dataset.OptionError

// refuse returns the *OptionError of an argument: got is a format of the values.
func refusef(arg, want, got string, values ...any) error {
	return &OptionError{Arg: arg, Got: fmt.Sprintf(got, values...), Want: want}
}

// argument is the JSON name of an argument, by the field that errors name.
func argument(field string) string {
	f, _ := reflect.TypeFor[Request]().FieldByName(field)
	return cmp.Or(strings.TrimPrefix(f.Tag.Get("json"), "-"), field)
}

// InputError is an input that cannot be used. Stream and Array say where, if that is known.
type InputError struct {
	Path      string
	Plan      *clocks.InPlanError // where in a plan file it is asked for, or nil
	Stream    string
	Array     string
	Msg       string // what is wrong, or where
	Got, Want string
	Err       error // the cause, or nil
}

func (e *InputError) Error() string {
	parts := []string{e.Path}
	if p := e.Plan; p != nil {
		parts = []string{fmt.Sprintf("%s: line %d, column %d", p.Path, p.Line, p.Column), e.Path}
	}
	if e.Stream != "" {
		parts = append(parts, "stream "+e.Stream)
	}
	if e.Array != "" {
		parts = append(parts, "array "+e.Array)
	}
	if e.Msg != "" {
		parts = append(parts, e.Msg)
	}
	if e.Got != "" {
		parts = append(parts, fmt.Sprintf("got %s, want %s", e.Got, e.Want))
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return strings.Join(parts, ": ")
}

func (e *InputError) Unwrap() error { return e.Err }

// ReadError says that an input cannot be read: an *OptionError where an option of it is wrong, else an *InputError.
func ReadError(path string, err error) error {
	var option *OptionError
	if errors.As(err, &option) {
		return &OptionError{Arg: argument(option.Arg), Got: option.Got, Want: option.Want}
	}
	var bad *dataset.FormatError
	if errors.As(err, &bad) && bad.Path == path && err == error(bad) { // which the message has already
		short := *bad
		short.Path = ""
		err = &short
	}
	return &InputError{Path: path, Msg: "cannot be read", Err: Cause(err)}
}

// Cause strips the path that an InputError already names.
func Cause(err error) error {
	if e, ok := err.(*os.PathError); ok {
		return e.Err
	}
	return err
}
