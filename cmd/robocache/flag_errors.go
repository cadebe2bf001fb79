package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/text"
	"github.com/spf13/pflag"
)

// flagOf returns the flag for an argument such as "shard_windows" or "ShardWindows", or nil if there is none. A repeatable flag has the
// singular name.
func flagOf(f *pflag.FlagSet, arg string) *pflag.Flag {
	var name strings.Builder
	for i, r := range arg {
		if unicode.IsUpper(r) && i > 0 && unicode.IsLower(rune(arg[i-1])) || r == '_' {
			name.WriteByte('-')
		}
		if r != '_' {
			name.WriteRune(unicode.ToLower(r))
		}
	}
	for _, name := range []string{name.String(), strings.TrimSuffix(name.String(), "s"), arguments[name.String()]} {
		if flag := f.Lookup(name); flag != nil {
			return flag
		}
	}
	return nil
}

// arguments are flags with other names than their arguments.
var arguments = map[string]string{"definitions": "msg-path", "fresh": "check-fresh", "voxel": "size"}

// spelling returns the function that converts arguments to a command's flags.
func spelling(f *pflag.FlagSet) batching.Spelling {
	return func(arg string) string {
		switch flag := flagOf(f, arg); {
		case flag == nil:
			return arg
		case flag.Shorthand != "":
			return "-" + flag.Shorthand
		default:
			return "--" + flag.Name
		}
	}
}

// inFlags converts an argument's error to its flag's error.
func inFlags(f *pflag.FlagSet, err error) error {
	var option *dataset.OptionError
	var input *inputError
	var missing *clocks.MissingError
	switch {
	case errors.As(err, &missing) && strings.Contains(missing.Stream, ",") && f.Lookup("stream") != nil:
		return fmt.Errorf("%w; each stream needs its own --stream", err)
	case !errors.As(err, &option) || errors.As(err, &input):
		return err
	}
	e := &usageError{Arg: spelling(f)(option.Arg), Got: option.Got, Want: option.Want}
	if flag := flagOf(f, option.Arg); flag != nil {
		list, _ := flag.Value.(pflag.SliceValue)
		if list != nil && slices.ContainsFunc(list.GetSlice(), func(one string) bool { return strings.Contains(one, ",") }) {
			e.Want += "; each has a " + e.Arg + " of its own"
		}
	}
	e.Message = fmt.Sprintf("%s: got %s, want %s", e.Arg, e.Got, e.Want)
	return e
}

// flagMessage returns the message for a flag's error. If the value is no number, the message has the value and the expected kind, and no
// name of a Go function.
func flagMessage(err error) string {
	var bad *pflag.InvalidValueError
	var number *strconv.NumError
	if !errors.As(err, &bad) {
		return err.Error()
	}
	if !errors.As(bad.Unwrap(), &number) {
		if what := bad.Unwrap().Error(); strings.HasPrefix(what, "want ") {
			return fmt.Sprintf("--%s: got %q, %s", bad.GetFlag().Name, bad.GetValue(), what)
		}
		return err.Error()
	}
	want := map[string]string{"int": "a whole number", "uint64": "a whole number from 0", "float64": "a number", "bool": "true or false",
		"float64Slice": "numbers with commas between them"}[bad.GetFlag().Value.Type()]
	if want == "" {
		return err.Error()
	}
	return fmt.Sprintf("--%s: got %q, want %s", bad.GetFlag().Name, bad.GetValue(), want)
}

// nearestFlag returns the end of an error about an unknown flag, " (did you mean --episode?)", or nothing.
func nearestFlag(f *pflag.FlagSet, err error) string {
	var none *pflag.NotExistError
	if !errors.As(err, &none) {
		return ""
	}
	var names []string
	f.VisitAll(func(flag *pflag.Flag) { names = append(names, "--"+flag.Name) })
	return text.DidYouMean("--"+none.GetSpecifiedName(), names)
}
