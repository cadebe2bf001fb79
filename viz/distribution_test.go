package viz_test

import (
	"bytes"
	"image/png"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/viz"
)

func TestStatisticsHaveARowForEachColumn(t *testing.T) {
	names := []string{"q01", "q10", "q50", "q90", "q99"}
	row := viz.Distribution{Name: "x", Min: -1, Max: 3, Mean: 0.5, Std: 2, Quantiles: []float64{-0.9, -0.5, 0.4, 2, 2.9}}
	drawn := func(rows ...viz.Distribution) (pixels []byte, height int) {
		var b bytes.Buffer
		require.NoError(t, viz.WriteDistributionsPNG(&b, []viz.Distributions{{Stream: "state", Rows: rows}}, names, viz.Options{Title: "t", DPI: 30}))
		pixels = b.Bytes()
		image, err := png.Decode(&b)
		require.NoError(t, err)
		return pixels, image.Bounds().Dy()
	}
	one, height := drawn(row)
	same, _ := drawn(row)
	assert.Equal(t, one, same)
	_, taller := drawn(row, row)
	assert.Greater(t, taller, height)
	for name, change := range map[string]func(*viz.Distribution){
		"least": func(r *viz.Distribution) { r.Min = -2.5 }, "greatest": func(r *viz.Distribution) { r.Max = 4 }, "mean": func(r *viz.Distribution) { r.Mean = 1 },
		"deviation": func(r *viz.Distribution) { r.Std = 1 }, "quantile": func(r *viz.Distribution) { r.Quantiles = []float64{-0.9, -0.5, 1.4, 2, 2.9} },
		"no quantiles": func(r *viz.Distribution) { r.Quantiles = nil }, "name": func(r *viz.Distribution) { r.Name = "y" },
		"constant":  func(r *viz.Distribution) { *r = viz.Distribution{Name: "x", Min: 1, Max: 1, Mean: 1} },
		"no values": func(r *viz.Distribution) { r.Min, r.Max, r.Mean = math.NaN(), math.NaN(), math.NaN() },
	} {
		other := row
		change(&other)
		pixels, _ := drawn(other)
		assert.NotEqual(t, one, pixels, name)
	}
	assert.ErrorIs(t, viz.WriteDistributionsPNG(&bytes.Buffer{}, nil, names, viz.Options{}), viz.ErrMissing)
}

func TestAPictureOfManyColumnsIsReadable(t *testing.T) {
	height := func(columns ...int) int {
		var list []viz.Distributions
		for _, n := range columns {
			list = append(list, viz.Distributions{Stream: "s", Samples: 1, Rows: make([]viz.Distribution, n)})
		}
		var b bytes.Buffer
		require.NoError(t, viz.WriteDistributionsPNG(&b, list, nil, viz.Options{Title: "t", DPI: 72}))
		image, err := png.Decode(&b)
		require.NoError(t, err)
		return image.Bounds().Dy()
	}
	const row = 19
	all := height(48)
	assert.Equal(t, all+row, height(49), "a line names the column that is not drawn")
	assert.Equal(t, all+row, height(512))
	assert.Equal(t, all+row+8*row, height(512, 7), "a later stream has its rows and its title")
	assert.Equal(t, all+row+54*row, height(512, 48, 512), "100 rows, 3 titles, a line")
	assert.Equal(t, height(512, 48, 512), height(512, 48, 4, 9), "a stream without a row has no title")
}
