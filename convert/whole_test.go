package convert

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/tensor"
)

// Whole numbers are whole numbers of their type again, with every bit, and keep their previous value on a clock.
func TestWholeNumbersStayWhole(t *testing.T) {
	n := 40
	times := recorded(t, 1, n, false).Streams[0].Nanoseconds()
	e := &dataset.Episode{Name: "types"}
	lows := map[string]float64{"bool": 0, "uint8": 0, "int8": math.MinInt8, "uint16": 0, "int16": math.MinInt16, "uint32": 0, "int32": math.MinInt32, "uint64": 0}
	highs := map[string]float64{"bool": 1, "uint8": math.MaxUint8, "int8": math.MaxInt8, "uint16": math.MaxUint16, "int16": math.MaxInt16,
		"uint32": math.MaxUint32, "int32": math.MaxInt32, "uint64": 0x1p63}
	for _, name := range []string{"bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64"} {
		list := make([]float64, n)
		for i := range list {
			list[i] = []float64{lows[name], highs[name]}[i%2]
		}
		values := tensor.Must(tensor.Of(list, n, 1))
		s, err := dataset.NewStream(name, times, values, []dataset.Column{{Name: "0", Type: name, Integer: true}})
		require.NoError(t, err)
		e.Streams = append(e.Streams, s)
	}
	e.Streams[0].Columns[0].Type, e.Streams[1].Columns[0].Type = "bool", "uint8_t" // as in C
	fractions, err := dataset.NewStream("fractions", times, tensor.Must(tensor.Of(append(make([]float32, n-1), .5), n, 1)), []dataset.Column{{Name: "0", Type: "bool", Integer: true}})
	require.NoError(t, err)
	e.Streams = append(e.Streams, fractions)
	in := write(t, e)
	for _, to := range []Target{NPZ(), Safetensors()} {
		out := filepath.Join(t.TempDir(), "out")
		converts(t, out, to, Options{}, in)
		got := episodes(t, out)[0]
		on := filepath.Join(t.TempDir(), "on")
		converts(t, on, to, Options{Plan: &align.Plan{Rate: 33}, Device: cpu(t)}, out)
		plan := episodes(t, on)[0]
		for name := range lows {
			want, s, on := e.Stream(name), got.Stream(name), plan.Stream(name)
			require.NotNil(t, s, name)
			assert.Equal(t, []dataset.Column{{Name: "0", Type: name, Integer: true}}, s.Columns)
			assert.Equal(t, s.Columns, on.Columns)
			a, b := must(tensor.Floats(want.Values)), must(tensor.Floats(s.Values))
			if assert.Equal(t, a, b, name); name == "bool" {
				assert.Subset(t, []float64{0, 1}, must(tensor.Floats(on.Values)))
				assert.Equal(t, tensor.F32, s.Values.DType())
			}
		}
		assert.Equal(t, "float32", got.Stream("fractions").Columns[0].Type)
	}
}

// A whole number that float64 does not hold is in archives with all its bits.
func TestLargeWholeNumbersKeepTheirBits(t *testing.T) {
	e := recorded(t, 1, 3, false)
	large := []int64{1<<60 + 1, -1<<62 - 3, 7}
	s := &e.Streams[0]
	e.Streams = e.Streams[:1]
	s.Values = tensor.Must(tensor.Of(large, 3))
	in := archives(t, e)
	for _, to := range []Target{NPZ(), Safetensors()} {
		out := filepath.Join(t.TempDir(), "out")
		r := converts(t, out, to, Options{}, in)
		assert.Zero(t, r.Streams[0].Rounded)
		got := episodes(t, out)[0].Stream("state")
		assert.Equal(t, 2, got.Inexact)
		assert.Equal(t, large, must(tensor.Data[int64](got.Integers)))
	}
}
