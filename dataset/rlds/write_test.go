package rlds

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/settest"
)

// writable are the columns of an episode of two steps with each kind of values, at the ends of their types.
func writable() Columns {
	return Columns{
		"id":                         {DType: "uint64", Ints: []int64{-1}},
		"episode_metadata/note":      {DType: "string", Bytes: [][]byte{[]byte("é")}},
		"steps/action":               {DType: "float32", Shape: []int{2}, Floats: []float32{1, float32(math.Inf(-1)), -0.1, 1e-45}},
		"steps/matrix":               {DType: "float64", Shape: []int{1, 2}, Floats: []float32{1, 2, 3, 4}},
		"steps/observation/small":    {DType: "int8", Ints: []int64{-128, 127}},
		"steps/observation/long":     {DType: "int64", Ints: []int64{math.MinInt64 + 1, 300}},
		"steps/observation/seen":     {DType: "uint8", Shape: []int{1, 1, 3}, Format: "png", Bytes: [][]byte{[]byte(png), []byte(png)}},
		"steps/language_instruction": {DType: "string", Bytes: [][]byte{nil, []byte(strings.Repeat("x", 300))}},
		TimeKey:                      {DType: "int64", Ints: []int64{1_700_000_000_000_000_001, 1_700_000_000_100_000_003}},
	}
}

// written is a dataset with one episode.
func written(t testing.TB, columns Columns, opt Options) *Set {
	record, err := AppendRecord(nil, columns)
	require.NoError(t, err)
	features, err := Features(columns)
	require.NoError(t, err)
	described, err := DatasetInfo("d", "1.0.0", []SplitFiles{{Name: "train", Lengths: []int{1}}})
	require.NoError(t, err)
	return open(t, write(t, map[string]string{infoFile: string(described), featuresFile: string(features), onlyShard: string(record)}), opt)
}

// readable are the leaves of writable, and writtenRecord its record without checksums.
func readable(t *testing.T) []*leaf { return written(t, writable(), Options{}).leaves }

func writtenRecord(t *testing.T) []byte {
	b, err := AppendRecord(nil, writable())
	require.NoError(t, err)
	return b[headSize : len(b)-tailSize]
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	columns := writable()
	s := written(t, columns, Options{Strict: true})
	assert.Empty(t, s.Info().Notes)
	assert.Equal(t, []dataset.Feature{{Name: "episode_metadata/note", DType: "string"}, {Name: "id", DType: "uint64"}}, s.Info().Facts)
	e := settest.Episode(t, s, 0)
	assert.Empty(t, e.Notes)
	assert.Equal(t, []string{"action", "matrix", "observation/long", "observation/small"}, e.Names(), "the clock is no stream")
	assert.Equal(t, columns[TimeKey].Ints, e.Stream("action").Nanoseconds())
	assert.Equal(t, columns[TimeKey].Ints, e.MediaStream("observation/seen").Times)
	assert.False(t, e.Steps)
	for i, v := range floats(t, e.Stream("action")) {
		assert.Equal(t, math.Float32bits(columns["steps/action"].Floats[i]), math.Float32bits(float32(v)))
	}
	assert.Equal(t, []float64{-128, 127}, floats(t, e.Stream("observation/small")))
	assert.Equal(t, "18446744073709551615", e.Attributes.Other["id"])
	assert.Equal(t, "é", e.Attributes.Other["episode_metadata/note"])
	assert.Equal(t, strings.Repeat("x", 300), e.Attributes.Task)

	e = settest.Episode(t, written(t, columns, Options{Rate: 4}), 0)
	assert.Equal(t, []int64{0, 250e6}, e.Stream("action").Nanoseconds(), "the caller's rate counts more")
}

// A clock of another length than the episode is a loss, and the steps are counted.
func TestABrokenClockIsCounted(t *testing.T) {
	e, err := one(t, plainWith("time_ns", array("int64")), plain.with(example{TimeKey: []int64{5}}), Options{})
	require.NoError(t, err)
	assert.ErrorContains(t, e.Notes.Find(dataset.CodeArrayBroken).Cause, TimeKey)
	assert.True(t, e.Steps)
	assert.Equal(t, []int64{0, 1e9}, e.Stream("action").Nanoseconds())
}

func TestColumnsThatContradictEachOtherAreErrors(t *testing.T) {
	for _, wrong := range []*Column{
		{DType: "float32", Shape: []int{2}, Floats: []float32{1, 2, 3}},
		{DType: "float32", Shape: []int{2}, Floats: []float32{1, 2}},
		{DType: "int32", Shape: []int{0}},
		{DType: "string", Bytes: [][]byte{nil}},
	} {
		columns := writable()
		columns["steps/x"] = wrong
		_, err := AppendRecord(nil, columns)
		var bad *dataset.StreamError
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, "steps/x", bad.Stream)
		delete(columns, "steps/x")
		columns["x"] = &Column{DType: "string", Bytes: [][]byte{nil, nil}}
		_, err = AppendRecord(nil, columns)
		require.ErrorAs(t, err, &bad)
		assert.Equal(t, "x", bad.Stream)
	}
	columns := writable()
	columns["steps/action/more"] = &Column{DType: "int32"}
	_, err := Features(columns)
	var bad *dataset.StreamError
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, "steps/action", bad.Stream)
}

// Bytes are those of the records.
func BenchmarkAppendRecord(b *testing.B) {
	const steps = 300
	columns := Columns{"steps/observation/state": {DType: "float32", Shape: []int{26}, Floats: slices.Repeat([]float32{0.5}, 26*steps)},
		"steps/action": {DType: "float32", Shape: []int{7}, Floats: slices.Repeat([]float32{0.5}, 7*steps)},
		TimeKey:        {DType: "int64", Ints: slices.Repeat([]int64{1_700_000_000_000_000_001}, steps)}, "steps/is_last": {DType: "bool", Ints: make([]int64, steps)}}
	record, err := AppendRecord(nil, columns)
	require.NoError(b, err)
	b.SetBytes(int64(len(record)))
	for b.Loop() {
		_, _ = AppendRecord(record[:0], columns)
	}
}
