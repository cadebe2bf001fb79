package align

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/robocache/robocache/ops"
)

// JSON returns the plan as a plan file has it, which ParsePlan reads: JSON is YAML too. What a file cannot say is a *PlanError: targets, and a kind of a
// stream beside kinds of its columns.
func (p *Plan) JSON() ([]byte, error) {
	if p.Targets != nil {
		return nil, bad("targets", "times of their own", "a rate, in a file")
	}
	out := object{{"version", 1}, {"rate", p.Rate}}
	switch r := p.Range; {
	case r.Mode == RangeBetween:
		out.add("range", []string{r.From.String(), r.To.String()})
	case r.Mode != RangeCommon:
		out.add("range", r.Mode.String())
	}
	out.limit("snap", p.Snap)
	out.text("unordered", p.Unordered)
	defaults, err := p.Defaults.object("defaults")
	if err != nil {
		return nil, err
	}
	if len(defaults) > 0 {
		out.add("defaults", defaults)
	}
	var streams []object
	for i := range p.Streams {
		s := &p.Streams[i]
		one := object{{"name", s.Name}}
		one.text("from", s.From)
		if len(s.Columns) > 0 {
			one.add("columns", s.Columns)
		}
		how, err := s.object(fmt.Sprintf("streams[%d]", i))
		if err != nil {
			return nil, err
		}
		streams = append(streams, append(one, how...))
	}
	if len(streams) > 0 {
		out.add("streams", streams)
	}
	windows := object{}
	for _, name := range sortedKeys(p.Windows) {
		windows.add(name, []string{p.Windows[name].From.String(), p.Windows[name].To.String()})
	}
	if len(windows) > 0 {
		out.add("windows", windows)
	}
	out.text("padding", p.Padding)
	out.limit("pad_after", p.PadAfter)
	out.text("shuffle", p.Shuffle)
	filter := object{}
	filter.text("split", p.Filter.Split)
	filter.text("task", p.Filter.Task)
	if p.Filter.Success != nil {
		filter.add("success", *p.Filter.Success)
	}
	if len(filter) > 0 {
		out.add("filter", filter)
	}
	return json.Marshal(out)
}

// object is a JSON object whose members keep their order.
type object []member

type member struct {
	key   string
	value any
}

func (o *object) add(key string, value any) { *o = append(*o, member{key, value}) }

func (o *object) text(key, value string) {
	if value != "" {
		o.add(key, value)
	}
}

func (o *object) limit(key string, l ops.Limit) {
	if d, given := l.Get(); given {
		o.add(key, d.String())
	}
}

// MarshalJSON writes the object.
func (o object) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, m := range o {
		if i > 0 {
			b = append(b, ',')
		}
		for _, v := range []any{m.key, m.value} {
			text, err := json.Marshal(v)
			if err != nil {
				return nil, err
			}
			b = append(append(b, text...), ':')
		}
		b = b[:len(b)-1]
	}
	return append(b, '}'), nil
}

// object is what a file says of how streams are put on the clock.
func (s *Sampling) object(key string) (o object, err error) {
	switch {
	case s.Kind != "" && len(s.Kinds) > 0:
		return nil, bad(key+".kind", s.Kind+" beside kinds of columns", "one or the other, in a file")
	case len(s.Kinds) > 0:
		kinds := object{}
		for _, k := range s.Kinds {
			kinds.add(k.Columns, k.Kind)
		}
		o.add("kind", kinds)
	default:
		o.text("kind", s.Kind)
	}
	o.text("quat", s.Quat)
	if s.Period != 0 {
		o.add("period", s.Period)
	}
	o.limit("window", s.Window)
	o.text("edge", s.Edge)
	if s.Fill != (ops.Fill{}) {
		switch v := s.Fill.Get(); {
		case math.IsNaN(v):
			o.add("fill", ".nan")
		case math.IsInf(v, 1):
			o.add("fill", ".inf")
		case math.IsInf(v, -1):
			o.add("fill", "-.inf")
		default:
			o.add("fill", v)
		}
	}
	o.limit("max_gap", s.MaxGap)
	o.limit("tolerance", s.Tolerance)
	if s.FillGaps {
		o.add("fill_gaps", true)
	}
	if s.Offset != 0 {
		o.add("offset", s.Offset.String())
	}
	o.text("normalise", s.Normalise)
	if s.DType != 0 {
		o.add("dtype", s.DType.String())
	}
	return o, nil
}
