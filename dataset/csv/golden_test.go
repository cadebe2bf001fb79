package csv_test

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
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/internal/test/settest"
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

func floats(t testing.TB, s *dataset.Stream) []float64 {
	require.NotNil(t, s)
	list, err := tensor.Floats(s.Values)
	require.NoError(t, err)
	return list
}

func TestATableIsAsAnotherReaderFindsIt(t *testing.T) {
	var want map[string]golden
	text := filetest.Read(t, "testdata/golden.json")
	require.NoError(t, json.Unmarshal(text, &want))
	dir := filepath.FromSlash("../../../shared/data/tum_vi")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the shared recordings are not here: ", dir)
	}
	require.NotEmpty(t, want)
	for name, w := range want {
		d, err := dataset.Open(context.Background(), filepath.Join(dir, name), dataset.Options{Strict: true})
		require.NoError(t, err)
		assert.Equal(t, "csv", d.Format())
		assert.Equal(t, "timestamp [ns]", d.Info().Clock)
		e := settest.Episode(t, d, 0)
		s := e.Stream("data")
		times, values := s.Nanoseconds(), floats(t, s)
		st := s.Stats()
		assert.Equal(t, []int64{int64(w.Rows), w.First, w.Last, int64(w.Duplicates)}, []int64{int64(st.Samples), st.First, st.Last, int64(st.Duplicates)})
		assert.Equal(t, w.Longest, st.LongestGap)
		assert.Len(t, dataset.Gaps(times, int64(20*time.Millisecond)), w.Over20ms)
		assert.Equal(t, w.Times, sum(t, times))
		assert.Equal(t, w.Values, sum(t, values))
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
		assert.Equal(t, w.Flips, flips)
		for k, total := range w.Sums {
			got := 0.0
			for i := k; i < len(values); i += 7 {
				got += values[i]
			}
			assert.InDelta(t, total, got, 1e-12*float64(w.Rows)*math.Abs(total)+1e-9)
		}
		assert.Equal(t, dataset.Column{Name: "p_RS_R_x", Type: "decimal [m]"}, s.Columns[0])
		assert.Equal(t, dataset.Column{Name: "q_RS_w", Type: "decimal", Rotation: dataset.RotationWXYZ}, s.Columns[3])
		assert.Equal(t, w.Rows, e.Frames)
	}
}
