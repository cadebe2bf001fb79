package loader

import "math"

// affine normalises a stream: (x-shift)*scale, then clipped to min and max unless they are nil.
type affine struct {
	rule                   string
	shift, scale, min, max []float32
}

// normalisations are the rules by name. A rule maps a column to (x-shift)*scale. Some rules need quantiles, and some clip to [-1,1].
// Sources, as published in 2026: LeRobot's normalize processor, openpi's transforms, Octo's data utilities, GR00T's state and action
// transforms, robomimic's obs_utils.
var normalisations = map[string]struct {
	of        func(s ColumnStats) (shift, scale float64)
	quantiles bool // it needs the quantiles
	clip      bool
}{
	"mean-std":  {of: meanStd(1e-8)},
	"lerobot":   {of: meanStd(1e-8)},
	"octo":      {of: meanStd(1e-8)},
	"openpi":    {of: meanStd(1e-6)},
	"min-max":   {of: func(s ColumnStats) (float64, float64) { return toUnit(s.Min, s.Max, 1e-8) }},
	"q01-q99":   {quantiles: true, of: func(s ColumnStats) (float64, float64) { return toUnit(s.Q01, s.Q99, 1e-8) }},
	"q10-q90":   {quantiles: true, of: func(s ColumnStats) (float64, float64) { return toUnit(s.Q10, s.Q90, 1e-8) }},
	"gr00t":     {quantiles: true, clip: true, of: gr00t},
	"robomimic": {of: robomimic},
}

func meanStd(epsilon float64) func(ColumnStats) (float64, float64) {
	return func(s ColumnStats) (float64, float64) { return s.Mean, 1 / (s.Std + epsilon) }
}

// toUnit maps lo to -1 and hi to 1. A range of zero is replaced by zero.
func toUnit(lo, hi, zero float64) (shift, scale float64) {
	width := hi - lo
	if width == 0 {
		width = zero
	}
	return (lo + hi) / 2, 2 / width
}

// gr00t maps the quantiles to -1 and 1. It does not change a column that is constant between them.
func gr00t(s ColumnStats) (shift, scale float64) {
	if s.Q01 == s.Q99 {
		return 0, 1
	}
	return toUnit(s.Q01, s.Q99, 0)
}

// robomimic maps the extremes to -0.999999 and 0.999999. A range under 1e-4 counts as 1e-4.
func robomimic(s ColumnStats) (shift, scale float64) {
	return (s.Min + s.Max) / 2, 2 * 0.999999 / max(s.Max-s.Min, 1e-4)
}

// normalise returns a rule's affine step; nil without a rule.
func normalise(rule string, stats []ColumnStats) *affine {
	r, there := normalisations[rule]
	if !there {
		return nil
	}
	a := &affine{rule: rule}
	for _, s := range stats {
		shift, scale := r.of(s)
		if s.Count == 0 {
			shift, scale = 0, 1
		}
		a.shift, a.scale = append(a.shift, float32(shift)), append(a.scale, float32(scale))
		if r.clip {
			lo, hi := float32(-1), float32(1)
			if scale == 1 && shift == 0 { // not changed
				lo, hi = float32(math.Inf(-1)), float32(math.Inf(1))
			}
			a.min, a.max = append(a.min, lo), append(a.max, hi)
		}
	}
	return a
}

// Normalisation is the normalisation of a stream's columns: y = (x-Shift)*Scale in float32, then clipped to Min and Max. So x is
// y/Scale + Shift, unless y was clipped.
type Normalisation struct {
	Rule         string    // the plan's rule: "mean-std"
	Quantiles    bool      // set if the rule needs quantiles
	Shift, Scale []float32 // one value for each column
	Min, Max     []float32 // one for each column, infinite if the rule leaves it unchanged; nil if the rule does not clip
}

// ColumnStats are a column's statistics over the drawn episodes' samples, as recorded. NaN and infinite samples are left
// out. They are computed exactly and rounded once, so they do not depend on the sample order.
type ColumnStats struct {
	Count     int
	Mean, Std float64 // for the whole population: the divisor is Count
	Min, Max  float64
	// Q01 to Q99 are quantiles, linear between the nearest ranks, equal to numpy's quantile in every bit; 0 if the stream's rule needs none.
	Q01, Q10, Q90, Q99 float64
}

// Statistics normalise a stream in place of its own statistics. Shift and Scale, and ClipMin and ClipMax if they are set, are used as
// they are: for example those of the loader that a policy was trained with, see [Loader.Normalisation]. Without Shift the plan's rule
// is applied to Stats.
type Statistics struct {
	Rule                           string   // the rule that they were computed for; if the plan has a rule, both must be equal
	Columns                        []string // the stream's column names; nil is not checked
	Shift, Scale, ClipMin, ClipMax []float32
	Stats                          []ColumnStats // NaN where a value is unknown
}
