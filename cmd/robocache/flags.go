package main

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/robocache/robocache/internal/benchmark"
	"github.com/robocache/robocache/internal/decimal"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
	"github.com/spf13/cobra"
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

func kinds() []ops.Interp { return ops.Interps() }

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

// hertz is the flag of a rate.
func hertz(to *float64) *positiveFlag { return &positiveFlag{to: to, max: 1e9, unit: "HZ"} }

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

// complete gives the shell a flag's values.
func complete(cmd *cobra.Command, flag string, names func() []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return names(), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // a flag that does not exist: a mistake in this package
	}
}

func backendNames() []string { return append([]string{"auto"}, ops.Backends()...) }

// launchModes are the values of --launch.
func launchModes() []string { return []string{"default", "dependent", "ready"} }

// launchMode reads one.
func launchMode(name string) (ops.LaunchMode, error) {
	mode, err := ops.ParseLaunchMode(name)
	if err != nil {
		return mode, usagef("--launch %q: want default, dependent or ready", name)
	}
	return mode, nil
}

// measuring is how long and how jobs are measured, as given.
type measuring struct {
	options benchmark.Options
	limit   time.Duration
	rotate  float64
	launch  string
}

func (m *measuring) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.IntVar(&m.options.Samples, "samples", 31, "the least number of samples, at least 5")
	f.DurationVar(&m.options.Time, "time", 200*time.Millisecond, "the least time that the samples of a job take together")
	f.DurationVar(&m.limit, "limit", 0, "measure for no longer than that, and write what was measured until then")
	f.DurationVar(&m.options.Batch, "batch", 10*time.Millisecond, "about how long a sample takes")
	f.Float64Var(&m.rotate, "rotate", 0, "megabytes of input sets that the calls take in turn (default 300 on a GPU, 64 on the CPU)")
	f.StringVar(&m.launch, "launch", "default", "how resample and fuse jobs follow each other on a GPU: default, dependent (the next is made ready meanwhile) or ready (they overlap)")
	complete(cmd, "launch", launchModes)
}

func (m *measuring) check() (err error) {
	if m.limit < 0 || !(m.rotate >= 0) {
		return usagef("--limit and --rotate are not negative")
	}
	m.options.Rotate = int64(m.rotate * 1e6)
	m.options.Launch, err = launchMode(m.launch)
	return err
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
