package align

import (
	"fmt"
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

// unused adds the notes about options of the plan that have no effect: of a stream on that stream, of the defaults on all together.
func (j *job) unused(notes *dataset.Notes) {
	var all []Effective
	for i := range j.takes {
		t := &j.takes[i]
		e := Effective{t.how, t.edge, t.channels, t.empty}
		all = append(all, e)
		if t.index < len(j.plan.Streams) {
			notes.Join(Unused(t.stream.Name, j.plan.Streams[t.index].Sampling, e))
		}
	}
	notes.Join(Unused("", j.plan.Defaults, all...))
}

// checkWindows returns a *PlanError for a window that no kind of the plan looks at, whatever the recording.
func (p *Plan) checkWindows() error {
	windowed := func(kind string, kinds []ColumnKind) bool {
		one := func(kind string) bool {
			k, err := ops.ParseInterp(kind)
			return err == nil && kind != "" && k.Windowed()
		}
		return one(kind) || slices.ContainsFunc(kinds, func(k ColumnKind) bool { return one(k.Kind) })
	}
	wrong := func(key string, window ops.Limit) error {
		d, _ := window.Get()
		return bad(key, d.String()+" without a kind that looks at it", "a kind such as window-mean, or no window")
	}
	defaults := windowed(p.Defaults.Kind, p.Defaults.Kinds)
	some := defaults
	for i := range p.Streams {
		s := &p.Streams[i]
		own := windowed(s.Kind, s.Kinds) || s.Kind == "" && windowed(p.Defaults.Kind, nil) || s.Kinds == nil && windowed("", p.Defaults.Kinds)
		if _, given := s.Window.Get(); given && !own {
			return wrong(fmt.Sprintf("streams[%d].window", i), s.Window)
		}
		some = some || own
	}
	if _, given := p.Defaults.Window.Get(); given && !some {
		return wrong("defaults.window", p.Defaults.Window)
	}
	return nil
}
