package loader

import (
	"math"
	"slices"

	"github.com/robocache/robocache/tensor"
)

// ColumnStats are the statistics of a column over the samples of the episodes that a loader draws from, as they were recorded. NaN and infinite samples
// are left out of them.
type ColumnStats struct {
	Count              int
	Mean, Std          float64 // of the population: divided by Count
	Min, Max           float64
	Q01, Q10, Q90, Q99 float64 // linear between the nearest ranks, as numpy's quantile
}

// gatherer gathers the statistics of a part's columns.
type gatherer struct {
	part    *part
	columns [][]float64 // finite samples
}

// gathered returns what gathers statistics of a part, nothing of one that is not normalised.
func gathered(p *part) *gatherer {
	g := &gatherer{part: p}
	if p.how.Normalise != "" && p.how.Normalise != "none" {
		g.columns = make([][]float64, p.width)
	}
	return g
}

// add adds values [N,D].
func (g *gatherer) add(t *tensor.Tensor) error {
	if g.columns == nil {
		return nil
	}
	list, err := tensor.Floats(t)
	if err != nil {
		return err
	}
	for i, v := range list {
		if v-v == 0 {
			g.columns[i%len(g.columns)] = append(g.columns[i%len(g.columns)], v)
		}
	}
	return nil
}

// normalise gives the part its statistics, and what normalises it.
func (g *gatherer) normalise() {
	if g.columns == nil {
		return
	}
	for _, column := range g.columns {
		g.part.stats = append(g.part.stats, columnStats(column))
	}
	g.part.affine = normalise(g.part.how.Normalise, g.part.stats)
}

// columnStats returns the statistics of finite numbers, which it sorts.
func columnStats(v []float64) ColumnStats {
	n := len(v)
	if n == 0 {
		return ColumnStats{}
	}
	slices.Sort(v) // sums of sorted numbers do not depend on the order of the episodes
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	mean, squares := sum/float64(n), 0.0
	for _, x := range v {
		squares += (x - mean) * (x - mean)
	}
	quantile := func(q float64) float64 {
		at := q * float64(n-1)
		lo := int(at)
		hi := min(lo+1, n-1)
		return v[lo] + (v[hi]-v[lo])*(at-float64(lo))
	}
	return ColumnStats{Count: n, Mean: mean, Std: math.Sqrt(squares / float64(n)), Min: v[0], Max: v[n-1],
		Q01: quantile(.01), Q10: quantile(.1), Q90: quantile(.9), Q99: quantile(.99)}
}

// affine is what normalises a stream: (x-Shift)*Scale, then between Min and Max if these are given.
type affine struct{ shift, scale, min, max []float32 }

// normalisations are the rules by name: of a column (x-shift)*scale, and whether that is bounded to [-1,1]. Sources: LeRobot's normalize processor,
// openpi's transforms, Octo's data utilities, GR00T's state and action transforms and robomimic's obs_utils, as they were published in 2026.
var normalisations = map[string]struct {
	of   func(s ColumnStats) (shift, scale float64)
	clip bool
}{
	"mean-std":  {of: meanStd(1e-8)},
	"lerobot":   {of: meanStd(1e-8)},
	"octo":      {of: meanStd(1e-8)},
	"openpi":    {of: meanStd(1e-6)},
	"min-max":   {of: func(s ColumnStats) (float64, float64) { return toUnit(s.Min, s.Max, 1e-8) }},
	"q01-q99":   {of: func(s ColumnStats) (float64, float64) { return toUnit(s.Q01, s.Q99, 1e-8) }},
	"q10-q90":   {of: func(s ColumnStats) (float64, float64) { return toUnit(s.Q10, s.Q90, 1e-8) }},
	"gr00t":     {clip: true, of: gr00t},
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
	a := &affine{}
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
