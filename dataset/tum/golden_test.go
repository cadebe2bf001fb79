package tum_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset"
	_ "github.com/robocache/robocache/dataset/tum"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
)

// golden is what scripts/gen_text_golden.py found in a file.
type golden struct {
	Rows, Duplicates, Over20ms, Flips int
	First, Last, Longest              int64
	Sums                              []float64
	Times, Values                     string
}

func sum[T any](t *testing.T, list []T) string {
	h := sha256.New()
	require.NoError(t, binary.Write(h, binary.LittleEndian, list))
	return hex.EncodeToString(h.Sum(nil))
}

func TestTrajectoriesAreAsAnotherReaderFindsThem(t *testing.T) {
	var want map[string]golden
	text := filetest.Read(t, "testdata/golden.json")
	require.NoError(t, json.Unmarshal(text, &want))
	dir := filepath.FromSlash("../../../shared/data/tum_rgbd")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the shared recordings are not here: ", dir)
	}
	d, err := dataset.Open(context.Background(), dir, dataset.Options{Strict: true})
	require.NoError(t, err)
	assert.Equal(t, "tum", d.Format())
	require.Equal(t, len(want), d.Len())
	for e, err := range dataset.Episodes(context.Background(), d) {
		require.NoError(t, err)
		w := want[filepath.Base(e.Attributes.Source)]
		s := e.Stream("pose")
		require.Equal(t, w.Rows, s.Len(), e.Name)
		times, values := s.Nanoseconds(), floats(t, s)
		st := s.Stats()
		assert.Equal(t, []int64{w.First, w.Last, int64(w.Duplicates)}, []int64{st.First, st.Last, int64(st.Duplicates)}, e.Name)
		gaps := dataset.Gaps(times, int64(20*time.Millisecond))
		longest := int64(0)
		for _, g := range gaps {
			longest = max(longest, g.To-g.From)
		}
		assert.Len(t, gaps, w.Over20ms, e.Name)
		assert.Equal(t, w.Longest, longest)
		assert.Equal(t, w.Times, sum(t, times), e.Name)
		assert.Equal(t, w.Values, sum(t, values), e.Name)
		flips := 0
		for i := 7; i < len(values); i += 7 {
			dot := 0.0
			for k := 3; k < 7; k++ {
				dot += values[i+k] * values[i-7+k]
			}
			if dot < 0 {
				flips++
			}
		}
		assert.Equal(t, w.Flips, flips, e.Name)
		for k, total := range w.Sums {
			got := 0.0
			for i := k; i < len(values); i += 7 {
				got += values[i]
			}
			assert.InDelta(t, total, got, 1e-12*float64(w.Rows)*math.Abs(total)+1e-9)
		}
		assert.Equal(t, dataset.RotationXYZW, s.Columns[3].Rotation)
		assert.Empty(t, e.Notes)
	}
}

func floats(t *testing.T, s *dataset.Stream) []float64 {
	list, err := tensor.Floats(s.Values)
	require.NoError(t, err)
	return list
}
