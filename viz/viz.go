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

// MaxCurves limits the curves in a panel.
const MaxCurves = 4

// The kinds of *Error, for errors.Is. Every *Error is ErrInput, and most are one of the others too. These have the same values as
// errors with the same meaning in other packages of this module.
var (
	ErrInput         = errors.New("cannot be drawn")
	ErrMissing error = errs.Missing
	ErrShape   error = errs.Shape
	ErrDType   error = errs.DType
	ErrOption  error = errs.Option
)

// Error is an input that cannot be drawn. Nothing was written. Example: Panel 0, Arg "Show", Got "5 features", Want "at most 4".
type Error struct {
	Panel int    // the index of the panel, or -1
	Arg   string // the field's name, for example a field of Panel
	Got   string
	Want  string
	Err   error // one of this package's Err values, or the error from reading a tensor
}

func (e *Error) Error() string {
	if e.Panel < 0 {
		return fmt.Sprintf("viz: %s: got %s, want %s", e.Arg, e.Got, e.Want)
	}
	return fmt.Sprintf("viz: panel %d: %s: got %s, want %s", e.Panel, e.Arg, e.Got, e.Want)
}

// refused returns an error about the whole picture.
func refused(kind error, arg, got, want string) error {
	return &Error{Panel: -1, Arg: arg, Got: got, Want: want, Err: kind}
}

// Unwrap returns ErrInput and the cause.
func (e *Error) Unwrap() []error { return []error{ErrInput, e.Err} }

// Series is values [S,D] and their timestamps [S], in host tensors. Timestamps are i64 nanoseconds, or f64 or f32 seconds.
type Series struct {
	Times, Values *tensor.Tensor
}

// Panel is one stream in a figure: recorded samples and a resampled curve. A feature is a column of the stream.
type Panel struct {
	Title   string
	Unit    string   // the unit on the y axis
	Columns []string // [D], the features' names; by default their indices
	// Show lists the indices of the features to draw, at most MaxCurves. If Show is nil, features are chosen as by Pick, but a
	// feature that Held marks is chosen only if no other feature varies.
	Show []int
	// Held [D] marks features that are drawn as steps, because they keep their value until the next sample. Example: a counter.
	// If Held is nil, all features are drawn as lines.
	Held      []bool
	Recorded  Series // at least one sample
	Resampled Series // with the same features
	// Gap is the longest step between samples that is not shaded. 0 is dataset.GapLimit, if the stream has a rate.
	Gap time.Duration
}

// Options are the layout of a figure. The zero value is a figure 10 inches wide, with 120 dots per inch, and with the detail
// around the longest gap.
type Options struct {
	Title string
	DPI   int
	// Detail is the length of the detail. 0 is a fortieth of the recording, but at least half a second.
	Detail time.Duration
	Curve  string // the label of the resampled curves; by default "resampled"
	Unit   string // the label of the axis for losses; by default "loss"
	// HeldOut are losses on held-out episodes by step, which WriteLossPNG draws beside those of training.
	HeldOut map[int]float64
}

// WritePNG draws the panels below each other and writes a PNG image. The height grows with the number of panels.
func WritePNG(w io.Writer, panels []Panel, opt Options) error {
	if len(panels) == 0 {
		return refused(ErrMissing, "panels", "none", "at least one")
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

// Pick chooses up to MaxCurves features of values [S,D] that suit one axis: the largest group that varies with a similar range, and
// the first one if several are as large. It returns their indices. If none varies, it returns feature 0.
func Pick(values *tensor.Tensor) ([]int, error) {
	if values == nil {
		return nil, refused(ErrMissing, "values", "nil", "[S,D]")
	}
	if values.Rank() != 2 {
		return nil, refused(ErrShape, "values", fmt.Sprint(values), "[S,D]")
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
