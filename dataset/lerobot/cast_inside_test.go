package lerobot

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/internal/parquet"
)

func TestCast(t *testing.T) {
	nan := math.NaN()
	for name, c := range map[string]struct {
		v             parquet.Values
		typ, declared string
		as            string
		changed       int
		want          []float64
	}{
		"int64 to float32":          {parquet.Values{Int64: []int64{1, 1<<24 + 1, -3}}, "int64", "float32", "float32", 1, []float64{1, 1 << 24, -3}},
		"null stays null":           {parquet.Values{Int64: []int64{1, 0}, Nulls: []int{1}}, "int64", "float32", "float32", 0, []float64{1, nan}},
		"float64 to float32":        {parquet.Values{Float64: []float64{0.5, 1e-50, nan, 1e300}}, "float64", "float32", "float32", 2, []float64{0.5, 0, nan, math.Inf(1)}},
		"float32 to float64":        {parquet.Values{Float32: []float32{0.5, 0.1}}, "float32", "float64", "float64", 0, []float64{0.5, float64(float32(0.1))}},
		"uint64 to float64":         {parquet.Values{Int64: []int64{-1, 5}}, "uint64", "float64", "float64", 1, []float64{1 << 63 * 2, 5}},
		"whole float to int64":      {parquet.Values{Float64: []float64{2, -7}}, "float64", "int64", "int64", 0, []float64{2, -7}},
		"fractions stay":            {parquet.Values{Float64: []float64{2, 0.5}}, "float64", "int64", "float64", 0, []float64{2, 0.5}},
		"NaN is no whole number":    {parquet.Values{Float64: []float64{2, nan}}, "float64", "int64", "float64", 0, []float64{2, nan}},
		"int64 to uint8":            {parquet.Values{Int64: []int64{0, 255}}, "int64", "uint8", "uint8", 0, []float64{0, 255}},
		"256 is no uint8":           {parquet.Values{Int64: []int64{0, 256}}, "int64", "uint8", "int64", 0, []float64{0, 256}},
		"int64 to bool":             {parquet.Values{Int64: []int64{0, 1}}, "int64", "bool", "bool", 0, []float64{0, 1}},
		"an unknown type is passed": {parquet.Values{Int64: []int64{7}}, "int64", "complex64", "int64", 0, []float64{7}},
		"the declared type":         {parquet.Values{Float64: []float64{0.1}}, "float64", "float64", "float64", 0, []float64{0.1}},
	} {
		v := c.v
		as, changed := cast(&v, c.typ, c.declared)
		assert.Equal(t, []any{c.as, c.changed}, []any{as, changed}, name)
		list, _ := floats[float64](&v, as)
		for i, want := range c.want {
			assert.True(t, list[i] == want || math.IsNaN(list[i]) && math.IsNaN(want), "%s: %v, want %v", name, list, c.want)
		}
	}
}
