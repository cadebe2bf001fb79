package align

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/internal/text"
	"github.com/robocache/robocache/ops"
)

// Check returns a *PlanError for a mistake that is visible without a recording, for example a rate of -1.
func (p *Plan) Check() error {
	switch {
	case p.Targets == nil && (!(p.Rate > 0) || math.IsInf(p.Rate, 1)):
		return bad("rate", fmt.Sprint(p.Rate), "a rate above 0 Hz")
	case p.Targets == nil && p.Rate > 1e9:
		return bad("rate", fmt.Sprint(p.Rate), "at most 1e9 Hz: times are whole nanoseconds")
	case p.Targets != nil && p.Targets.Rank() != 1:
		return bad("targets", p.Targets.String(), "times [T]")
	case p.Targets != nil && p.Rate != 0:
		return bad("rate", fmt.Sprintf("%g with targets", p.Rate), "one of them")
	case p.Range.Mode > RangeBetween:
		return bad("range", p.Range.Mode.String(), oneOf(clocks.Modes))
	case p.Range.Mode == RangeBetween && p.Range.From > p.Range.To:
		return bad("range", fmt.Sprintf("%v to %v", p.Range.From, p.Range.To), "a beginning that is not after the end")
	}
	d, _ := p.Snap.Get()
	switch half := clocks.HalfStep(p.Rate); {
	case d < 0:
		return bad("snap", d.String(), "a length of time that is not negative")
	case d > half:
		return bad("snap", d.String(), fmt.Sprintf("at most %v, half a step of %g Hz", half, p.Rate))
	}
	if err := named("unordered", p.Unordered, Unordereds); err != nil {
		return err
	}
	if err := p.Defaults.check("defaults"); err != nil {
		return err
	}
	names := map[string]bool{}
	for i := range p.Streams {
		s, key := &p.Streams[i], fmt.Sprintf("streams[%d]", i)
		switch {
		case s.Name == "":
			return bad(key+".name", "none", "the stream's name")
		case names[s.Name]:
			return bad(key+".name", fmt.Sprintf("%q twice", s.Name), "each name once")
		}
		names[s.Name] = true
		if err := s.check(key); err != nil {
			return err
		}
		if err := s.checkPoints(key); err != nil {
			return err
		}
	}
	return p.checkLoading(names)
}

// checkLoading checks the fields for loaders: windows, padding and shuffle.
func (p *Plan) checkLoading(names map[string]bool) error {
	for _, name := range sortedKeys(p.Windows) {
		key := "windows." + name
		w := p.Windows[name]
		lo, hi := w.span(p.Rate)
		from, to := w.reach()
		n := hi - lo + 1
		if len(w.At) > 0 {
			n = float64(len(w.At))
		}
		switch {
		case len(w.At) > 0 && (w.From != 0 || w.To != 0):
			return bad(key, fmt.Sprintf("%v to %v, and single times", w.From, w.To), "one of them")
		case len(w.At) == 0 && from >= to:
			return bad(key, w.String(), "a beginning before the end")
		case from < -mostReach || to > mostReach:
			return bad(key, w.String(), fmt.Sprintf("at most %v from the anchor", mostReach))
		case max(-lo, hi) > clocks.MaxTargets || n > maxWindow:
			return bad(key, fmt.Sprintf("%v, %.4g ticks of %g Hz", w, n, p.Rate), fmt.Sprintf("at most %d, none more than %d from the anchor", maxWindow, clocks.MaxTargets))
		}
		if len(names) > 0 && !names[name] {
			return bad(key, fmt.Sprintf("%q", name), "a stream in the plan: "+text.Closest(name, sortedKeys(names)))
		}
	}
	if err := named("padding", p.Padding, Paddings); err != nil {
		return err
	}
	if err := p.checkPadding(); err != nil {
		return err
	}
	return named("shuffle", p.Shuffle, Shuffles)
}

// maxWindow is the largest number of targets in a window.
const maxWindow = 1 << 24

// mostReach is the longest distance from an anchor to a target. Anchors are within 2^62 ns of 0, so no target overflows 64 bits.
const mostReach = time.Duration(1 << 60)

func (s *Sampling) check(key string) error {
	kinds := kindNames()
	if err := named(key+".method", s.Kind, kinds); err != nil {
		return err
	}
	for _, k := range s.Kinds {
		if k.Kind == "" {
			return bad(key+".method."+k.Columns, "none", oneOf(kinds))
		}
		if err := named(key+".method."+k.Columns, k.Kind, kinds); err != nil {
			return err
		}
	}
	if err := named(key+".quat", s.Quat, []string{"xyzw", "wxyz"}); err != nil {
		return err
	}
	if err := named(key+".edge", s.Edge, edgeNames); err != nil {
		return err
	}
	if err := named(key+".normalise", s.Normalise, Normalisations); err != nil {
		return err
	}
	if s.Period < 0 || s.Period-s.Period != 0 {
		return bad(key+".period", fmt.Sprint(s.Period), "a positive number")
	}
	if s.DType != 0 && !s.DType.IsFloat() {
		return bad(key+".dtype", s.DType.String(), "f32, f64, f16, bf16")
	}
	for _, l := range []struct {
		key   string
		limit ops.Limit
	}{{"max_gap", s.MaxGap}, {"tolerance", s.Tolerance}, {"window", s.Window}} {
		if d, given := l.limit.Get(); given && d < 0 && (l.key == "window" || l.limit != AutoGap && l.limit != NoGap) {
			return bad(key+"."+l.key, d.String(), "a length of time that is not negative")
		}
	}
	return nil
}

// checkPoints checks the fields of a stream of points.
func (s *Stream) checkPoints(key string) error {
	p := s.Points
	if p == nil {
		return nil
	}
	of := key + ".points"
	switch {
	case p.K < 1 || p.K > ops.MaxFarthest:
		return bad(of+".k", fmt.Sprint(p.K), fmt.Sprintf("1 to %d", ops.MaxFarthest))
	case len(s.Columns)+len(s.Kinds) > 0:
		return bad(key, "columns", "none of points, and one method")
	case s.Normalise != "" && s.Normalise != "none":
		return bad(key+".normalise", s.Normalise, "none for points: their order differs from image to image")
	case !(p.Near >= 0 && (p.Far == 0 || p.Far >= p.Near)):
		return bad(of+".far", fmt.Sprintf("%v, with near %v", p.Far, p.Near), "0 <= near <= far, or 0 for no limit")
	case p.Pose != [16]float64{} && [4]float64(p.Pose[12:]) != [4]float64{3: 1}:
		return bad(of+".pose", fmt.Sprint(p.Pose), "0 0 0 1 as the last row")
	}
	for i, hi := range p.Max {
		if d := float32(hi) - float32(p.Min[i]); (p.Min != p.Max || hi != 0 || p.Grid != "") && (!(d > 0) || d-d != 0) {
			return bad(of+".max", fmt.Sprint(p.Max), fmt.Sprintf("finite and above min, %v, along each axis in float32", p.Min))
		}
	}
	if err := named(of+".grid", p.Grid, []string{"peract"}); err != nil {
		return err
	}
	return named(key+".method", s.Kind, PointMethods)
}

var edgeNames = []string{"clamp", "fill", "extrapolate", "error", "hold"}

func kindNames() []string {
	var names []string
	for _, k := range ops.Interps() {
		names = append(names, k.String())
	}
	return names
}

// named returns a *PlanError if a name is neither empty nor in the list.
func named(key, name string, list []string) error {
	if name == "" || slices.Contains(list, name) {
		return nil
	}
	return bad(key, fmt.Sprintf("%q", name)+text.DidYouMean(name, list), oneOf(list))
}
