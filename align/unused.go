package align

import (
	"fmt"
	"slices"

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

// Unused says, in words for a person, which of the options that were asked for have no effect on any of the streams that they are for, and why: a
// tolerance without a kind that takes single samples, a period without angles.
func Unused(asked Sampling, on ...Effective) []string {
	var list []string
	add := func(given bool, key, why string, has func(*Effective) bool) {
		if given && len(on) > 0 && !slices.ContainsFunc(on, func(e Effective) bool { return has(&e) }) {
			list = append(list, key+" has no effect: "+why)
		}
	}
	kind := func(k ops.Interp) func(*Effective) bool {
		return func(e *Effective) bool { return e.has(k) }
	}
	_, near := asked.Tolerance.Get()
	_, window := asked.Window.Get()
	add(near, "tolerance", "it is for the kinds previous, next and nearest", (*Effective).single)
	add(asked.Period != 0, "period", "it is for the kind angle", kind(ops.InterpAngle))
	add(asked.Quat != "", "quat", "it is for the kind slerp", kind(ops.InterpSlerp))
	add(window, "window", "it is for the window kinds, such as window-mean", (*Effective).windowed)
	add(asked.Edge == ops.EdgeExtrapolate.String(), "edge extrapolate", "only the kind linear goes on, others hold their end sample", kind(ops.InterpLinear))
	add(asked.FillGaps, "fill_gaps", "no max_gap, tolerance or window makes a gap", (*Effective).gaps)
	add(asked.Fill != (ops.Fill{}), "fill", "it is written with edge fill or hold, and with fill_gaps", (*Effective).fills)
	if k, err := ops.ParseInterp(asked.Kind); err == nil && asked.Kind != "" {
		add(true, "kind "+asked.Kind, "no column takes it, as they are whole numbers or have kinds of their own", kind(k))
	}
	return list
}

// unused says which of the plan's options have no effect: of a stream on that stream, of the defaults on all together.
func (j *job) unused() (list []string) {
	var all []Effective
	for i := range j.takes {
		t := &j.takes[i]
		e := Effective{t.how, t.edge, t.channels, t.empty}
		all = append(all, e)
		if t.index < len(j.plan.Streams) {
			for _, u := range Unused(j.plan.Streams[t.index].Sampling, e) {
				list = append(list, t.stream.Name+": "+u)
			}
		}
	}
	return append(list, Unused(j.plan.Defaults, all...)...)
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
