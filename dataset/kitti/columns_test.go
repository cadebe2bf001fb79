package kitti

import (
	"encoding/binary"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/ply"
	"github.com/robocache/robocache/internal/cloudtest"
)

// found returns how many columns are found in rows, 0 for an error.
func found(t *testing.T, rows [][]float64) int {
	t.Helper()
	var data []byte
	for _, row := range rows {
		for _, v := range row {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
		}
	}
	c, err := Parse(data, Options{})
	if err != nil {
		require.ErrorIs(t, err, dataset.ErrUnsupported)
		return 0
	}
	return 3 + len(c.Columns)
}

// cut takes the first columns of rows.
func cut(rows [][]float64, width int) [][]float64 {
	var out [][]float64
	for _, row := range rows {
		out = append(out, row[:width])
	}
	return out
}

// realScan is a recorded scan of 4 thousand points with intensity, and a ring and a time that go with their order.
func realScan(t *testing.T) [][]float64 {
	c, err := ply.ReadFile("../ply/testdata/lidar.ply", dataset.Options{})
	require.NoError(t, err)
	points, intensity := cloudtest.Data(t, c.Points), cloudtest.Data(t, c.Features)
	rows := make([][]float64, c.Len())
	for i := range rows {
		p := points[3*i:]
		rows[i] = []float64{float64(p[0]), float64(p[1]), float64(p[2]), float64(intensity[i]), float64(i % 32), .1 * float64(i) / float64(len(rows))}
	}
	return rows
}

func TestTheColumnsOfAScanAreFound(t *testing.T) {
	rows := realScan(t)
	r := rand.New(rand.NewPCG(3, 1))
	for width := 3; width <= 6; width++ {
		assert.Equal(t, width, found(t, cut(rows, width)), "the scan")
		right := 0
		for range 100 {
			part := slices.Clone(rows)
			r.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
			if got := found(t, cut(part[:300+r.IntN(1000)], width)); got == width {
				right++
			} else {
				require.Zero(t, got, "never wrong: %d columns", width)
			}
		}
		assert.Greater(t, right, 90, "parts of the scan, of %d columns", width)
	}
}

// shapes are clouds by the number of a point, of n.
var shapes = map[string]func(r *rand.Rand, i, n int) []float64{
	"sweep in the order of firing": func(r *rand.Rand, i, n int) []float64 { return echo(r, i%32, 2*math.Pi*float64(i/32*32)/float64(n)) },
	"sweep in the order of rings":  func(r *rand.Rand, i, n int) []float64 { return echo(r, 32*i/n, 64*math.Pi*float64(i)/float64(n)) },
	"ahead, up and down in turn":   func(r *rand.Rand, i, n int) []float64 { return echo(r, i%32/2+i%2*16, float64(i)/float64(n)) },
	"cube": func(r *rand.Rand, _, _ int) []float64 {
		return []float64{r.Float64() - .5, r.Float64() - .5, r.Float64() - .5}
	},
	"cube of positive numbers": func(r *rand.Rand, _, _ int) []float64 { return []float64{r.Float64(), r.Float64(), r.Float64()} },
	"whole numbers": func(r *rand.Rand, _, _ int) []float64 {
		return []float64{float64(r.IntN(100) - 50), float64(r.IntN(100) - 50), float64(r.IntN(9) - 2)}
	},
	"cells of a grid": func(_ *rand.Rand, i, _ int) []float64 {
		return []float64{float64(i / 4), float64(i / 2 % 2), float64(i % 2)}
	},
}

// echo is what a laser, one of 32 from 25 degrees down to 15 up, meets in a hall.
func echo(r *rand.Rand, ring int, azimuth float64) []float64 {
	elevation := (float64(ring)*1.25 - 25) * math.Pi / 180
	d := 5 + 20*math.Abs(math.Sin(3*azimuth)) + .1*r.Float64()
	if elevation < 0 {
		d = min(d, -1.7/math.Sin(elevation))
	}
	return []float64{d * math.Cos(elevation) * math.Cos(azimuth), d * math.Cos(elevation) * math.Sin(azimuth), d * math.Sin(elevation)}
}

// A cloud of any size, shape and features is found to have the columns that it has, or there is an error.
func TestTheColumnsFoundAreNeverWrong(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	intensities := []func() float64{
		func() float64 { return r.Float64() }, func() float64 { return float64(r.IntN(256)) }, func() float64 { return r.Float64() * 255 },
		func() float64 { return 0 }, func() float64 { return 100 },
	}
	rings := []func(i, n int) int{func(i, _ int) int { return i % 32 }, func(i, n int) int { return i * 64 / n }, func(_, _ int) int { return 0 }}
	right, files := 0, 0
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		shape := shapes[name]
		for range 400 {
			width, n := 3+r.IntN(4), 1+r.IntN(4)
			if r.IntN(4) > 0 {
				n = int(math.Exp(r.Float64() * 7.5))
			}
			intensity, ring := r.IntN(len(intensities)), r.IntN(len(rings))
			zeros, shuffled := r.IntN(3) == 0, r.IntN(3) == 0
			rows := make([][]float64, n)
			for i := range rows {
				rows[i] = append(shape(r, i, n), intensities[intensity](), float64(rings[ring](i, n)), .1*float64(i)/float64(n))
				if zeros && r.IntN(3) == 0 {
					copy(rows[i], make([]float64, 4))
				}
			}
			if shuffled {
				r.Shuffle(n, func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
			}
			got := found(t, cut(rows, width))
			if files++; got == width {
				right++
			}
			require.True(t, got == 0 || got == width, "%s: %d points of %d columns became %d columns; intensity %d, ring %d, zeros %t, shuffled %t",
				name, n, width, got, intensity, ring, zeros, shuffled)
		}
	}
	assert.Greater(t, right, files/3, "many are of few points, or alike along all axes")
}

// Points of columns that are not known are none of fewer.
func TestOtherColumnsAreNotTakenForThese(t *testing.T) {
	rows := realScan(t)
	r := rand.New(rand.NewPCG(5, 2))
	normal := func() []float64 {
		v := []float64{r.NormFloat64(), r.NormFloat64(), math.Abs(r.NormFloat64())}
		d := math.Sqrt(v[0]*v[0] + v[1]*v[1] + v[2]*v[2])
		return []float64{v[0] / d, v[1] / d, v[2] / d}
	}
	colour := func() []float64 { return []float64{float64(r.IntN(256)), float64(r.IntN(256)), float64(r.IntN(256))} }
	kinds := map[string]func(row []float64) []float64{
		"velocity":              func([]float64) []float64 { return []float64{r.NormFloat64()} },
		"intensity and time":    func(row []float64) []float64 { return []float64{row[3], row[5]} },
		"intensity and -1":      func(row []float64) []float64 { return []float64{row[3], -1} },
		"normals":               func([]float64) []float64 { return normal() },
		"colours":               func([]float64) []float64 { return colour() },
		"intensity and colours": func(row []float64) []float64 { return append([]float64{row[3]}, colour()...) },
		"radar":                 func([]float64) []float64 { return []float64{-10 * r.Float64(), r.NormFloat64(), r.NormFloat64(), 0} },
		"colours and normals":   func([]float64) []float64 { return append(colour(), normal()...) },
		"eight":                 func(row []float64) []float64 { return append([]float64{row[3], row[5]}, colour()...) },
		"microseconds":          func(row []float64) []float64 { return []float64{row[3], row[4], 1e6 * row[5]} },
	}
	for _, name := range slices.Sorted(maps.Keys(kinds)) {
		more := kinds[name]
		for range 100 {
			part := make([][]float64, 6+int(math.Exp(r.Float64()*7.5)))
			at := r.IntN(len(rows) - len(part))
			for i := range part {
				row := rows[at+i]
				part[i] = append(slices.Clone(row[:3]), more(row)...)
			}
			require.Zero(t, found(t, part), name)
		}
	}
}

func TestNumbersOfOtherTypesAreNone(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 3))
	var doubles, whole, short []byte
	for range 4 * 300 {
		doubles = binary.LittleEndian.AppendUint64(doubles, math.Float64bits(20*r.NormFloat64()))
		whole = binary.LittleEndian.AppendUint32(whole, uint32(r.IntN(1000)))
		short = binary.LittleEndian.AppendUint16(short, uint16(r.IntN(1<<16)))
	}
	for _, data := range [][]byte{doubles, whole, short} {
		_, err := Parse(data, Options{})
		require.ErrorIs(t, err, dataset.ErrUnsupported)
		assert.ErrorContains(t, err, "do not look like whole points of x,y,z or x,y,z,intensity or x,y,z,intensity,ring or x,y,z,intensity,ring,time")
	}
}

func TestWhatMayBeTwoIsAskedFor(t *testing.T) {
	_, err := Parse(raw(make([]float32, 60)...), Options{})
	assert.ErrorIs(t, err, dataset.ErrUnsupported)
	assert.ErrorContains(t, err, "got 240 bytes that may be 20 points of x,y,z or 15 points of x,y,z,intensity or 12 points of x,y,z,intensity,ring or 10 points of")
	_, err = Parse(raw(1, 2, 3, .5, -4, 5, 6, .25, 1, 2, 3, 1), Options{})
	assert.ErrorContains(t, err, "got 48 bytes that may be 4 points of x,y,z or 3 points of x,y,z,intensity, want")
	empty, err := Parse(nil, Options{})
	require.NoError(t, err, "no points are none of any columns")
	assert.Zero(t, empty.Len())
	_, err = Parse(raw(1, 2, 3, 4, 5, 6, 7), Options{})
	assert.ErrorContains(t, err, "do not look like whole points", "7 numbers")

	_, err = Parse(raw(1, 2, 3, .5, -4, 5, 6, .25), Options{})
	assert.ErrorContains(t, err, "got 32 bytes that may be 2 points of x,y,z,intensity or of columns that are not known here, want", "or one of eight numbers")
	c, err := Parse(raw(1, 2, 3, .5), Options{})
	require.NoError(t, err)
	assert.Equal(t, []string{"intensity"}, c.Names(), "four numbers are nothing else")
}

// A point without an echo has no coordinates, and says nothing of the columns.
func TestPointsWithoutAnEchoDoNotHideTheColumns(t *testing.T) {
	nan, r := math.NaN(), rand.New(rand.NewPCG(5, 4))
	for width := 3; width <= 6; width++ {
		rows := cut(realScan(t), width)
		for i := range rows {
			if i > 1 && r.IntN(3) == 0 {
				rows[i] = []float64{nan, nan, nan, nan, -1, nan}[:width]
			}
		}
		assert.Equal(t, width, found(t, rows))
		rows[1] = append([]float64{nan, 1, 1}, rows[1][3:]...)
		assert.Zero(t, found(t, rows), "half a point is none")
	}
}
