package cli

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/robocache/robocache/internal/decimal"
	"github.com/robocache/robocache/ops"
)

// Choice is a flag for one name from a list. Errors from Set have the names.
type Choice[T fmt.Stringer] struct {
	Value T
	Given bool
	List  []T
	Kind  string // the value's name in help
}

// ChoiceOf returns the flag for a name from the list.
func ChoiceOf[T fmt.Stringer](kind string, list ...T) Choice[T] {
	return Choice[T]{List: list, Kind: kind}
}

func (c *Choice[T]) String() string {
	if !c.Given {
		return ""
	}
	return c.Value.String()
}

func (c *Choice[T]) Type() string { return c.Kind }

func (c *Choice[T]) Set(s string) error {
	for _, v := range c.List {
		if v.String() == s {
			c.Value, c.Given = v, true
			return nil
		}
	}
	return fmt.Errorf("want %s", strings.Join(c.Names(), ", "))
}

// Names returns the names in the list's order.
func (c *Choice[T]) Names() []string {
	var out []string
	for _, v := range c.List {
		out = append(out, v.String())
	}
	return out
}

// Setting is a choice that also writes its value to a field.
type Setting[T fmt.Stringer] struct {
	Choice[T]
	To *T
}

// SettingOf returns the flag for a name from the list. It writes the value to a field.
func SettingOf[T fmt.Stringer](to *T, kind string, list ...T) Setting[T] {
	return Setting[T]{ChoiceOf(kind, list...), to}
}

func (s *Setting[T]) Set(text string) error {
	err := s.Choice.Set(text)
	if err == nil {
		*s.To = s.Value
	}
	return err
}

// FillFlag is a number, nan, inf or -inf.
type FillFlag struct {
	Fill  ops.Fill
	Given bool
}

func (f *FillFlag) String() string {
	if !f.Given {
		return ""
	}
	return fmt.Sprint(f.Fill.Get())
}

func (f *FillFlag) Type() string { return "VALUE" }

func (f *FillFlag) Set(s string) error {
	v, err := decimal.ParseFloat(s, 64)
	if err != nil {
		return fmt.Errorf("want a number, nan, inf or -inf")
	}
	f.Fill, f.Given = ops.FillWith(v), true
	return nil
}

// LimitFlag is a duration, for example 50ms. It is 0 or more, or above 0 if Above is set. It writes to a field.
type LimitFlag struct {
	To    *ops.Limit
	Above bool
}

func (l *LimitFlag) String() string {
	if l.To == nil {
		return ""
	}
	if d, ok := l.To.Get(); ok {
		return d.String()
	}
	return ""
}

func (l *LimitFlag) Type() string { return "DURATION" }

func (l *LimitFlag) Set(s string) error {
	d, err := time.ParseDuration(s)
	if l.Above && (err != nil || d <= 0) {
		return fmt.Errorf("want a length of time above 0, such as 50ms or 0.2s")
	}
	if err != nil || d < 0 {
		return fmt.Errorf("want a length of time that is not negative, such as 50ms or 0.2s")
	}
	*l.To = ops.Within(d)
	return nil
}

// PositiveFlag is a finite number above 0, at most Max unless Max is 0. It writes to a field.
type PositiveFlag struct {
	To   *float64
	Max  float64
	Unit string
}

func (p *PositiveFlag) String() string {
	if p.To == nil || *p.To == 0 {
		return ""
	}
	return strconv.FormatFloat(*p.To, 'g', -1, 64)
}

func (p *PositiveFlag) Type() string { return p.Unit }

func (p *PositiveFlag) Set(s string) error {
	v, err := decimal.ParseFloat(s, 64)
	if err != nil || !(v > 0) || math.IsInf(v, 1) || p.Max > 0 && v > p.Max {
		if p.Max > 0 {
			return fmt.Errorf("want a number above 0, at most %g", p.Max)
		}
		return fmt.Errorf("want a number above 0")
	}
	*p.To = v
	return nil
}

// Hertz returns the flag for a rate in hertz, at most 1e9. It writes to a field.
func Hertz(to *float64) *PositiveFlag { return &PositiveFlag{To: to, Max: 1e9, Unit: "HZ"} }
