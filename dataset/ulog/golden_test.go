package ulog

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
)

// golden is what scripts/gen_ulog_golden.py prints.
type golden struct {
	Version    int
	Start      int64
	Info       map[string]string
	Parameters map[string]float64
	Changes    int `json:"parameter_changes"`
	Dropouts   [][2]int64
	Texts      [][3]any
	Multi      int `json:"multi_values"`
	Syncs      int
	Streams    []struct {
		Name          string
		Samples       int
		First, Last   int64
		Columns       []string
		Times, Values string
	}
	Empty []string
}

func TestARealLogReadsAsTheIndependentReaderReadsIt(t *testing.T) {
	for _, opt := range []Options{{}, {Strict: true}} {
		checkGolden(t, "testdata/sample_log_small.ulg", "testdata/sample_log_small.json", opt)
	}
}

func checkGolden(t *testing.T, path, goldenPath string, opt Options) {
	text := filetest.Read(t, goldenPath)
	var want golden
	require.NoError(t, json.Unmarshal(text, &want))
	log, err := ReadFile(path, opt)
	require.NoError(t, err)

	assert.Equal(t, want.Version, log.Version)
	assert.Equal(t, want.Start, log.Start)
	for name, v := range want.Info {
		assert.Equal(t, v, log.InfoValue(name), name)
	}
	for name, v := range want.Parameters {
		got, ok := log.Parameter(name)
		assert.True(t, ok, name)
		assert.Equal(t, v, got, name)
	}
	assert.Len(t, log.Parameters, len(want.Parameters)+want.Changes)
	require.Len(t, log.Dropouts, len(want.Dropouts))
	for i, d := range want.Dropouts {
		assert.Equal(t, dataset.Dropout{Time: d[0], Duration: d[1]}, log.Dropouts[i])
	}
	require.Len(t, log.Messages, len(want.Texts))
	for i, m := range want.Texts {
		assert.Equal(t, m[0], string(log.Messages[i].Level))
		assert.Equal(t, int64(m[1].(float64)), log.Messages[i].Time)
		assert.Equal(t, m[2], log.Messages[i].Text)
	}
	values := 0
	for _, m := range log.MultiInfo {
		values += len(m.Values)
	}
	assert.Equal(t, want.Multi, values)
	assert.Equal(t, want.Syncs, log.Syncs)
	var empty []string
	for _, l := range log.Notes {
		assert.Equal(t, dataset.CodeNoSamples, l.Code)
		empty = append(empty, l.Subject)
	}
	assert.ElementsMatch(t, want.Empty, empty)
	assert.Nil(t, log.Notes.Damage())

	require.Len(t, log.Streams, len(want.Streams))
	for i, w := range want.Streams {
		s := log.Streams[i]
		assert.Equal(t, w.Name, s.Name)
		require.Len(t, s.Nanoseconds(), w.Samples, w.Name)
		assert.Equal(t, w.First, s.Nanoseconds()[0], w.Name)
		assert.Equal(t, w.Last, s.Nanoseconds()[w.Samples-1], w.Name)
		var names []string
		for _, c := range s.Columns {
			names = append(names, c.Name)
		}
		assert.Equal(t, w.Columns, names, w.Name)
		var raw []byte
		for _, x := range s.Nanoseconds() {
			raw = binary.LittleEndian.AppendUint64(raw, uint64(x))
		}
		assert.Equal(t, w.Times, digest(raw), w.Name)
		assert.Equal(t, w.Values, digest(valueBytes(t, &s)), w.Name)
		assert.Equal(t, []int{len(s.Nanoseconds()), len(s.Columns)}, s.Values.Shape(), w.Name)
	}
}

func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// valueBytes returns the values as float64, little-endian, with one bit pattern for every NaN.
func valueBytes(t *testing.T, s *dataset.Stream) []byte {
	var raw []byte
	for _, v := range float64s(t, s.Values) {
		bits := math.Float64bits(v)
		if v != v {
			bits = 0x7ff8000000000000
		}
		raw = binary.LittleEndian.AppendUint64(raw, bits)
	}
	return raw
}

func float64s(t *testing.T, v *tensor.Tensor) []float64 {
	if v.DType() == tensor.F64 {
		data, err := tensor.Data[float64](v)
		require.NoError(t, err)
		return data
	}
	data, err := tensor.Data[float32](v)
	require.NoError(t, err)
	out := make([]float64, len(data))
	for i, x := range data {
		out[i] = float64(x)
	}
	return out
}
