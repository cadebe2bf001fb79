package align

import (
	"fmt"
	"slices"

	"github.com/robocache/robocache/ops"
)

// Unused says which options have no effect on any of the given channels, with the reason: a tolerance without a kind that takes single samples, a
// period without angles. filled says that the fill value may be written for other reasons, such as a stream without samples.
func Unused(s Sampling, edge ops.Edge, channels []ops.Channel, filled bool) []string {
	var list []string
	add := func(key, why string) { list = append(list, key+" has no effect: "+why) }
	any := func(is func(k ops.Interp) bool) bool {
		return slices.ContainsFunc(channels, func(c ops.Channel) bool { return is(c.Interp) })
	}
	one := func(kind ops.Interp) func(ops.Interp) bool {
		return func(k ops.Interp) bool { return k == kind }
	}
	_, gap := s.MaxGap.Get()
	_, near := s.Tolerance.Get()
	_, window := s.Window.Get()
	single := any(func(k ops.Interp) bool {
		return k == ops.InterpPrevious || k == ops.InterpNext || k == ops.InterpNearest
	})
	windowed := any(ops.Interp.Windowed)
	if near && !single {
		add("tolerance", "it is for the kinds previous, next and nearest")
	}
	if s.Period != 0 && !any(one(ops.InterpAngle)) {
		add("period", "it is for the kind angle")
	}
	if s.Quat != "" && !any(one(ops.InterpSlerp)) {
		add("quat", "it is for the kind slerp")
	}
	if window && !windowed {
		add("window", "it is for the window kinds, such as window-mean")
	}
	if s.Edge == ops.EdgeExtrapolate.String() && !any(one(ops.InterpLinear)) {
		add("edge extrapolate", "only the kind linear goes on, others hold their end sample")
	}
	if s.FillGaps && !gap && !(near && single) && !windowed {
		add("fill_gaps", "no max_gap, tolerance or window makes a gap")
	}
	if s.Fill != (ops.Fill{}) && edge != ops.EdgeFill && edge != ops.EdgeHold && !s.FillGaps && !filled {
		add("fill", "it is written with edge fill or hold, and with fill_gaps")
	}
	if s.Kind != "" && len(channels) > 0 && !any(func(k ops.Interp) bool { return k.String() == s.Kind }) {
		add("kind "+s.Kind, "no column takes it: "+kindsOf(channels))
	}
	return list
}

// kindsOf names the kinds that columns have.
func kindsOf(channels []ops.Channel) string {
	return fmt.Sprintf("they are %s", oneOf(sortedKeys(countKinds(channels))))
}

// unused says which of the plan's options have no effect: of the defaults on all streams together, of a stream on that stream.
func (j *job) unused() (list []string) {
	var all []ops.Channel
	filled := false
	edge := ops.EdgeClamp
	if j.plan.Defaults.Edge != "" {
		edge, _ = ops.ParseEdge(j.plan.Defaults.Edge) // the plan was checked
	}
	for i := range j.takes {
		t := &j.takes[i]
		all = append(all, t.channels...)
		fills := t.edge == ops.EdgeFill || t.edge == ops.EdgeHold || t.how.FillGaps || t.empty
		filled = filled || fills
		if t.index < len(j.plan.Streams) {
			for _, u := range Unused(j.plan.Streams[t.index].Sampling, t.edge, t.channels, fills) {
				list = append(list, t.stream.Name+": "+u)
			}
		}
	}
	return append(list, Unused(j.plan.Defaults, edge, all, filled)...)
}
