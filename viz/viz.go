package viz

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/robocache/robocache/internal/errs"
	"github.com/robocache/robocache/tensor"
)

// MaxCurves is the number of curves that a panel has room for.
const MaxCurves = 4

// The kinds of *Error, for errors.Is: each is ErrInput, and most are one of the others too, whose values packages of this
// module that mean the same share.
var (
	ErrInput         = errors.New("cannot be drawn")
	ErrMissing error = errs.Missing
	ErrShape   error = errs.Shape
	ErrDType   error = errs.DType
	ErrOption  error = errs.Option
)

// Error reports what cannot be drawn. Nothing was written.
type Error struct {
	Panel int    // -1 where there are no panels
	Arg   string // the field's name, as in Panel
	Got   string
	Want  string
	Err   error // one of this package's Err values, or what a tensor of another device or a closed one gave
}

func (e *Error) Error() string {
	if e.Panel < 0 {
		return fmt.Sprintf("viz: %s: got %s, want %s", e.Arg, e.Got, e.Want)
	}
	return fmt.Sprintf("viz: panel %d: %s: got %s, want %s", e.Panel, e.Arg, e.Got, e.Want)
}

// Unwrap returns ErrInput and the cause.
func (e *Error) Unwrap() []error { return []error{ErrInput, e.Err} }

// Series is a host tensor of values [S,D] and its clock [S]: i64 nanoseconds, or f64 or f32 seconds.
type Series struct {
	Times, Values *tensor.Tensor
}

// Panel is one stream.
type Panel struct {
	Title     string
	Unit      string   // written beside the y axis
	Columns   []string // [D], the features' names; their indices unless given
	Show      []int    // the features to draw, at most MaxCurves; unless given what Pick returns, of those not held if any varies
	Held      []bool   // [D], optional: features that are constant from sample to sample are drawn as steps
	Recorded  Series   // one timestamp at least
	Resampled Series   // of as many features
	// Gap is how far apart two samples may be before the stretch between them is shaded; three times the median step unless
	// given.
	Gap time.Duration
}

// Options says how a figure is laid out. The zero value is a figure of 10 inches at 120 dots an inch, whose detail is around
// the longest gap.
type Options struct {
	Title  string
	DPI    int
	Detail time.Duration // the length of the detail; a fortieth of the whole, at least half a second, unless given
	Curve  string        // what the lines are; "resampled" unless given
	Unit   string        // of losses, written beside their axis; "loss" unless given
}

// WritePNG draws the panels, one below the other, and writes them as a PNG image. The height grows with their number.
func WritePNG(w io.Writer, panels []Panel, opt Options) error {
	if len(panels) == 0 {
		return &Error{Panel: -1, Arg: "panels", Got: "none", Want: "at least one", Err: ErrMissing}
	}
	drawn := make([]panel, len(panels))
	from := firstTimestamps(panels)
	for i := range panels {
		p, err := newPanel(i, &panels[i], from)
		if err != nil {
			return err
		}
		drawn[i] = *p
	}
	return figure(drawn, opt).write(w)
}

// Pick chooses up to MaxCurves features of values [S,D] to draw: ones that vary, of a similar magnitude, so that one axis shows
// them all.
func Pick(values *tensor.Tensor) ([]int, error) {
	if values == nil {
		return nil, &Error{Panel: -1, Arg: "values", Got: "nil", Want: "[S,D]", Err: ErrMissing}
	}
	if values.Rank() != 2 {
		return nil, &Error{Panel: -1, Arg: "values", Got: fmt.Sprint(values), Want: "[S,D]", Err: ErrShape}
	}
	cols, err := columns(values)
	if err != nil {
		return nil, err
	}
	return pick(cols, nil), nil
}

func newPanel(i int, in *Panel, from origin) (*panel, error) {
	fail := func(kind error, arg, got, want string) (*panel, error) {
		return nil, &Error{Panel: i, Arg: arg, Got: got, Want: want, Err: kind}
	}
	p := &panel{Panel: in}
	for _, s := range []struct {
		name string
		in   Series
		out  *series
	}{{"Recorded", in.Recorded, &p.recorded}, {"Resampled", in.Resampled, &p.resampled}} {
		t, v := s.in.Times, s.in.Values
		switch {
		case t == nil || v == nil:
			return fail(ErrMissing, s.name, "a nil tensor", "Times and Values")
		case v.Rank() != 2 || t.Rank() != 1 || t.Dim(0) != v.Dim(0):
			return fail(ErrShape, s.name, fmt.Sprintf("Times %v, Values %v", t, v), "[S] and [S,D]")
		}
		var err error
		if s.out.x, err = from.seconds(t); err != nil {
			return fail(err, s.name+".Times", err.Error(), "a host tensor of i64, f64 or f32")
		}
		if s.out.y, err = columns(v); err != nil {
			return fail(err, s.name+".Values", err.Error(), "a host tensor")
		}
	}
	d := in.Recorded.Values.Dim(1)
	switch {
	case len(p.recorded.x) == 0:
		return fail(ErrMissing, "Recorded", "no samples", "at least one")
	case in.Resampled.Values.Dim(1) != d:
		return fail(ErrShape, "Resampled", fmt.Sprintf("%d features", in.Resampled.Values.Dim(1)), fmt.Sprintf("%d, as recorded", d))
	case in.Columns != nil && len(in.Columns) != d:
		return fail(ErrShape, "Columns", fmt.Sprintf("%d names", len(in.Columns)), fmt.Sprint(d))
	case in.Held != nil && len(in.Held) != d:
		return fail(ErrShape, "Held", fmt.Sprintf("%d values", len(in.Held)), fmt.Sprint(d))
	case len(in.Show) > MaxCurves:
		return fail(ErrOption, "Show", fmt.Sprintf("%d features", len(in.Show)), fmt.Sprintf("at most %d", MaxCurves))
	case slices.ContainsFunc(in.Show, func(j int) bool { return j < 0 || j >= d }):
		return fail(ErrOption, "Show", fmt.Sprint(in.Show), fmt.Sprintf("indices of %d features", d))
	}
	if p.show = in.Show; p.show == nil {
		p.show = pick(p.recorded.y, in.Held)
	}
	p.gaps, p.limit = gapsOf(p.recorded.x, in.Gap.Seconds())
	return p, nil
}
