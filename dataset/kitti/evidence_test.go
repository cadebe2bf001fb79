package kitti

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// maker makes the columns of a point. It is given what is known of the point, and what it has so far.
type maker struct {
	r        *rand.Rand
	scan     []float64
	row      []float64
	i, n     int
	constant float64
}

func (m *maker) distance() float64 {
	return math.Hypot(math.Hypot(m.scan[0], m.scan[1]), m.scan[2]) + 1e-6
}

// each returns n numbers.
func each(n int, make func() float64) []float64 {
	var out []float64
	for range n {
		out = append(out, make())
	}
	return out
}

// makers are columns that points of other programs have.
var makers = map[string]func(m *maker) []float64{
	"2 of 0..1":       func(m *maker) []float64 { return each(2, m.r.Float64) },
	"rgb of 0..1":     func(m *maker) []float64 { return each(3, m.r.Float64) },
	"5 of 0..1":       func(m *maker) []float64 { return each(5, m.r.Float64) },
	"rgb of 0..255":   func(m *maker) []float64 { return each(3, func() float64 { return float64(m.r.IntN(256)) }) },
	"grey":            func(m *maker) []float64 { v := m.r.Float64(); return []float64{v, v, v} },
	"shades":          func(m *maker) []float64 { v := .5 + .5*math.Sin(float64(m.i)*.01); return []float64{v, .9 * v, .8 * v} },
	"normal":          func(m *maker) []float64 { return unit(each(3, m.r.NormFloat64)) },
	"normal to walls": func(m *maker) []float64 { v := make([]float64, 3); v[m.r.IntN(3)] = 1; return v },
	"normal to boxes": func(m *maker) []float64 {
		v := make([]float64, 3)
		v[m.r.IntN(3)] = float64(2*m.r.IntN(2) - 1)
		return v
	},
	"normal to earth": func(*maker) []float64 { return []float64{0, 0, 1} },
	"direction":       func(m *maker) []float64 { return unit(m.scan[:3]) },
	"scaled": func(m *maker) []float64 {
		return []float64{math.Abs(m.scan[0]) / 30, math.Abs(m.scan[1]) / 30, math.Abs(m.scan[2]) / 30}
	},
	"moved":        func(m *maker) []float64 { return []float64{m.scan[0] + 5, m.scan[1] - 3, m.scan[2] + 1} },
	"velocity":     func(m *maker) []float64 { return each(3, m.r.NormFloat64) },
	"label":        func(m *maker) []float64 { return []float64{float64(m.r.IntN(20))} },
	"segment":      func(m *maker) []float64 { return []float64{float64(20 * m.i / m.n)} },
	"time":         func(m *maker) []float64 { return []float64{m.scan[5]} },
	"microseconds": func(m *maker) []float64 { return []float64{1e6 * m.scan[5]} },
	"epoch":        func(m *maker) []float64 { return []float64{1.7e9 + float64(m.i)} },
	"index":        func(m *maker) []float64 { return []float64{float64(m.i)} },
	"ring":         func(m *maker) []float64 { return []float64{m.scan[4]} },
	"intensity":    func(m *maker) []float64 { return []float64{m.scan[3]} },
	"range":        func(m *maker) []float64 { return []float64{m.distance()} },
	"curvature":    func(m *maker) []float64 { return []float64{.01 * math.Abs(m.r.NormFloat64())} },
	"zero":         func(*maker) []float64 { return []float64{0} },
	"zeros":        func(*maker) []float64 { return []float64{0, 0, 0} },
	"one":          func(*maker) []float64 { return []float64{1} },
	"minus one":    func(*maker) []float64 { return []float64{-1} },
	"constant":     func(m *maker) []float64 { return []float64{m.constant} },
	"copy":         func(m *maker) []float64 { return []float64{m.row[int(m.constant)%len(m.row)]} },
	"copies":       func(m *maker) []float64 { return slices.Clone(m.row) },
}

func unit(v []float64) []float64 {
	d := math.Hypot(math.Hypot(v[0], v[1]), v[2]) + 1e-6
	return []float64{v[0] / d, v[1] / d, v[2] / d}
}

// made makes points of the first columns of a scan and others.
func made(r *rand.Rand, points [][]float64, first int, others ...string) [][]float64 {
	m := &maker{r: r, n: len(points)}
	constants := each(len(others), func() float64 { return math.Round(r.Float64()*100) / 10 })
	rows := make([][]float64, len(points))
	for i := range points {
		m.i, m.scan, m.row = i, points[i], slices.Clone(points[i][:first])
		for k, name := range others {
			m.constant = constants[k]
			m.row = append(m.row, makers[name](m)...)
		}
		rows[i] = m.row
	}
	return rows
}

// Points of other columns, of recorded scans and made ones, are not taken for points of another width.
func TestOtherColumnsAreNotTakenForThese(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 2))
	var recorded [][][]float64
	for _, path := range scans {
		recorded = append(recorded, scan(t, path))
	}
	names, kinds := slices.Sorted(maps.Keys(makers)), slices.Sorted(maps.Keys(shapes))
	for range thorough.Of(250, 1500) {
		n, from := 3+int(math.Exp(r.Float64()*8.5)), "a scan"
		var points [][]float64
		if r.IntN(4) > 0 {
			all := recorded[r.IntN(len(recorded))]
			n = min(n, len(all))
			at := r.IntN(len(all) - n + 1)
			points = slices.Clone(all[at : at+n])
		} else {
			from = kinds[r.IntN(len(kinds))]
			for i := range n {
				points = append(points, append(shapes[from](r, i, n), float64(r.IntN(256)), float64(i%32), .1*float64(i)/float64(n)))
			}
		}
		if r.IntN(3) == 0 {
			r.Shuffle(n, func(i, j int) { points[i], points[j] = points[j], points[i] })
		}
		var others []string
		for range 1 + r.IntN(4) {
			others = append(others, names[r.IntN(len(names))])
		}
		rows := made(r, points, 3, others...)
		if width := len(rows[0]); width <= maxWidth {
			got := found(t, rows)
			require.True(t, got == 0 || got == width, "%d points of %s, of %d columns, with %q, became %d columns", n, from, width, others, got)
		}
		require.Zero(t, found(t, cut(points, 2)), "%d points of %s, of x and y", n, from)
	}
}

// However many points there are, what may pass for one number or another of a point does not make columns.
func TestManyPointsOfOtherColumnsAreAskedFor(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	all := scan(t, scans[1])
	for i, n := range []int{1000, 2000, 5000, 10000, 20000} {
		if i%3 != 0 && !thorough.Long { // 1000 and 10000
			continue
		}
		points := all[:n]
		for _, others := range [][]string{{"rgb of 0..1"}, {"rgb of 0..255"}, {"5 of 0..1"}, {"grey", "ring", "time"}, {"normal to walls"}, {"normal"}, {"scaled"},
			{"direction"}, {"copies"}, {"zeros"}, {"intensity", "time"}, {"intensity", "copies"}, {"normal to boxes", "rgb of 0..255"}} {
			assert.Zero(t, found(t, made(r, points, 3, others...)), "%d points with %q", n, others)
		}
		whole := slices.Clone(points)
		for i, p := range whole {
			whole[i] = []float64{math.Round(p[0]), math.Round(p[1]), math.Round(p[2]), 0, 0, 0}
		}
		assert.Zero(t, found(t, made(r, whole, 4, "rgb of 0..255", "label")), "%d points of whole numbers", n)
		assert.Zero(t, found(t, cut(points, 2)), "%d points of x and y", n)
		assert.Zero(t, found(t, made(r, points, 4, "zero", "2 of 0..1", "time")), "%d points of eight columns", n)
		assert.Zero(t, found(t, made(r, points, 4, "label", "curvature")), "%d points whose last column is no time", n)
		assert.Zero(t, found(t, made(r, points, 4, "label", "constant")), "%d points whose last column does not change", n)
	}
}
