package planfile

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/internal/orderjson"
	"github.com/robocache/robocache/ops"
)

// JSON returns the plan in the form of a plan file, which Parse can read, because JSON is valid YAML. If a file cannot hold the
// plan, the error is an *align.PlanError: for Targets, and for a stream with both a Kind and Kinds.
func JSON(p *align.Plan) ([]byte, error) {
	if p.Targets != nil {
		return nil, &align.PlanError{Key: "targets", Got: "times of their own", Want: "a rate, in a file"}
	}
	out := given{orderjson.Of("version", 1, "rate", p.Rate)}
	switch r := p.Range; {
	case r.Mode == align.RangeBetween:
		out.Add("range", []string{r.From.String(), r.To.String()})
	case r.Mode != align.RangeCommon:
		out.Add("range", r.Mode.String())
	}
	out.limit("snap", p.Snap)
	out.text("unordered", p.Unordered)
	var defaults given
	if err := defaults.sampling("defaults", &p.Defaults); err != nil {
		return nil, err
	}
	if defaults.Len() > 0 {
		out.Add("defaults", defaults)
	}
	var streams []given
	for i := range p.Streams {
		s := &p.Streams[i]
		one := given{orderjson.Of("name", s.Name)}
		one.text("from", s.From)
		if len(s.Columns) > 0 {
			one.Add("columns", s.Columns)
		}
		if err := one.sampling(fmt.Sprintf("streams[%d]", i), &s.Sampling); err != nil {
			return nil, err
		}
		if s.Points != nil {
			one.Add("points", s.Points)
		}
		streams = append(streams, one)
	}
	if len(streams) > 0 {
		out.Add("streams", streams)
	}
	var windows given
	for _, name := range slices.Sorted(maps.Keys(p.Windows)) {
		w := p.Windows[name]
		if len(w.At) == 0 {
			windows.Add(name, []string{w.From.String(), w.To.String()})
			continue
		}
		var at []string
		for _, d := range w.At {
			at = append(at, d.String())
		}
		windows.Add(name, orderjson.Of("at", at))
	}
	if windows.Len() > 0 {
		out.Add("windows", windows)
	}
	out.text("padding", p.Padding)
	out.limit("pad_after", p.PadAfter)
	out.text("shuffle", p.Shuffle)
	var filter given
	filter.text("split", p.Filter.Split)
	filter.text("task", p.Filter.Task)
	if p.Filter.Success != nil {
		filter.Add("success", *p.Filter.Success)
	}
	if filter.Len() > 0 {
		out.Add("filter", filter)
	}
	return json.Marshal(out)
}

// given contains the members of a plan file. Empty fields are left out.
type given struct{ orderjson.Object }

func (o *given) text(key, value string) {
	if value != "" {
		o.Add(key, value)
	}
}

func (o *given) limit(key string, l ops.Limit) {
	if d, there := l.Get(); there {
		o.Add(key, d.String())
	}
}

// sampling adds the fields of s that are set to the plan text. key is the plan's key that contains them, for example "defaults".
func (o *given) sampling(key string, s *align.Sampling) error {
	switch {
	case s.Kind != "" && len(s.Kinds) > 0:
		return &align.PlanError{Key: key + ".method", Got: s.Kind + " beside methods of columns", Want: "one or the other, in a file"}
	case len(s.Kinds) > 0:
		var kinds given
		for _, k := range s.Kinds {
			kinds.Add(k.Columns, k.Kind)
		}
		o.Add("method", kinds)
	default:
		o.text("method", s.Kind)
	}
	o.text("quat", s.Quat)
	if s.Period != 0 {
		o.Add("period", s.Period)
	}
	o.limit("window", s.Window)
	o.text("edge", s.Edge)
	if s.Fill != (ops.Fill{}) {
		switch v := s.Fill.Get(); {
		case math.IsNaN(v):
			o.Add("fill", ".nan")
		case math.IsInf(v, 1):
			o.Add("fill", ".inf")
		case math.IsInf(v, -1):
			o.Add("fill", "-.inf")
		default:
			o.Add("fill", v)
		}
	}
	o.text("max_gap", align.GapText(s.MaxGap))
	o.text("tolerance", align.GapText(s.Tolerance))
	if s.FillGaps {
		o.Add("fill_gaps", true)
	}
	if s.Offset != 0 {
		o.Add("offset", s.Offset.String())
	}
	o.text("normalise", s.Normalise)
	if s.DType != 0 {
		o.Add("dtype", s.DType.String())
	}
	return nil
}
