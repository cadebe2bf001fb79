package policy

import (
	"cmp"
	"strings"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/ops"
)

// causal sets the methods of a plan's streams so that training sees only samples that a live policy would see. A stream without a method
// takes its latest sample, however old. If the plan sets a method that reads samples after a target, the error is an *align.PlanError.
func causal(p *align.Plan) error {
	const want = "previous, or one of the window methods: a policy sees no sample later than its time"
	for i := range p.Streams {
		s := &p.Streams[i]
		s.Kind = cmp.Or(s.Kind, p.Defaults.Kind, ops.InterpPrevious.String())
		if s.Kinds == nil {
			s.Kinds = p.Defaults.Kinds
		}
		for _, k := range append([]align.ColumnKind{{Kind: s.Kind}}, s.Kinds...) {
			if kind, err := ops.ParseInterp(k.Kind); err != nil || !kind.LooksBack() {
				return p.Mistake(p.Key(i, strings.TrimRight("method."+k.Columns, ".")), k.Kind+", which looks ahead", want)
			}
		}
		if edge := cmp.Or(s.Edge, p.Defaults.Edge, hold); edge != hold {
			return p.Mistake(p.Key(i, "edge"), edge, "hold, or nothing: a policy sees the latest sample until there is a later one")
		}
		s.Edge = hold
		for _, limit := range []ops.Limit{s.MaxGap, p.Defaults.MaxGap} {
			if text := align.GapText(limit); text != "" && limit != align.NoGap {
				return p.Mistake(p.Key(i, "max_gap"), text+", which looks ahead", "tolerance: how old a sample may be; how long a gap is shows when it ends")
			}
		}
	}
	return nil
}

// hold is the edge mode that keeps the last sample valid.
var hold = ops.EdgeHold.String()
