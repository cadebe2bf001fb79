package align

import (
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/ops"
)

// Effective is how a stream is sampled in the end, by its own options and the defaults.
type Effective struct {
	How      Sampling
	Edge     ops.Edge
	Channels []ops.Channel
	Empty    bool // the stream has no samples, so that the fill value is written
}

// has reports whether a channel's kind is one of these.
func (e *Effective) has(kinds ...ops.Interp) bool {
	return slices.ContainsFunc(e.Channels, func(c ops.Channel) bool { return slices.Contains(kinds, c.Interp) })
}

func (e *Effective) single() bool {
	return e.has(ops.InterpPrevious, ops.InterpNext, ops.InterpNearest)
}

func (e *Effective) windowed() bool {
	return slices.ContainsFunc(e.Channels, func(c ops.Channel) bool { return c.Interp.Windowed() })
}

// gaps reports whether a target may be in a gap.
func (e *Effective) gaps() bool {
	_, gap := e.How.MaxGap.Get()
	_, near := e.How.Tolerance.Get()
	return gap || near && e.single() || e.windowed()
}

func (e *Effective) fills() bool {
	return e.Edge == ops.EdgeFill || e.Edge == ops.EdgeHold || e.How.FillGaps || e.Empty
}

// Unused returns a note about each option that has no effect on any of the streams that it is for, such as a tolerance without a kind that takes
// single samples, or a period without angles. Name is the stream, or empty for the defaults.
func Unused(name string, asked Sampling, on ...Effective) (notes dataset.Notes) {
	add := func(given bool, code dataset.Code, has func(*Effective) bool) {
		if given && len(on) > 0 && !slices.ContainsFunc(on, func(e Effective) bool { return has(&e) }) {
			notes = append(notes, dataset.Note{Code: code, Subject: name})
		}
	}
	kind := func(k ops.Interp) func(*Effective) bool {
		return func(e *Effective) bool { return e.has(k) }
	}
	_, near := asked.Tolerance.Get()
	_, window := asked.Window.Get()
	add(near, dataset.CodeToleranceUnused, (*Effective).single)
	add(asked.Period != 0, dataset.CodePeriodUnused, kind(ops.InterpAngle))
	add(asked.Quat != "", dataset.CodeQuatUnused, kind(ops.InterpSlerp))
	add(window, dataset.CodeWindowUnused, (*Effective).windowed)
	add(asked.Edge == ops.EdgeExtrapolate.String(), dataset.CodeExtrapolateUnused, kind(ops.InterpLinear))
	add(asked.FillGaps, dataset.CodeFillGapsUnused, (*Effective).gaps)
	add(asked.Fill != (ops.Fill{}), dataset.CodeFillUnused, (*Effective).fills)
	if k, err := ops.ParseInterp(asked.Kind); err == nil && asked.Kind != "" {
		add(true, dataset.CodeKindUnused, kind(k))
		if n := notes.Find(dataset.CodeKindUnused); n != nil {
			n.Got = asked.Kind
		}
	}
	return notes
}
