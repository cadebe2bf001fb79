package rlds

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
	"github.com/robocache/robocache/tensor"
)

// golden is an episode as scripts/gen_rlds_golden.py found it.
type golden struct {
	Steps   int
	Numbers map[string]struct {
		Count            int
		First, Last, Sum float64
		SHA256           string
	}
	Bytes map[string]struct {
		Count, Total int
		SHA256       string
	}
	Rest map[string][]any
}

func goldens(t *testing.T, name string) (list []golden) {
	text := filetest.Read(t, "testdata/"+name+".json")
	require.NoError(t, json.Unmarshal(text, &list))
	return list
}

// compare holds an episode against what another reader found in it.
func compare(t *testing.T, want golden, e *dataset.Episode) {
	t.Helper()
	flat := strings.NewReplacer("/ragged_flat_values", "", "steps/", "")
	seen := 0
	for key, w := range want.Numbers {
		if strings.Contains(key, "ragged_row_lengths") {
			continue
		}
		seen++
		s := e.Stream(flat.Replace(key))
		got := floats(t, s)
		require.Len(t, got, w.Count, key)
		var b []byte
		sum := 0.0
		for _, v := range got {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
			sum += v
		}
		hash := sha256.Sum256(b)
		assert.Equal(t, w.SHA256, hex.EncodeToString(hash[:]), key)
		assert.InDelta(t, w.Sum, sum, 1e-9*float64(w.Count)*math.Abs(w.Sum)+1e-9, key)
		if w.Count > 0 {
			assert.Equal(t, []float64{w.First, w.Last}, []float64{got[0], got[len(got)-1]}, key)
		}
		if !strings.Contains(key, "ragged") {
			assert.Equal(t, want.Steps, s.Len(), key)
		}
	}
	assert.Len(t, e.Streams, seen)
	for key, w := range want.Bytes {
		m := e.MediaStream(flat.Replace(key))
		if m == nil {
			continue
		}
		require.Equal(t, w.Count, m.Len(), key)
		var all []byte
		for i := range m.Len() {
			b, err := m.Frame(context.Background(), i)
			require.NoError(t, err)
			all = append(all, b...)
		}
		hash := sha256.Sum256(all)
		assert.Equal(t, w.Total, len(all), key)
		assert.Equal(t, w.SHA256, hex.EncodeToString(hash[:]), key)
	}
}

func TestEveryKindOfFeatureIsAsAnotherReaderFindsIt(t *testing.T) {
	s := open(t, "testdata/kinds", Options{Strict: true})
	want := goldens(t, "kinds")
	in := s.Info()
	assert.Contains(t, in.Features, dataset.Feature{Name: "observation/zl", DType: "float32", Shape: []int{2, 2}})
	assert.Contains(t, in.Features, dataset.Feature{Name: "observation/depth16", DType: "uint16", Shape: []int{12, 16, 1}, Media: true})
	assert.Len(t, in.Features, 14)
	assert.Equal(t, []dataset.Feature{{Name: "episode_metadata/id", DType: "int32"}}, in.Facts)
	in.Features, in.Facts = nil, nil
	assert.Equal(t, dataset.Info{Splits: []dataset.Split{{Name: "train", Episodes: []int{0, 1, 2, 3, 4}}}, Attributes: map[string]string{"version": "1.0.0"}}, in)
	assert.Equal(t, []string{"kinds", "rlds"}, []string{s.Name(), s.Format()})
	assert.Nil(t, s.Damage())
	require.Equal(t, len(want), s.Len())
	for i, w := range want {
		e := settest.Episode(t, s, i)
		compare(t, w, e)
		assert.Empty(t, e.Notes)
		assert.Equal(t, []string{"action", "discount", "is_first", "is_last", "is_terminal", "observation/contact", "observation/joint_f64", "observation/mode",
			"observation/tick", "observation/touch", "observation/zl", "reward"}, e.Names())
	}
	e := settest.Episode(t, s, 2)
	assert.Equal(t, "train_2", e.Name)
	assert.True(t, e.Steps)
	assert.Equal(t, dataset.Attributes{Source: "testdata/kinds/kinds-train.tfrecord-00001-of-00002", Task: "do 2",
		Other: map[string]string{"episode_metadata/id": "2", "tfds_id": "kinds-train.tfrecord-00001-of-00002__0"}}, e.Attributes)
	for name, want := range map[string]struct {
		dtype  tensor.DType
		column dataset.Column
		shape  []int
	}{
		"action":                {tensor.F32, dataset.Column{Name: "0", Type: "float32"}, []int{7, 4}},
		"is_last":               {tensor.F32, dataset.Column{Name: "0", Type: "bool", Integer: true}, []int{7, 1}},
		"observation/joint_f64": {tensor.F64, dataset.Column{Name: "0", Type: "float64"}, []int{7, 3}},
		"observation/tick":      {tensor.F64, dataset.Column{Name: "0", Type: "int64", Integer: true}, []int{7, 1}},
		"observation/mode":      {tensor.F64, dataset.Column{Name: "0", Type: "int64", Integer: true}, []int{7, 1}},
		"observation/zl":        {tensor.F32, dataset.Column{Name: "0.0", Type: "float32"}, []int{7, 4}},
		"observation/touch":     {tensor.F32, dataset.Column{Name: "0", Type: "float32"}, []int{6, 1}},
	} {
		got := e.Stream(name)
		assert.Equal(t, want.dtype, got.Values.DType(), name)
		assert.Equal(t, want.column, got.Columns[0], name)
		assert.Equal(t, want.shape, got.Values.Shape(), name)
	}
	assert.Equal(t, []int64{0, 1e9, 2e9, 3e9, 4e9, 5e9, 6e9}, e.Stream("action").Nanoseconds())
	// Steps have 0, 1, 2, 0, 1, 2 and 0 of it.
	assert.Equal(t, []int64{1e9, 2e9, 2e9, 4e9, 5e9, 5e9}, e.Stream("observation/touch").Nanoseconds())
	for name, encoding := range map[string]string{"observation/depth16": "png", "observation/depth32": "png-f32"} {
		m := e.MediaStream(name)
		assert.Equal(t, encoding, m.Encoding)
		assert.Equal(t, []int{16, 12, 7}, []int{m.Width, m.Height, m.Len()})
		b, err := m.Frame(context.Background(), 6)
		require.NoError(t, err)
		size, _, err := image.DecodeConfig(bytes.NewReader(b))
		require.NoError(t, err)
		assert.Equal(t, []int{16, 12}, []int{size.Width, size.Height})
	}
}

func TestAnEpisodeWithoutStepsHasItsStreams(t *testing.T) {
	e, err := open(t, "testdata/kinds", Options{Strict: true}).Episode(context.Background(), 1)
	require.NoError(t, err)
	assert.Len(t, e.Streams, 12)
	assert.Equal(t, []int{0, 4}, e.Stream("action").Values.Shape())
	assert.Equal(t, 0, e.MediaStream("observation/depth16").Len())
	assert.Equal(t, "png", e.MediaStream("observation/depth16").Encoding)
	assert.Empty(t, e.Attributes.Task)
}

// bridge is 25 episodes of BridgeData V2 in a folder beside the project, too large to ship.
func TestBridge(t *testing.T) {
	dir := filepath.FromSlash("../../../shared/data/bridge_rlds")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no shared recordings beside the project: bridge_rlds")
	}
	s := open(t, dir, Options{Strict: true})
	want := goldens(t, "bridge")
	in := s.Info()
	assert.Equal(t, 5.0, in.Rate)
	assert.Equal(t, dataset.Notes{{Code: dataset.CodeSplitMissing, Subject: "split val", Count: 1}}, in.Notes)
	require.Len(t, in.Splits, 2)
	assert.Len(t, in.Splits[0].Episodes, 25)
	assert.Empty(t, in.Splits[1].Episodes)
	require.Equal(t, 25, s.Len())
	for i, w := range want {
		e := settest.Episode(t, s, i)
		compare(t, w, e)
		assert.Equal(t, 10, w.Steps)
		assert.Len(t, e.Media, 4)
		for _, m := range e.Media {
			assert.Equal(t, []any{"jpeg", 64, 64}, []any{m.Encoding, m.Width, m.Height})
		}
		assert.Equal(t, []int{10, 7}, e.Stream("observation/state").Values.Shape())
		assert.Equal(t, []int64{0, 2e8, 4e8}, e.Stream("action").Nanoseconds()[:3])
		assert.Equal(t, w.Rest["episode_metadata/file_path"][0], e.Attributes.Other["episode_metadata/file_path"])
		assert.Empty(t, e.Notes)
	}
	e := settest.Episode(t, s, 0)
	assert.Equal(t, "put cup from counter or drying rack into sink", e.Attributes.Task)
	assert.Equal(t, "false", e.Attributes.Other["episode_metadata/has_image_0"])
}
