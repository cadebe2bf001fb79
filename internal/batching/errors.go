package batching

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/storage"
)

// Spelling returns an argument's name as a front end writes it, for example "--shard-windows" for "shard_windows". If it is nil,
// messages have the names of a Request.
type Spelling func(arg string) string

func (s Spelling) of(arg string) string {
	if s == nil {
		return arg
	}
	return s(arg)
}

// OptionError means that an argument is invalid. Arg is its JSON name in a [Request], or the name of an environment variable.
type OptionError = dataset.OptionError

// refusef returns the *OptionError for an argument. got is the format of values, as in fmt.Sprintf.
func refusef(arg, want, got string, values ...any) error {
	return &OptionError{Arg: arg, Got: fmt.Sprintf(got, values...), Want: want}
}

// argument returns the JSON name of a Go field in loader.Options or Request, for example "mix_shards" for "MixShards".
func argument(field string) string {
	f, _ := reflect.TypeFor[Request]().FieldByName(field)
	return cmp.Or(strings.TrimPrefix(f.Tag.Get("json"), "-"), field)
}

// InputError means that an input cannot be used. Stream and Array are set if they are known.
type InputError struct {
	Path      string
	Plan      *clocks.InPlanError // the place in a plan file that names the stream, or nil
	Stream    string
	Array     string
	Msg       string // the error, or its place
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

// ReadError explains why an input cannot be read: an *OptionError if an option is wrong, else an *InputError.
func ReadError(path string, err error) error {
	var option *OptionError
	if errors.As(err, &option) {
		return &OptionError{Arg: argument(option.Arg), Got: option.Got, Want: option.Want}
	}
	var bad *dataset.FormatError
	if errors.As(err, &bad) && bad.Path == path && err == error(bad) { // the message has the path already
		short := *bad
		short.Path = ""
		err = &short
	}
	var other *os.PathError
	if !errors.As(err, &other) || other.Path == path { // that of another file of the dataset stays
		err = Cause(err)
	}
	return &InputError{Path: path, Msg: "cannot be read", Err: err}
}

// Find returns the path of a recording: see storage.Find. The error is an *InputError.
func Find(name string) (string, error) {
	path, err := storage.Find(name)
	switch {
	case err == nil:
		return path, nil
	case storage.IsSystem(err):
	case slices.ContainsFunc(dataset.Formats(), func(f dataset.Format) bool { return slices.Contains(f.Extensions, strings.ToLower(filepath.Ext(name))) }):
		return name, nil // a file that does not exist
	}
	return name, &InputError{Path: name, Err: err}
}

// Cause removes the path from an error, because an InputError has it.
func Cause(err error) error {
	if e, ok := err.(*os.PathError); ok {
		return e.Err
	}
	return err
}
