package align

import (
	"slices"
	"strconv"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
)

// has reports whether a channel's kind is one of these.
func (a *Aligned) has(kinds ...ops.Interp) bool {
	return slices.ContainsFunc(a.Channels, func(c ops.Channel) bool { return slices.Contains(kinds, c.Interp) })
}

func (a *Aligned) single() bool {
	return a.has(ops.InterpPrevious, ops.InterpNext, ops.InterpNearest)
}

func (a *Aligned) windowed() bool {
	return slices.ContainsFunc(a.Channels, func(c ops.Channel) bool { return c.Interp.Windowed() })
}

// floats reports whether some column is not a whole number.
func (a *Aligned) floats() bool {
	return a.Recorded != nil && slices.ContainsFunc(a.Recorded.Columns, func(c dataset.Column) bool { return !c.Integer })
}

// gaps reports whether a target may be in a gap.
func (a *Aligned) gaps() bool {
	_, gap := a.How.MaxGap.Get()
	_, near := a.How.Tolerance.Get()
	return gap || near && a.single() || a.windowed()
}

// fills reports whether the fill value may be written.
func (a *Aligned) fills() bool {
	edge := a.How.Edge
	return edge == ops.EdgeFill.String() || edge == ops.EdgeHold.String() || a.How.FillGaps || a.Recorded != nil && a.Recorded.Len() == 0
}

// Unused returns a note for each option in s that has no effect on any stream in on, for example a period without angles. name is
// the Subject of the notes, or empty if s are a plan's defaults. The streams need How.Edge and Channels.
func (s Sampling) Unused(name string, on ...Aligned) (notes dataset.Notes) {
	add := func(given bool, code dataset.Code, has func(*Aligned) bool) {
		if given && len(on) > 0 && !slices.ContainsFunc(on, func(a Aligned) bool { return has(&a) }) {
			notes = append(notes, dataset.Note{Code: code, Subject: name})
		}
	}
	kind := func(k ops.Interp) func(*Aligned) bool {
		return func(a *Aligned) bool { return a.has(k) }
	}
	_, near := s.Tolerance.Get()
	_, window := s.Window.Get()
	add(near, dataset.CodeToleranceUnused, (*Aligned).single)
	add(s.Period != 0, dataset.CodePeriodUnused, kind(ops.InterpAngle))
	add(s.Quat != "", dataset.CodeQuatUnused, kind(ops.InterpSlerp))
	add(window, dataset.CodeWindowUnused, (*Aligned).windowed)
	add(s.Edge == ops.EdgeExtrapolate.String(), dataset.CodeExtrapolateUnused, kind(ops.InterpLinear))
	add(s.FillGaps, dataset.CodeFillGapsUnused, (*Aligned).gaps)
	add(s.Fill != (ops.Fill{}), dataset.CodeFillUnused, (*Aligned).fills)
	if k, err := ops.ParseInterp(s.Kind); err == nil && s.Kind != "" {
		add(true, dataset.CodeKindUnused, kind(k))
		if n := notes.Find(dataset.CodeKindUnused); n != nil {
			n.Got = s.Kind
			if k.Width() > 1 && slices.ContainsFunc(on, func(a Aligned) bool { return a.floats() }) {
				n.Code, n.Want = dataset.CodeKindGroups, strconv.Itoa(k.Width())
			}
		}
	}
	return notes
}
