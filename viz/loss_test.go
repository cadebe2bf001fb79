package viz_test

import (
	"bytes"
	"image/color"
	"image/png"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/viz"
)

// A picture of losses shows those that are numbers, and needs one.
func TestLossesAreDrawnWhereTheyAreNumbers(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	drawn := func(losses ...float32) []byte {
		var b bytes.Buffer
		require.NoError(t, viz.WriteLossPNG(&b, 1, losses, viz.Options{Title: "loss"}))
		return b.Bytes()
	}
	a := drawn(3, 2, 1.5, 1.2)
	image, err := png.Decode(bytes.NewReader(a))
	require.NoError(t, err)
	assert.Equal(t, 840, image.Bounds().Dx())
	assert.Equal(t, a, drawn(3, 2, 1.5, 1.2))
	assert.NotEqual(t, a, drawn(3, 2, 1.5, 1.1))
	assert.NotEqual(t, a, drawn(3, nan, 1.5, inf))
	drawn(1)
	drawn(0, 0)
	for n, want := range map[int]bool{60: false, 100: true} {
		image, err = png.Decode(bytes.NewReader(drawn(make([]float32, n)...)))
		require.NoError(t, err)
		has := false
		for i := range 840 * 480 {
			c := color.NRGBAModel.Convert(image.At(i%840, i/840)).(color.NRGBA)
			has = has || int(c.R) > int(c.B)+100 // vermilion, its line's colour
		}
		assert.Equal(t, want, has, "the mean of one loss would hide %d of them", n)
	}
	var bad *viz.Error
	for _, none := range [][]float32{nil, {nan, inf}} {
		require.ErrorAs(t, viz.WriteLossPNG(&bytes.Buffer{}, 1, none, viz.Options{}), &bad)
		assert.Equal(t, "losses", bad.Arg)
	}
}

// All losses lie within the picture: of many the range of neighbours is drawn, and a mean that falls far has an axis of decades.
func TestAllLossesAreWithinThePicture(t *testing.T) {
	many := make([]float32, 128_000)
	for i := range many {
		many[i] = 0.02 + 5*float32(math.Exp(-float64(i)/2000)) + 0.01*float32(i%7)
	}
	drawn := func(unit string, losses []float32) []byte {
		var b bytes.Buffer
		require.NoError(t, viz.WriteLossPNG(&b, 1, losses, viz.Options{Title: "loss", Unit: unit}))
		return b.Bytes()
	}
	a := drawn("", many)
	assert.NotEqual(t, a, drawn("MSE", many), "the unit is beside the axis")
	for _, at := range []int{0, 70_001, len(many) - 1} {
		one := append([]float32{}, many...)
		one[at] *= 3
		assert.NotEqual(t, a, drawn("", one), "step %d alone is seen", at)
	}
}

func TestHeldOutLossesAreBesideThoseOfTraining(t *testing.T) {
	drawn := func(held map[int]float64) []byte {
		var b bytes.Buffer
		require.NoError(t, viz.WriteLossPNG(&b, 1, []float32{3, 2, 1.5, 1.2}, viz.Options{HeldOut: held}))
		return b.Bytes()
	}
	alone, beside := drawn(nil), drawn(map[int]float64{2: 2.5, 4: 1.9})
	assert.NotEqual(t, alone, beside)
	assert.NotEqual(t, beside, drawn(map[int]float64{2: 2.5, 4: 30}), "also above all others")
	assert.Equal(t, alone, drawn(map[int]float64{4: math.NaN()}))
}
