package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/batching"
	"github.com/robocache/robocache/internal/decimal"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
	"github.com/spf13/pflag"
)

// choice is a flag that takes one of a few names.
type choice[T fmt.Stringer] struct {
	value T
	set   bool
	list  []T
	kind  string // what the help calls the value
}

func (c *choice[T]) String() string {
	if !c.set {
		return ""
	}
	return c.value.String()
}

func (c *choice[T]) Type() string { return c.kind }

func (c *choice[T]) Set(s string) error {
	for _, v := range c.list {
		if v.String() == s {
			c.value, c.set = v, true
			return nil
		}
	}
	return fmt.Errorf("want %s", strings.Join(c.names(), ", "))
}

// setting is a choice that is written to a field.
type setting[T fmt.Stringer] struct {
	choice[T]
	to *T
}

func (s *setting[T]) Set(text string) error {
	err := s.choice.Set(text)
	if err == nil {
		*s.to = s.value
	}
	return err
}

func (c *choice[T]) names() []string {
	var out []string
	for _, v := range c.list {
		out = append(out, v.String())
	}
	return out
}

func valueTypes() []tensor.DType {
	return []tensor.DType{tensor.F32, tensor.F64, tensor.F16, tensor.BF16}
}

// fillFlag is a number, nan or inf.
type fillFlag struct {
	fill ops.Fill
	set  bool
}

func (f *fillFlag) String() string {
	if !f.set {
		return ""
	}
	return fmt.Sprint(f.fill.Get())
}

func (f *fillFlag) Type() string { return "VALUE" }

func (f *fillFlag) Set(s string) error {
	v, err := decimal.ParseFloat(s, 64)
	if err != nil {
		return fmt.Errorf("want a number, nan, inf or -inf")
	}
	f.fill, f.set = ops.FillWith(v), true
	return nil
}

// limitFlag is a length of time.
type limitFlag struct {
	limit ops.Limit
	above bool // 0 is none
}

func (l *limitFlag) String() string {
	if d, ok := l.limit.Get(); ok {
		return d.String()
	}
	return ""
}

func (l *limitFlag) Type() string { return "DURATION" }

func (l *limitFlag) Set(s string) error {
	d, err := time.ParseDuration(s)
	if l.above && (err != nil || d <= 0) {
		return fmt.Errorf("want a length of time above 0, such as 50ms or 0.2s")
	}
	if err != nil || d < 0 {
		return fmt.Errorf("want a length of time that is not negative, such as 50ms or 0.2s")
	}
	l.limit = ops.Within(d)
	return nil
}

// positiveFlag is a finite number above 0, which is written to a field.
type positiveFlag struct {
	to   *float64
	max  float64
	unit string
}

func (p *positiveFlag) String() string {
	if p.to == nil || *p.to == 0 {
		return ""
	}
	return strconv.FormatFloat(*p.to, 'g', -1, 64)
}

func (p *positiveFlag) Type() string { return p.unit }

func (p *positiveFlag) Set(s string) error {
	v, err := decimal.ParseFloat(s, 64)
	if err != nil || !(v > 0) || math.IsInf(v, 1) || p.max > 0 && v > p.max {
		if p.max > 0 {
			return fmt.Errorf("want a number above 0, at most %g", p.max)
		}
		return fmt.Errorf("want a number above 0")
	}
	*p.to = v
	return nil
}

// flagMessage is what an error of a flag says: of a number that is none, what was got and what is wanted, rather than which function could not read it.
func flagMessage(err error) string {
	var bad *pflag.InvalidValueError
	var number *strconv.NumError
	if !errors.As(err, &bad) || !errors.As(bad.Unwrap(), &number) {
		return err.Error()
	}
	want := map[string]string{"int": "a whole number", "intSlice": "whole numbers, with commas", "uint64": "a whole number from 0", "float64": "a number", "bool": "true or false"}[bad.GetFlag().Value.Type()]
	if want == "" {
		return err.Error()
	}
	return fmt.Sprintf("--%s: got %q, want %s", bad.GetFlag().Name, bad.GetValue(), want)
}

// flagOf returns the flag that sets an argument, "shard_windows" or "ShardWindows", or nil. A flag that is repeated has the singular of its name.
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

// arguments are the flags of arguments that have other names.
var arguments = map[string]string{"definitions": "msg-path", "fresh": "check-fresh"}

// spelling writes arguments as a command's flags.
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

// inFlags returns an error of an argument as one of the flag that sets it.
func inFlags(f *pflag.FlagSet, err error) error {
	var option *dataset.OptionError
	var input *inputError
	var missing *align.MissingError
	switch {
	case errors.As(err, &missing) && strings.Contains(missing.Stream, ",") && f.Lookup("stream") != nil:
		return fmt.Errorf("%w; each stream has a --stream of its own", err)
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
