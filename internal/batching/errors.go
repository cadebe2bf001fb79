package batching

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
)

// UsageError is an option that cannot be.
type UsageError struct{ Message string }

func (e *UsageError) Error() string { return e.Message }

// Usagef returns a *UsageError.
func Usagef(format string, args ...any) error { return &UsageError{fmt.Sprintf(format, args...)} }

var flag = regexp.MustCompile(`--[a-z]+(-[a-z]+)*`)

// repeated are the flags that are given once for each of what an argument has all of.
var repeated = []string{"camera", "stream", "weight", "window"}

// own is how a flag that is repeated says so.
var own = regexp.MustCompile(`; each( stream)? has a --[a-z]+ of its own`)

// Plain writes the flags of a message as names of arguments: --shard-windows as shard_windows, --window as windows.
func Plain(message string) string {
	return flag.ReplaceAllStringFunc(own.ReplaceAllString(message, ""), func(name string) string {
		if name = strings.ReplaceAll(name[2:], "-", "_"); slices.Contains(repeated, name) {
			name += "s"
		}
		return name
	})
}

// InputError is an input that cannot be used. Stream and Array say where, if that is known.
type InputError struct {
	Path      string
	Plan      *align.InPlanError // where in a plan file it is asked for, or nil
	Stream    string
	Array     string
	Msg       string // what was got and what was wanted
	Got, Want string // the same, where they are known apart
	Err       error  // the cause, or nil
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
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return strings.Join(parts, ": ")
}

func (e *InputError) Unwrap() error { return e.Err }

// ReadError says that an input cannot be read: a *UsageError where an option of it is wrong, else an *InputError.
func ReadError(path string, err error) error {
	var option *dataset.OptionError
	if errors.As(err, &option) {
		flag := strings.ToLower(option.Arg)
		if option.Arg == "Definitions" {
			flag = "msg-path"
		}
		return Usagef("--%s: got %s, want %s", flag, option.Got, option.Want)
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
