package convert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// ApartError reports an episode without any row in which all streams are valid, for example because the clocks of its streams do
// not overlap.
type ApartError struct {
	Rows    int
	Streams []string // stream names, each with the rows where it is valid
}

func (e *ApartError) Error() string {
	return fmt.Sprintf("no row among %d has a valid value for every stream (%s), and the format cannot mark which are: want streams that overlap, "+
		"a plan with fewer streams, or all rows kept (--keep-invalid)", e.Rows, strings.Join(e.Streams, ", "))
}

// trim removes rows at both ends of a clock in which some stream is not valid, if the target cannot mark them, and counts such rows in
// between. If no row is valid in all streams, the error is an *ApartError in a *RefusedError.
func (c *Conversion) trim(r *ready, got *align.Resampled) error {
	rows := got.Times.Len()
	if !c.traits.Unmasked || rows == 0 || len(got.Streams) == 0 {
		return nil
	}
	good := slices.Repeat([]bool{true}, rows)
	var valid []string
	for i := range got.Streams {
		flags, err := tensor.Data[uint8](got.Streams[i].Valid)
		if err != nil {
			return err
		}
		n := 0
		for k, flag := range flags {
			good[k] = good[k] && flag == 1
			n += int(flag)
		}
		valid = append(valid, fmt.Sprintf("%s in %d", got.Streams[i].Name, n))
	}
	first, end := 0, rows
	if !c.opt.KeepInvalid {
		if first = slices.Index(good, true); first < 0 {
			return &RefusedError{&ApartError{rows, valid}}
		}
		for !good[end-1] {
			end--
		}
	}
	for _, ok := range good[first:end] {
		if !ok {
			r.about.NotValid++
		}
	}
	if r.about.LeftOut = rows - (end - first); r.about.LeftOut == 0 {
		return nil
	}
	return cut(got, first, end)
}

// cut keeps only rows first to end-1 of the aligned streams.
func cut(got *align.Resampled, first, end int) (err error) {
	part := func(t *tensor.Tensor) *tensor.Tensor {
		if err != nil || t == nil {
			return t
		}
		t, err = t.Slice(0, first, end)
		return t
	}
	got.Times = part(got.Times)
	got.Clock = ops.At(got.Times)
	for i := range got.Streams {
		s, line := &got.Streams[i], &got.Report.Streams[i]
		s.Times, s.Values, s.Valid, s.Age, s.Pad = got.Times, part(s.Values), part(s.Valid), part(s.Age), part(s.Pad)
		if err != nil {
			return err
		}
		line.Samples, line.Targets, line.Valid, line.OutOfRange, line.Gapped, line.NotFinite = 0, 0, 0, 0, 0, 0
		if err := line.Count(s.Recorded.Times, got.Times, s.Valid); err != nil {
			return err
		}
	}
	clock := align.NewReport(got.Times, got.Report.Clock.Hz).Clock
	got.Report.Clock.First, got.Report.Clock.Last, got.Report.Clock.Targets = clock.First, clock.Last, clock.Targets
	return err
}
