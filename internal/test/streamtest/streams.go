package streamtest

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Sampled makes a stream of a rate, n samples of named columns; a name that ends in # is of whole numbers.
func Sampled(t testing.TB, name string, hz float64, n int, columns string, at func(row, column int) float64) dataset.Stream {
	t.Helper()
	var cols []dataset.Column
	for _, c := range strings.Fields(columns) {
		whole, integer := strings.CutSuffix(c, "#")
		cols = append(cols, dataset.Column{Name: whole, Integer: integer})
	}
	times, values := make([]int64, n), make([]float64, 0, n*len(cols))
	for i := range times {
		times[i] = int64(math.Round(float64(i) * 1e9 / hz))
		for k := range cols {
			values = append(values, at(i, k))
		}
	}
	s, err := dataset.NewStream(name, times, tensor.Must(tensor.Of(values, n, len(cols))), cols)
	require.NoError(t, err)
	return s
}

func Wave(row, column int) float64 { return math.Sin(float64(row)/17 + float64(column)) }

// Rotating is the quaternion x, y, z, w of a body that turns about an axis that wanders.
func Rotating(row int) [4]float64 {
	a, b := float64(row)/30, float64(row)/50
	axis := [3]float64{math.Cos(b), math.Sin(b) * .6, math.Sin(b) * .8}
	return [4]float64{axis[0] * math.Sin(a), axis[1] * math.Sin(a), axis[2] * math.Sin(a), math.Cos(a)}
}
