package stats

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/robocache/robocache/dataset"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hex is a float as Python's hex writes it.
type hex float64

func (h *hex) UnmarshalJSON(b []byte) error {
	s, err := strconv.Unquote(string(b))
	if err != nil {
		return err
	}
	v, err := strconv.ParseFloat(s, 64)
	*h = hex(v)
	return err
}

// What numpy has of the sorted values, and what the mean and deviation of the numbers are, rounded once: scripts/gen_stats_golden.py.
func TestStatisticsHaveTheBitsOfNumpy(t *testing.T) {
	raw := filetest.Read(t, "testdata/numpy.json")
	var golden struct {
		Shares  []float64
		Columns []struct {
			Name, DType         string
			Values, Quantiles   []hex
			Mean, Std, Min, Max hex
		}
	}
	require.NoError(t, json.Unmarshal(raw, &golden))
	require.Len(t, golden.Columns, 26)
	for _, c := range golden.Columns {
		n := len(c.Values)
		narrow, wide := make([]float32, n), make([]float64, n)
		for i, v := range c.Values {
			narrow[i], wide[i] = float32(v), float64(v)
		}
		values := tensor.Must(tensor.Of(wide, n, 1))
		if c.DType == "float32" {
			values = tensor.Must(tensor.Of(narrow, n, 1))
		}
		a, err := NewAccumulator(1, values.DType(), golden.Shares)
		require.NoError(t, err)
		for more := true; more; {
			require.NoError(t, a.Add(values))
			more, err = a.Next()
			require.NoError(t, err)
		}
		want := Column{Count: int64(n), Mean: float64(c.Mean), Std: float64(c.Std), Min: float64(c.Min), Max: float64(c.Max)}
		for _, q := range c.Quantiles {
			want.Quantiles = append(want.Quantiles, float64(q))
		}
		assert.Equal(t, want, a.Columns()[0], "%s of %s", c.Name, c.DType)
	}
}

// The statistics of a dataset that LeRobot itself computed: those that it rounds to float32 or bins are near ours, the extremes are equal.
func TestSharedRecordingsHaveTheStatisticsThatLeRobotComputed(t *testing.T) {
	const path = "../../shared/data/lerobot_v3_g1"
	raw, err := os.ReadFile(filepath.Join(path, "meta", "stats.json"))
	if err != nil {
		t.Skip("no shared recordings beside the repository")
	}
	var theirs map[string]map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &theirs))
	d, err := dataset.Open(t.Context(), path, dataset.Options{})
	require.NoError(t, err)
	defer d.Close()
	r, err := Compute(t.Context(), d, Options{Binned: true})
	require.NoError(t, err)
	for _, name := range []string{"observation.state", "action"} {
		s := r.Stream(name)
		require.NotNil(t, s)
		assert.Equal(t, int64(3313), s.Rows)
		numbers := map[string][]float64{}
		for key := range theirs[name] {
			var list []float64
			require.NoError(t, json.Unmarshal(theirs[name][key], &list))
			numbers[key] = list
		}
		for i, c := range s.Columns {
			assert.Equal(t, numbers["min"][i], c.Min, c.Name)
			assert.Equal(t, numbers["max"][i], c.Max, c.Name)
			assert.InDelta(t, numbers["mean"][i], c.Mean, 1e-5*(1+math.Abs(c.Mean)), c.Name)
			assert.InDelta(t, numbers["std"][i], c.Std, 1e-3*(1e-2+c.Std), c.Name)
			for k, q := range Quantiles {
				assert.InDelta(t, numbers[QuantileName(q)][i], c.Binned[k], 2e-10+1e-12*math.Abs(c.Binned[k]), "%s, %v", c.Name, q)
			}
			assert.Less(t, c.Binned[0], c.Quantiles[0]+1e-3*(c.Max-c.Min), "theirs is the least of the episodes': %s", c.Name)
			assert.Greater(t, c.Binned[4], c.Quantiles[4]-1e-3*(c.Max-c.Min), "theirs is the greatest of the episodes': %s", c.Name)
		}
	}
}
