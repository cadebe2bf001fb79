package kitti

import (
	"encoding/binary"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/dataset/pcd"
	"github.com/robocache/robocache/dataset/ply"
	"github.com/robocache/robocache/internal/test/cloudtest"
	"github.com/robocache/robocache/internal/test/thorough"
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

// scan reads a recorded cloud, with an intensity, and a ring and a time that go with the points' order.
func scan(t *testing.T, path string) [][]float64 {
	t.Helper()
	read := pcd.ReadFile
	if strings.HasSuffix(path, ".ply") {
		read = ply.ReadFile
	}
	c, err := read(path, dataset.Options{})
	require.NoError(t, err)
	points, features, at := cloudtest.Data(t, c.Points), cloudtest.Data(t, c.Features), c.Column("intensity")
	rows := make([][]float64, c.Len())
	for i := range rows {
		intensity := float64(7 * i % 256)
		if at >= 0 {
			intensity = float64(features[i*len(c.Columns)+at])
		}
		p := points[3*i:]
		rows[i] = []float64{float64(p[0]), float64(p[1]), float64(p[2]), intensity, float64(i % 32), .1 * float64(i) / float64(len(rows))}
	}
	return rows
}

func realScan(t *testing.T) [][]float64 { return scan(t, scans[0]) }

// scans are of lidars whose lasers look up and down in turn, and of cameras.
var scans = []string{"../ply/testdata/lidar.ply", "../../examples/voxelize/testdata/scan.pcd", "../pcd/testdata/milk.pcd", "../pcd/testdata/office.pcd",
	"../pcd/testdata/people.pcd", "../pcd/testdata/plane.pcd"}

func TestTheColumnsOfAScanAreFound(t *testing.T) {
	for _, path := range scans {
		for width := 3; width <= 6; width++ {
			assert.Equal(t, width, found(t, cut(scan(t, path), width)), path)
		}
	}
	rows := realScan(t)
	r := rand.New(rand.NewPCG(3, 1))
	for width := 3; width <= 6; width++ {
		right, parts := 0, thorough.Of(15, 100)
		for range parts {
			part := slices.Clone(rows)
			r.Shuffle(len(part), func(i, j int) { part[i], part[j] = part[j], part[i] })
			if got := found(t, cut(part[:300+r.IntN(1000)], width)); got == width {
				right++
			} else {
				require.Zero(t, got, "never wrong: %d columns", width)
			}
		}
		if width == 6 {
			assert.Zero(t, right, "without their order times are none")
			continue
		}
		assert.Greater(t, right, parts*9/10, "parts of the scan, of %d columns", width)
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
		for range thorough.Of(80, 400) {
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
	assert.Greater(t, right, files/6, "many are of few points, alike along all axes, or out of order")
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
	assert.ErrorContains(t, err, "got 48 bytes that may be 4 points of x,y,z or 3 points of x,y,z,intensity or of columns")
	empty, err := Parse(nil, Options{})
	require.NoError(t, err, "no points are none of any columns")
	assert.Zero(t, empty.Len())
	_, err = Parse(raw(1, 2, 3, 4, 5, 6, 7), Options{})
	assert.ErrorContains(t, err, "do not look like whole points", "7 numbers")

	_, err = Parse(raw(1, 2, 3, .5, -4, 5, 6, .25), Options{})
	assert.ErrorContains(t, err, "got 32 bytes that may be 2 points of x,y,z,intensity or of columns that are not known here, want", "or one of eight numbers")
	_, err = Parse(raw(1, 2, 3, .5), Options{})
	assert.ErrorContains(t, err, "got 16 bytes that may be 1 points of x,y,z,intensity or of columns that are not known here, want", "one point proves nothing")
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
