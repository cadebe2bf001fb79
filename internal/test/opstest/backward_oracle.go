package opstest

import (
	"fmt"
	"math"
	"slices"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// sortedTargets returns a fusion's targets in ascending order for each row, with NaN last. The elements after a row's length are
// sorted too.
func sortedTargets(f *fusing) *array {
	a := *f.Targets
	a.raw = slices.Clone(a.raw)
	sort := func(at func(i int) int, n int) {
		row := make([]uint64, n)
		for i := range row {
			row[i] = a.raw[at(i)]
		}
		slices.SortStableFunc(row, func(x, y uint64) int {
			return b2i(a.before(y, x)) - b2i(a.before(x, y))
		})
		for i, x := range row {
			a.raw[at(i)] = x
		}
	}
	n := a.shape[len(a.shape)-1]
	switch {
	case len(a.shape) == 2:
		for b := range a.shape[0] {
			sort(func(i int) int { return a.at(b, i) }, n)
		}
	case f.DstOffsets != nil:
		for b := range f.DstOffsets.shape[0] - 1 {
			first, count := span(b, n, nil, f.DstOffsets)
			if first >= 0 && count >= 0 && first+count <= n {
				sort(func(i int) int { return a.at(first + i) }, count)
			}
		}
	default:
		sort(func(i int) int { return a.at(i) }, n)
	}
	return &a
}

// before reports whether a time is before another. NaN is after all other times.
func (a *array) before(x, y uint64) bool {
	u, v := decode(a.dtype, x), decode(a.dtype, y)
	return a.dtype == tensor.I64 && int64(x) < int64(y) || a.dtype != tensor.I64 && (u < v || u == u && v != v)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// fault returns the expected error, or nil: the fusion's own, or that of the first target out of order.
func (b *backward) fault() *ops.ValueError {
	var least *ops.ValueError
	best := 0
	for m := range b.Streams {
		c := b.of(m)
		e := solve(c).err
		if back := b.unsorted(m); back != nil && !b.Trust && (e == nil || e.Arg == "Targets" && (back.Row < e.Row || back.Row == e.Row && back.Index <= e.Index)) {
			e = back
		}
		if e == nil {
			continue
		}
		class := map[string]int{"SrcTimes": 1, "Targets": 2}[e.Arg]
		copied := *e
		copied.Op = "ResampleBackward"
		if !b.Alone {
			copied.Op = "FuseBackward"
			if copied.Arg[:3] != "Dst" {
				copied.Arg = fmt.Sprintf("Streams[%d].%s", m, copied.Arg)
			}
		}
		if least == nil || class < best {
			least, best = &copied, class
		}
	}
	return least
}

// unsorted returns the error for the first target that is before its predecessor, in rows that have samples of stream m. It is nil if
// there is none.
func (b *backward) unsorted(m int) *ops.ValueError {
	c := b.of(m)
	rows, s, t, d := c.dims()
	if b.Targets == nil || s*d == 0 {
		return nil
	}
	x := func(row, i, whole int) uint64 {
		if len(b.Targets.shape) == 2 {
			return b.Targets.raw[b.Targets.at(row, i)]
		}
		return b.Targets.raw[b.Targets.at(whole)]
	}
	for row := range rows {
		first, targets := span(row, t, c.DstLengths, c.DstOffsets)
		_, n := span(row, s, c.SrcLengths, c.SrcOffsets)
		if n <= 0 || first < 0 || first > t || targets > t-first { // offsets may be any numbers
			continue
		}
		for i := 1; i < targets; i++ {
			if b.Targets.before(x(row, i, first+i), x(row, i-1, first+i-1)) {
				return &ops.ValueError{Arg: "Targets", Row: row, Index: i, Kind: ops.ErrUnsorted}
			}
		}
	}
	return nil
}

// wanted returns the bits of stream m's gradient. The resampling is a matrix with a row of weights for each target; the oracle finds
// each target's samples by a search through all timestamps.
func (b *backward) wanted(m int) []uint64 {
	switch b.clock() {
	case tensor.I64:
		return wantedIn(b, m, func(x uint64) int64 { return int64(x) })
	case tensor.F64:
		return wantedIn(b, m, math.Float64frombits)
	}
	return wantedIn(b, m, func(x uint64) float32 { return math.Float32frombits(uint32(x)) })
}

// entry is one weight in the matrix, for a sample, a target and a feature.
type entry struct {
	target, grad int // the target's number in its row, and the index of its gradient's first element
	a            float64
	whole        bool // the target copies the sample, so the weight is 1
}

func wantedIn[C clockType](b *backward, m int, from func(uint64) C) []uint64 {
	c, p := b.of(m), b.Streams[m]
	rows, s, t, d := c.dims()
	column := 0
	for _, q := range b.Streams[:m] {
		column += q.width()
	}
	out, channels := make([]uint64, p.Src.len()), c.channels()
	for row := range rows {
		times := timesIn(c, row, from)
		first, targets := span(row, t, c.DstLengths, c.DstOffsets)
		start, _ := span(row, s, nil, c.SrcOffsets)
		if c.SrcOffsets == nil {
			start = row * s
		}
		matrix := make([][]entry, len(times)*d)
		for i := range targets {
			if len(times) == 0 {
				break
			}
			one := target[C]{c: c, of: channels, row: row, times: times, x: targetOf(c, row, i, first+i, from)}
			one.find()
			grad := b.Grad.offset
			if len(b.Grad.shape) == 3 {
				grad = b.Grad.at(row, i, column)
			} else {
				grad = b.Grad.at(first+i, column)
			}
			for f := range d {
				one.weights(f, func(k int, w entry) {
					w.target, w.grad = i, grad+f
					matrix[k*d+f] = append(matrix[k*d+f], w)
				})
			}
		}
		for k := range times {
			for f := range d {
				scale := func(x float64) float64 { return x }
				if p.Scale != nil {
					scale = func(x float64) float64 { return float64(float32(x) * p.Scale[f]) }
				}
				out[(start+k)*d+f] = b.sum(matrix[k*d+f], p.Src.dtype, scale)
			}
		}
	}
	return out
}

// sum returns the bits of the sum of a sample's weights times the gradients of their targets, in the order of the list.
func (b *backward) sum(list []entry, dtype tensor.DType, scale func(float64) float64) uint64 {
	var wide float64
	var narrow float32
	for _, w := range list {
		g := scale(b.Grad.float(w.grad))
		switch x := float32(g); {
		case dtype == tensor.F64 && w.whole:
			wide += g
		case dtype == tensor.F64:
			product := w.a * g
			wide += float64(product)
		case w.whole:
			narrow += x
		default:
			product := float32(w.a) * x
			narrow += float32(product)
		}
	}
	if dtype == tensor.F64 {
		return encode(dtype, wide)
	}
	return encode(dtype, float64(narrow))
}

// weights calls give for each sample k that target t uses for feature d.
func (t *target[C]) weights(d int, give func(k int, w entry)) {
	edge := t.c.Opts.Edge
	outside := t.below || t.above
	switch {
	case t.nan, outside && edge == ops.EdgeFill, t.below && edge == ops.EdgeHold, t.gap && t.c.Opts.FillGaps:
		return
	}
	whole := func(k int) { give(k, entry{whole: true}) }
	line := func(k int, a float64) {
		rest := 1 - a
		if t.c.Src.dtype != tensor.F64 {
			a = float64(float32(a))
			rest = float64(1 - float32(a))
		}
		give(k, entry{a: rest})
		give(k+1, entry{a: a})
	}
	kind, n := t.of[d].Interp, len(t.times)
	switch {
	case t.exact:
		whole(t.k)
	case outside && kind == ops.InterpLinear && edge == ops.EdgeExtrapolate && t.times[0] < t.times[n-1]:
		k := 0
		if t.above {
			k = n - 2
		}
		for t.times[k] == t.times[k+1] {
			if t.below {
				k++
			} else {
				k--
			}
		}
		a := gapOf(t.times[k], max(t.x, t.times[k])) / gapOf(t.times[k], t.times[k+1])
		if t.below {
			a = -gapOf(t.x, t.times[k]) / gapOf(t.times[k], t.times[k+1])
		}
		line(k, a)
	case outside, kind == ops.InterpPrevious, kind == ops.InterpNearest && !t.laterIsNearer:
		whole(t.k)
	case kind == ops.InterpNext, kind == ops.InterpNearest:
		whole(t.k + 1)
	default:
		line(t.k, gapOf(t.times[t.k], t.x)/gapOf(t.times[t.k], t.times[t.k+1]))
	}
}
