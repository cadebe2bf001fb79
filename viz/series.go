package viz

import (
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// series is a Series with times in seconds and values as float64, one slice for each feature.
type series struct {
	x []float64
	y [][]float64
}

type panel struct {
	*Panel
	show                []int
	recorded, resampled series
	gaps                [][2]float64
	limit               float64      // the shortest gap, in seconds
	ends                [][2]float64 // the times before the first sample and after the last
}

func (p *panel) name(j int) string {
	if p.Columns == nil {
		return fmt.Sprint(j)
	}
	return p.Columns[j]
}

func (p *panel) held(j int) bool { return p.Held != nil && p.Held[j] }

// origin is the timestamp at the start of the x axis. Nanoseconds are subtracted as integers, so that nothing is lost.
type origin struct {
	ns  int64
	sec float64
}

func firstTimestamps(panels []Panel) origin {
	o := origin{ns: math.MaxInt64, sec: math.Inf(1)}
	for _, p := range panels {
		for _, t := range []*tensor.Tensor{p.Recorded.Times, p.Resampled.Times} {
			if t == nil {
				continue
			}
			if ns, err := tensor.Elements[int64](t); err == nil && len(ns) > 0 {
				o.ns = min(o.ns, slices.Min(ns))
			} else if sec, err := tensor.Floats(t); err == nil {
				for _, s := range sec {
					if s < o.sec { // false for NaN
						o.sec = s
					}
				}
			}
		}
	}
	if math.IsInf(o.sec, 0) {
		o.sec = 0
	}
	if o.ns == math.MaxInt64 {
		o.ns = 0
	}
	return o
}

func (o origin) seconds(t *tensor.Tensor) ([]float64, error) {
	switch t.DType() {
	case tensor.I64:
		ns, err := tensor.Packed[int64](t)
		if err != nil {
			return nil, err
		}
		out := make([]float64, len(ns))
		for i, v := range ns {
			out[i] = float64(uint64(v)-uint64(o.ns)) / 1e9 // because the difference may overflow an int64
		}
		return out, nil
	case tensor.F64, tensor.F32:
		sec, err := tensor.Floats(t)
		for i := range sec {
			sec[i] -= o.sec
		}
		return sec, err
	}
	return nil, fmt.Errorf("%w: times of %v", ErrDType, t.DType())
}

// columns returns the features of values [S,D], one slice for each.
func columns(values *tensor.Tensor) ([][]float64, error) {
	all, err := tensor.Floats(values)
	if err != nil {
		return nil, err
	}
	d := values.Dim(1)
	out := make([][]float64, d)
	for j := range out {
		out[j] = make([]float64, values.Dim(0))
		for i := range out[j] {
			out[j][i] = all[i*d+j]
		}
	}
	return out, nil
}

// extent returns the smallest and the greatest finite value, or false if there is none.
func extent(v []float64) (lo, hi float64, ok bool) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, x := range v {
		if finite(x) {
			lo, hi = min(lo, x), max(hi, x)
		}
	}
	return lo, hi, lo <= hi
}

// pick returns the first feature that varies, and the features that suit the same axis: the common range is at most ten times the
// range of each. Held features, for example counters, are only picked if no other varies.
func pick(cols [][]float64, held []bool) []int {
	var varying []int
	var ends [][2]float64
	for j, c := range cols {
		if l, h, ok := extent(c); ok && h != l && h-l <= math.MaxFloat64/16 && (held == nil || !held[j]) {
			varying, ends = append(varying, j), append(ends, [2]float64{l, h})
		}
	}
	var show []int
	for first := 0; first < len(varying) && len(show) < MaxCurves; first++ {
		lo, hi, group := ends[first][0], ends[first][1], []int{varying[first]}
		for i := first + 1; i < len(varying) && len(group) < MaxCurves; i++ {
			l, h := ends[i][0], ends[i][1]
			if max(hi, h)-min(lo, l) <= 10*min(hi-lo, h-l) {
				lo, hi, group = min(lo, l), max(hi, h), append(group, varying[i])
			}
		}
		if len(group) > len(show) {
			show = group
		}
	}
	switch {
	case show == nil && held != nil:
		return pick(cols, nil)
	case show == nil && len(cols) > 0:
		return []int{0}
	}
	return show
}

// gapsOf returns the intervals between neighbouring times that are longer than limit, in seconds, and the limit. If limit is 0, it is
// dataset.GapLimit, and a clock without a rate has no gaps.
func gapsOf(x []float64, limit float64) ([][2]float64, float64) {
	if limit <= 0 {
		times := make([]int64, len(x))
		for i, sec := range x {
			times[i] = int64(math.Round(sec * 1e9))
		}
		st := dataset.StatsOf(times)
		if limit = dataset.GapLimit(st.Median).Seconds(); !st.Steady {
			return nil, limit
		}
	}
	var out [][2]float64
	for i := 1; i < len(x); i++ {
		if x[i]-x[i-1] > limit {
			out = append(out, [2]float64{x[i-1], x[i]})
		}
	}
	return out, limit
}

// thin returns indices from lo to hi-1 that give the same picture: in each of n bins of equal width, the first, the smallest, the
// greatest and the last value.
func thin(x, y []float64, lo, hi, n int) []int {
	if hi-lo <= 4*n {
		out := make([]int, 0, hi-lo)
		for i := lo; i < hi; i++ {
			out = append(out, i)
		}
		return out
	}
	from, width := x[lo], (x[hi-1]-x[lo])/float64(n)
	binOf := func(i int) int {
		if f := (x[i] - from) / width; math.Abs(f) < math.MaxInt32 { // false for NaN
			return int(math.Floor(f))
		}
		return 0
	}
	var out []int
	for i := lo; i < hi; {
		bin := binOf(i)
		keep := [4]int{i, i, i, i}
		for ; i < hi && binOf(i) == bin; i++ {
			if y[i] < y[keep[1]] {
				keep[1] = i
			}
			if y[i] > y[keep[2]] {
				keep[2] = i
			}
			keep[3] = i
		}
		slices.Sort(keep[:])
		out = append(out, slices.Compact(keep[:])...)
	}
	return out
}
