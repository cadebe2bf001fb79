package loader

import "math"

// affine is what normalises a stream: (x-Shift)*Scale, then between Min and Max if these are given.
type affine struct {
	rule                   string
	shift, scale, min, max []float32
}

// normalisations are the rules by name: of a column (x-shift)*scale, whether that needs quantiles, and whether it is bounded to [-1,1]. Sources:
// LeRobot's normalize processor, openpi's transforms, Octo's data utilities, GR00T's state and action transforms and robomimic's obs_utils, as they
// were published in 2026.
var normalisations = map[string]struct {
	of        func(s ColumnStats) (shift, scale float64)
	quantiles bool // of those that it needs
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

// toUnit takes lo to -1 and hi to 1. A range of zero becomes zero.
func toUnit(lo, hi, zero float64) (shift, scale float64) {
	width := hi - lo
	if width == 0 {
		width = zero
	}
	return (lo + hi) / 2, 2 / width
}

// gr00t takes the quantiles to -1 and 1, and leaves a column that is constant between them alone.
func gr00t(s ColumnStats) (shift, scale float64) {
	if s.Q01 == s.Q99 {
		return 0, 1
	}
	return toUnit(s.Q01, s.Q99, 0)
}

// robomimic takes the extremes to -0.999999 and 0.999999; a range under 1e-4 counts as 1e-4.
func robomimic(s ColumnStats) (shift, scale float64) {
	return (s.Min + s.Max) / 2, 2 * 0.999999 / max(s.Max-s.Min, 1e-4)
}

// normalise returns the affine step of a rule, nil for none.
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
			if scale == 1 && shift == 0 { // left alone
				lo, hi = float32(math.Inf(-1)), float32(math.Inf(1))
			}
			a.min, a.max = append(a.min, lo), append(a.max, hi)
		}
	}
	return a
}

// NeedsQuantiles reports whether a rule does, of the statistics.
func NeedsQuantiles(rule string) bool { return normalisations[rule].quantiles }

// Normalisation is what a stream's columns are normalised with: y = (x-Shift)*Scale, in float32, then not below Min or above Max. So x is
// y/Scale + Shift, unless it was clipped.
type Normalisation struct {
	Rule         string    // of the plan: "mean-std"
	Quantiles    bool      // the rule needs those of the statistics
	Shift, Scale []float32 // of each column
	Min, Max     []float32 // of each column; nil of a rule that does not clip, infinite in a column that it leaves alone
}

// ColumnStats are the statistics of a column over the samples of the episodes that a loader draws from, as they were recorded. NaN and infinite
// samples are left out of them. They are computed exactly and rounded once, so they depend on no order of the samples.
type ColumnStats struct {
	Count     int
	Mean, Std float64 // of the population: divided by Count
	Min, Max  float64
	// Q01 to Q99 are quantiles, linear between the nearest ranks, with the bits of numpy's quantile; 0 where the stream's rule needs none.
	Q01, Q10, Q90, Q99 float64
}

// Statistics are what a stream is normalised with that others have computed. Those of the loader that a policy was trained with, [Loader.Normalisation],
// are used as they are: Shift and Scale, and ClipMin and ClipMax if these are given. Without Shift the rule of the plan makes them of Stats.
type Statistics struct {
	Rule                           string   // that they were computed for; the plan's must be the same, if it has one
	Columns                        []string // names, which must be the stream's; not looked at where there are none
	Shift, Scale, ClipMin, ClipMax []float32
	Stats                          []ColumnStats // NaN where something is not known
}
