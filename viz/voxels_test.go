package viz

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"testing"

	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// cells makes voxels of half a metre from coordinates z, y, x.
func cells(zyx ...int32) Voxels {
	return Voxels{Coords: tensor.Must(tensor.Of(zyx, len(zyx)/3, 3)), Min: [3]float64{-1, -2, 0}, Size: [3]float64{.5, .5, .5}}
}

func drawVoxels(t *testing.T, v Voxels) image.Image {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, WriteVoxelsPNG(&b, v, Options{Title: "test", DPI: 72}))
	img, err := png.Decode(&b)
	require.NoError(t, err)
	assert.Equal(t, 720, img.Bounds().Dx())
	return img
}

func TestTheOrderOfVoxelsDoesNotShow(t *testing.T) {
	var first, second bytes.Buffer
	require.NoError(t, WriteVoxelsPNG(&first, cells(0, 0, 0, 1, 2, 3, 4, 0, 1), Options{}))
	require.NoError(t, WriteVoxelsPNG(&second, cells(4, 0, 1, 0, 0, 0, 1, 2, 3), Options{}))
	assert.True(t, bytes.Equal(first.Bytes(), second.Bytes()))
}

// Of a cube, the camera sees the top, the side of greater x and that of smaller y, each darker than the one before.
func TestACubeShowsThreeSides(t *testing.T) {
	v := newView()
	v.scale, v.ox, v.oy = 20*oversample, 20*oversample, 40*oversample
	s := &voxelSheet{Voxels: &Voxels{}, b: &blocks{join: 1, n: [3]int{1, 1, 1}, at: [][3]int32{{}}, value: []float64{0}, filled: []uint64{1}, size: [3]float64{1, 1, 1}}}
	s.scale = scale{lo: -1, hi: 1}
	dots := newCanvas(64, 96)
	s.cubes(dots, &v)
	img := dots.image()
	at := func(x, y, z float64) color.NRGBA {
		px, py, _ := v.at([3]float64{x, y, z})
		return img.NRGBAAt(int(px/oversample), 95-int(py/oversample))
	}
	middle := mapped(0.5)
	for _, side := range []struct {
		x, y, z, full float64
	}{{.5, .5, 1, 1}, {1, .5, .5, .84}, {.5, 0, .5, .66}} {
		want := middle.times(side.full).rgba()
		assert.Equal(t, color.NRGBA{want.R, want.G, want.B, 255}, at(side.x, side.y, side.z))
	}
	assert.Zero(t, img.NRGBAAt(1, 1).A, "nothing is drawn beside it")
}

func TestNearerVoxelsHideFartherOnes(t *testing.T) {
	values := func(order ...float32) (Voxels, color.RGBA) {
		// Two cubes on the line to the camera: the near one is up, at greater x, at smaller y. So is the order of drawing.
		v := cells(0, 3, 0, 2, 0, 2)
		v.Values = tensor.Must(tensor.Of(order, 2))
		return v, mapped(1).rgba()
	}
	v, bright := values(0, 1)
	near := count(drawVoxels(t, v), color.NRGBA(bright))
	v, bright = values(1, 0)
	far := count(drawVoxels(t, v), color.NRGBA(bright))
	assert.Greater(t, near, far)
}

func TestColoursFollowTheValues(t *testing.T) {
	assert.Equal(t, color.RGBA{68, 1, 84, 255}, mapped(-1).rgba())
	assert.Equal(t, color.RGBA{33, 145, 140, 255}, mapped(.5).rgba())
	assert.Equal(t, color.RGBA{253, 231, 37, 255}, mapped(2).rgba())
	assert.Equal(t, color.RGBA{253, 231, 37, 255}, mapped(math.Inf(1)).rgba())
	last := -1.0
	for i := range 101 {
		c := mapped(float64(i) / 100)
		luma := .2126*c[0] + .7152*c[1] + .0722*c[2]
		assert.Greater(t, luma, last, "lighter at every step")
		last = luma
	}
}

func TestOutliersDoNotUseUpTheColours(t *testing.T) {
	sorted := make([]float64, 1000)
	for i := range sorted {
		sorted[i] = float64(i)
	}
	s := scaleOf(sorted, false)
	assert.Equal(t, scale{lo: 0, hi: 999}, s)
	sorted[999] = 1e6
	s = scaleOf(sorted, false)
	assert.Equal(t, scale{lo: 10, hi: 989, below: true, over: true}, s)
	s = scaleOf([]float64{1, 1, 2, 900}, true)
	assert.True(t, s.log)
	assert.InDelta(t, .5, s.at(30), 1e-12)
	var labels []string
	for _, k := range s.ticks(7) {
		labels = append(labels, k.label)
	}
	assert.Equal(t, []string{"1", "2", "5", "10", "20", "50", "100", "200", "500"}, labels)
	assert.False(t, scaleOf([]float64{0, 900}, true).log, "zero has no logarithm")
	one := scaleOf([]float64{7}, false)
	assert.InDelta(t, .5, one.at(7), 1e-12)
}

func TestManyCellsAreJoinedIntoBlocks(t *testing.T) {
	v := cells(0, 0, 0, 0, 0, 1, 0, 0, 511)
	b, err := newBlocks(&v)
	require.NoError(t, err)
	assert.Equal(t, 1, b.join)
	assert.Equal(t, [3]int{512, 1, 1}, b.n)

	v = cells(7, 0, -5, 7, 0, -4, 7, 0, 507)
	v.Values = tensor.Must(tensor.Of([]float32{1, 2, 9}, 3))
	b, err = newBlocks(&v)
	require.NoError(t, err)
	assert.Equal(t, 2, b.join)
	assert.Equal(t, [3]int{257, 1, 1}, b.n)
	assert.Equal(t, [][3]int32{{0, 0, 0}, {256, 0, 0}}, b.at)
	assert.Equal(t, []float64{1.5, 9}, b.value)
	assert.Equal(t, [3]float64{-3.5, -2, 3.5}, b.corner(0, 0, 0))
	assert.True(t, b.has(256, 0, 0) && !b.has(1, 0, 0) && !b.has(257, 0, 0) && !b.has(-1, 0, 0))

	v = cells(math.MinInt32, math.MinInt32, math.MinInt32, math.MaxInt32, math.MaxInt32, math.MaxInt32)
	b, err = newBlocks(&v)
	require.NoError(t, err)
	assert.Len(t, b.at, 2)
	assert.LessOrEqual(t, max(b.n[0], b.n[1], b.n[2]), maxCells)
}

func TestHeightIsTheMiddleOfACell(t *testing.T) {
	v := cells(0, 0, 0, 3, 0, 0)
	b, err := newBlocks(&v)
	require.NoError(t, err)
	assert.Equal(t, []float64{.25, 1.75}, b.value)
}

func TestWhateverTheVoxelsAnImageComesOut(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	flat, tall := cells(0, 0, 0, 0, 400, 400), cells(0, 0, 0, 400, 0, 0)
	odd := cells(0, 0, 0, 1, 1, 1, 2, 2, 2)
	odd.Values = tensor.Must(tensor.Of([]float32{nan, inf, 3}, 3))
	none := cells(0, 0, 0)
	none.Values = tensor.Must(tensor.Of([]float32{nan}, 1))
	counts := cells(0, 0, 0, 1, 1, 1)
	counts.Values, counts.Counts = tensor.Must(tensor.Of([]int32{1, 1 << 30}, 2)), true
	thin := cells(0, 0, 0, 0, 0, 1)
	thin.Size = [3]float64{1e-6, 10, 1e3}
	huge := cells(0, 0, 0, 0, 0, 1)
	huge.Size, huge.Min = [3]float64{1e30, 1e30, 1e30}, [3]float64{-1e31, 0, 0}
	for i, v := range []Voxels{cells(0, 0, 0), flat, tall, odd, none, counts, thin, huge, cells(math.MinInt32, 0, 0, math.MaxInt32, 0, 0)} {
		t.Run(fmt.Sprint(i), func(t *testing.T) { drawVoxels(t, v) })
	}
}

func TestBadVoxelsAreErrors(t *testing.T) {
	for want, change := range map[string]func(v *Voxels){
		"Coords":    func(v *Voxels) { v.Coords = nil },
		"Values":    func(v *Voxels) { v.Values = tensor.Must(tensor.New(tensor.F32, 2)) },
		"Min, Size": func(v *Voxels) { v.Size[1] = 0 },
	} {
		v := cells(0, 0, 0)
		change(&v)
		var b bytes.Buffer
		var e *Error
		require.ErrorAs(t, WriteVoxelsPNG(&b, v, Options{}), &e, want)
		assert.Equal(t, want, e.Arg)
		assert.NotContains(t, e.Error(), "panel")
		assert.Zero(t, b.Len())
	}
	for _, far := range []float64{1e20, 1e308, math.Inf(1), math.NaN()} {
		v := cells(0, 0, 0)
		v.Min[2], v.Size[2] = far, 1e308
		if far < 1e300 {
			v.Size[2] = .5
		}
		assert.ErrorIs(t, WriteVoxelsPNG(&bytes.Buffer{}, v, Options{}), ErrInput, far)
	}
	for _, c := range []*tensor.Tensor{tensor.Must(tensor.New(tensor.I32, 0, 3)), tensor.Must(tensor.New(tensor.I32, 1, 4)), tensor.Must(tensor.New(tensor.I64, 1, 3))} {
		v := cells(0, 0, 0)
		v.Coords = c
		assert.ErrorIs(t, WriteVoxelsPNG(&bytes.Buffer{}, v, Options{}), ErrInput)
	}
}
