package viz

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"testing"
	"time"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/vg"
)

// wave is a recording of n samples at 100 Hz that misses the samples from lo to hi-1, and the same at 50 Hz without holes.
func wave(n, lo, hi int) Panel {
	var times, ticks []int64
	var values, made []float32
	for i := range n {
		v := []float32{float32(math.Sin(float64(i) / 20)), float32(math.Cos(float64(i) / 20))}
		if i < lo || i >= hi {
			times, values = append(times, int64(i)*1e7), append(values, v...)
		}
		if i%2 == 0 {
			ticks, made = append(ticks, int64(i)*1e7), append(made, v...)
		}
	}
	return Panel{
		Title:     "wave",
		Columns:   []string{"sin", "cos"},
		Recorded:  Series{tensor.Must(tensor.Of(times, len(times))), tensor.Must(tensor.Of(values, len(times), 2))},
		Resampled: Series{tensor.Must(tensor.Of(ticks, len(ticks))), tensor.Must(tensor.Of(made, len(ticks), 2))},
	}
}

func drawn(t *testing.T, panels ...Panel) image.Image {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, WritePNG(&b, panels, Options{Title: "test", DPI: 72}))
	img, err := png.Decode(&b)
	require.NoError(t, err)
	return img
}

func TestHeightGrowsWithPanels(t *testing.T) {
	one, three := drawn(t, wave(100, 0, 0)).Bounds(), drawn(t, wave(100, 0, 0), wave(33, 0, 0), wave(2, 0, 0)).Bounds()
	assert.Equal(t, 720, one.Dx())
	assert.InDelta(t, 2*panelHeight.Points(), three.Dy()-one.Dy(), 2)
}

// count returns how many pixels are close to a colour over white.
func count(img image.Image, c color.NRGBA) int {
	over := func(v uint8) int { return (int(v)*int(c.A) + 255*(255-int(c.A))) / 255 }
	n := 0
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y++ {
		for x := img.Bounds().Min.X; x < img.Bounds().Max.X; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			if near(int(r>>8), over(c.R)) && near(int(g>>8), over(c.G)) && near(int(b>>8), over(c.B)) {
				n++
			}
		}
	}
	return n
}

func near(a, b int) bool { return a-b <= 10 && b-a <= 10 }

func TestGapsAreShaded(t *testing.T) {
	whole, holed := drawn(t, wave(1000, 0, 0)), drawn(t, wave(1000, 400, 500))
	key := count(whole, gapColour) // what the legend shows
	// A tenth of the left panel, about 40 x 80 pixels, and all of the detail.
	assert.Greater(t, count(holed, gapColour), key+3000)
	long := wave(1000, 400, 500)
	long.Gap = 2 * time.Second
	assert.InDelta(t, key, count(drawn(t, long), gapColour), 50, "a gap that the caller allows is not shaded")
}

func TestEveryCurveHasItsColour(t *testing.T) {
	p := wave(200, 0, 0)
	both := drawn(t, p)
	p.Show = []int{1}
	one := drawn(t, p)
	for _, c := range colours[:2] {
		assert.Greater(t, count(both, c), 100, c)
	}
	assert.Less(t, count(one, colours[1]), 5)
}

func TestWhateverTheDataAnImageComesOut(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	series := func(x, y []float64) Series {
		return Series{tensor.Must(tensor.Of(x, len(x))), tensor.Must(tensor.Of(y, len(y), 1))}
	}
	for i, s := range []Series{
		series([]float64{0}, []float64{0}),
		series([]float64{0, 0, 0}, []float64{1, 2, 3}),
		series([]float64{0, 1}, []float64{nan, nan}),
		series([]float64{0, 1, 2}, []float64{inf, 1, -inf}),
		series([]float64{0, 1}, []float64{-math.MaxFloat64, math.MaxFloat64}),
		series([]float64{0, 1}, []float64{1e300, 1.0000001e300}),
		series([]float64{0, 1}, []float64{5e-324, 0}),
		series([]float64{1762550000, 1762550000.0000002}, []float64{0, 1}),
		series([]float64{nan, 3, 1, inf}, []float64{0, 1, 2, 3}),
		series([]float64{-4e9, 4e9}, []float64{0, 1}),
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) { drawn(t, Panel{Recorded: s, Resampled: s}) })
	}
}

func TestLongRecordingsAreThinnedWithoutLosingPeaks(t *testing.T) {
	x, y := make([]float64, 100_000), make([]float64, 100_000)
	for i := range x {
		x[i] = float64(i)
	}
	y[77_777] = 5
	keep := thin(x, y, 0, len(x), 300)
	assert.LessOrEqual(t, len(keep), 4*301)
	assert.Contains(t, keep, 77_777)
	assert.Contains(t, keep, 99_999)
	for i := 1; i < len(keep); i++ {
		assert.Greater(t, keep[i], keep[i-1])
	}
}

func TestPickTakesWhatOneAxisShows(t *testing.T) {
	cols := [][]float64{{1, 1, 1}, {0, 1, 2}, {0, 900, 1000}, {2, 0, 1}, {3, 3, 3}, {-1, 0, 1}, {0, .5, 3}, {1, 2, 0}}
	assert.Equal(t, []int{1, 3, 5, 6}, pick(cols, nil))
	assert.Equal(t, []int{2}, pick(cols, []bool{false, true, false, true, true, true, true, true}))
	assert.Equal(t, []int{0}, pick(cols[:1], nil))
	assert.Empty(t, pick(nil, nil))
	assert.Equal(t, []int{1, 2}, pick([][]float64{{0, 0.01}, {0, 1}, {0, 2}, {0, 900}}, nil), "a larger group than the first one's")
}

func TestTickLabelsTellTicksApart(t *testing.T) {
	for _, r := range [][2]float64{{0, 1}, {-.1, .1}, {20.3, 20.8}, {1.53e8, 1.545e8}, {1e-7, 3e-7}, {-5, 1e6}, {0, 6.5}, {.99, 1}} {
		got := ticks{5}.Ticks(r[0], r[1])
		assert.GreaterOrEqual(t, len(got), 2, r)
		seen := map[string]bool{}
		for _, k := range got {
			assert.False(t, seen[k.Label], "%v: %q twice", r, k.Label)
			seen[k.Label] = true
		}
	}
}

func TestBadPanelsAreErrors(t *testing.T) {
	good := wave(10, 0, 0)
	for want, change := range map[string]func(p *Panel){
		"Recorded":  func(p *Panel) { p.Recorded.Times = nil },
		"Resampled": func(p *Panel) { p.Resampled.Values = p.Resampled.Times },
		"Columns":   func(p *Panel) { p.Columns = p.Columns[:1] },
		"Held":      func(p *Panel) { p.Held = []bool{true} },
		"Show":      func(p *Panel) { p.Show = []int{2} },
	} {
		p := good
		change(&p)
		var e *Error
		var b bytes.Buffer
		err := WritePNG(&b, []Panel{good, p}, Options{})
		require.ErrorAs(t, err, &e, want)
		assert.ErrorIs(t, err, ErrInput)
		assert.Equal(t, want, e.Arg)
		assert.Equal(t, 1, e.Panel)
		assert.Zero(t, b.Len())
	}
	assert.ErrorIs(t, WritePNG(&bytes.Buffer{}, nil, Options{}), ErrInput)
}

// The least and the greatest value stand at the ends of the line, also if the deviation reaches further.
func TestEndsOfADistributionStandAtItsValues(t *testing.T) {
	var b bytes.Buffer
	row := Distribution{Name: "x", Max: 1, Mean: 0.5, Std: 1}
	require.NoError(t, WriteDistributionsPNG(&b, []Distributions{{Stream: "s", Rows: []Distribution{row}}}, nil, Options{DPI: 72}))
	img, err := png.Decode(&b)
	require.NoError(t, err)
	px := func(l vg.Length) int { return int(l) }
	left, right := px(timelineName)+distributionEnds, px(width-timelineNote)-distributionEnds
	top, bottom := px(headHeight)+distributionRow, px(headHeight)+2*distributionRow
	for _, margin := range [][2]int{{left - distributionEnds, left - 2}, {right + 2, right + distributionEnds - 2}} {
		for x := margin[0]; x < margin[1]; x++ {
			for y := top; y < bottom; y++ {
				assert.Greater(t, color.GrayModel.Convert(img.At(x, y)).(color.Gray).Y, uint8(200), "%d, %d", x, y)
			}
		}
	}
}

// A timestamp among the columns would flatten the others.
func TestWholeNumbersAreNotDrawnBesideOthers(t *testing.T) {
	s := dataset.Stream{Name: "s", Columns: []dataset.Column{{Name: "t", Integer: true}, {Name: "x"}}}
	assert.Nil(t, Compare(&s, &s).Show)
	s.Columns[0].Integer = false
	assert.Equal(t, []int{0, 1}, Compare(&s, &s).Show)
}
