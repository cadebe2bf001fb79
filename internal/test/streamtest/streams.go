package streamtest

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Sampled returns a stream of n samples at hz samples per second. columns has the column names, separated by spaces; a name that ends
// in # is an integer column. at returns each value.
func Sampled(t testing.TB, name string, hz float64, n int, columns string, at func(row, column int) float64) dataset.Stream {
	t.Helper()
	var cols []dataset.Column
	for _, c := range strings.Fields(columns) {
		whole, integer := strings.CutSuffix(c, "#")
		cols = append(cols, dataset.Column{Name: whole, Integer: integer})
	}
	times := make([]int64, n)
	var values []float64
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

// Wave returns a sine of the row number, with a different phase for each column.
func Wave(row, column int) float64 { return math.Sin(float64(row)/17 + float64(column)) }

// Rotating returns the orientation of a body that turns about a moving axis, as a quaternion x, y, z, w.
func Rotating(row int) [4]float64 {
	a, b := float64(row)/30, float64(row)/50
	axis := [3]float64{math.Cos(b), math.Sin(b) * .6, math.Sin(b) * .8}
	return [4]float64{axis[0] * math.Sin(a), axis[1] * math.Sin(a), axis[2] * math.Sin(a), math.Cos(a)}
}
