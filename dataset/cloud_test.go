package dataset_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

func TestCloudCountsWhatIsNotFinite(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	c, err := dataset.NewCloud([]float32{1, 2, 3, nan, 0, 0, 0, -inf, 0, -4, 9, 1}, []float32{nan, 1, 2, 3}, []dataset.Column{{Name: "i"}})
	require.NoError(t, err)
	require.NoError(t, c.Check())
	assert.Equal(t, 4, c.Len())
	assert.Equal(t, 2, c.NotFinite, "a feature may be NaN")
	lo, hi, ok := c.Bounds()
	assert.True(t, ok)
	assert.Equal(t, [3]float64{-4, 2, 1}, lo)
	assert.Equal(t, [3]float64{1, 9, 3}, hi)
	assert.Equal(t, 0, c.Column("i"))
	assert.Equal(t, -1, c.Column("x"))
	assert.Equal(t, dataset.Identity, c.Viewpoint)

	none, err := dataset.NewCloud(nil, nil, nil)
	require.NoError(t, err)
	require.NoError(t, none.Check())
	_, _, ok = none.Bounds()
	assert.False(t, ok)
}

func TestCloudsThatAreNone(t *testing.T) {
	var bad *dataset.CloudError
	_, err := dataset.NewCloud(make([]float32, 4), nil, nil)
	assert.ErrorAs(t, err, &bad)
	_, err = dataset.NewCloud(make([]float32, 6), make([]float32, 3), make([]dataset.Column, 2))
	assert.ErrorAs(t, err, &bad)

	for want, change := range map[string]func(c *dataset.Cloud){
		"Points":        func(c *dataset.Cloud) { c.Points = nil },
		"Features":      func(c *dataset.Cloud) { c.Features = c.Points },
		"Width, Height": func(c *dataset.Cloud) { c.Width = 3 },
		"Columns":       func(c *dataset.Cloud) { c.Columns[1].Name = "a" },
	} {
		c, err := dataset.NewCloud(make([]float32, 6), make([]float32, 4), []dataset.Column{{Name: "a"}, {Name: "b"}})
		require.NoError(t, err)
		change(c)
		require.ErrorAs(t, c.Check(), &bad, want)
		assert.Equal(t, want, bad.Arg)
	}
	c, err := dataset.NewCloud(make([]float32, 6), nil, nil)
	require.NoError(t, err)
	for _, size := range [][2]int{{-1, -2}, {0, 0}, {2, 2}, {2, 0}, {1, 1}, {math.MaxInt, 2}} {
		c.Width, c.Height = size[0], size[1]
		assert.ErrorAs(t, c.Check(), &bad, size)
	}
	c.Width, c.Height = 1, 2
	assert.NoError(t, c.Check())
	c.Points = tensor.Must(tensor.New(tensor.F64, 2, 3))
	assert.NoError(t, c.Check())
	c.Points = tensor.Must(tensor.New(tensor.F16, 2, 3))
	assert.ErrorAs(t, c.Check(), &bad)
	assert.Equal(t, "Points", bad.Arg)
}

// Points and features of doubles are kept, each by themselves.
func TestCloudsOfDoubles(t *testing.T) {
	points := tensor.Must(tensor.Of([]float64{5648321.001, 2, 3, 1, 2, math.NaN(), 1e300, 0, 0}, 3, 3))
	c, err := dataset.CloudOf(points, tensor.Must(tensor.Of([]float32{1, 2, 3}, 3, 1)), []dataset.Column{{Name: "i"}})
	require.NoError(t, err)
	require.NoError(t, c.Check())
	assert.Equal(t, 1, c.NotFinite, "1e300 is finite")
	lo, hi, ok := c.Bounds()
	assert.True(t, ok)
	assert.Equal(t, [3]float64{5648321.001, 0, 0}, lo)
	assert.Equal(t, [3]float64{1e300, 2, 3}, hi)
	var bad *dataset.CloudError
	_, err = dataset.CloudOf(nil, points, nil)
	assert.ErrorAs(t, err, &bad)
	_, err = dataset.CloudOf(points, tensor.Must(tensor.New(tensor.F64, 2, 1)), []dataset.Column{{Name: "i"}})
	assert.ErrorAs(t, err, &bad)
	_, err = dataset.CloudOf(points, tensor.Must(tensor.New(tensor.I32, 3, 1)), []dataset.Column{{Name: "i"}})
	assert.ErrorAs(t, err, &bad)
}

func TestFormatErrorNamesTheLineOfText(t *testing.T) {
	err := &dataset.FormatError{Format: "pcd", Path: "a.pcd", Offset: 7, Line: 2, Kind: dataset.ErrCorrupt, Msg: "point 3"}
	assert.Equal(t, "pcd: a.pcd: byte 7: line 2: point 3: corrupt", err.Error())
}
