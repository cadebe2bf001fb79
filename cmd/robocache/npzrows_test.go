package main

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robocache/robocache/dataset/npz"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRowsOfABatchAreSortedEachByItself(t *testing.T) {
	targets := vec[int64](0, 10e6, 20e6)
	for name, c := range map[string]struct {
		arrays map[string]*tensor.Tensor
		want   []float32
		sorted float64
	}{
		"their own clocks": {map[string]*tensor.Tensor{"values": tensor.Must(tensor.Of([]float32{0, 1, 2, 3, 5, 4}, 2, 3, 1)), "times": tensor.Must(tensor.Of([]int64{0, 10e6, 20e6, 0, 20e6, 10e6}, 2, 3))}, []float32{0, 1, 2, 3, 4, 5}, 1},
		"one clock":        {map[string]*tensor.Tensor{"values": tensor.Must(tensor.Of([]float32{0, 2, 1, 3, 5, 4}, 2, 3, 1)), "times": vec[int64](0, 20e6, 10e6)}, []float32{0, 1, 2, 3, 4, 5}, 2},
		"in order":         {map[string]*tensor.Tensor{"values": tensor.Must(tensor.Of([]float32{0, 1, 2, 3, 4, 5}, 2, 3, 1)), "times": vec[int64](0, 10e6, 20e6)}, []float32{0, 1, 2, 3, 4, 5}, 0},
		"padding": {map[string]*tensor.Tensor{"values": tensor.Must(tensor.Of([]float32{2, 0, 1, 9, 3, 4, 9, 9}, 2, 4, 1)), "times": tensor.Must(tensor.Of([]int64{20e6, 0, 10e6, -7e6, 0, 10e6, -7e6, -7e6}, 2, 4)),
			"lengths": vec[int64](3, 2)}, []float32{0, 1, 2, 3, 4, 4}, 1},
		"one clock of rows of different lengths": {map[string]*tensor.Tensor{"values": tensor.Must(tensor.Of([]float32{1, 0, 2, 1, 0, 9}, 2, 3, 1)), "times": vec[int64](10e6, 0, 20e6), "lengths": vec[int64](3, 2)}, []float32{0, 1, 2, 0, 1, 1}, 2},
		"halves":                                 {map[string]*tensor.Tensor{"values": tensor.Must(tensor.Of([]float64{0, 2, 1}, 1, 3, 1)), "times": tensor.Must(tensor.Of([]int64{0, 20e6, 10e6}, 1, 3))}, []float32{0, 1, 2}, 1},
		"one row":                                {map[string]*tensor.Tensor{"values": column[float32](0, 2, 1), "times": vec[int64](0, 20e6, 10e6)}, []float32{0, 1, 2}, 1},
	} {
		c.arrays["targets"] = targets
		in, out := writeNPZ(t, c.arrays), filepath.Join(t.TempDir(), "o.npz")
		stdout, _ := good(t, "resample", in, "-o", out, "--backend=cpu", "--json", "--unordered=sort", "--dtype=f32")
		assert.Equal(t, c.want, array[float32](t, open(t, out), "values"), name)
		assert.Equal(t, c.sorted, unmarshal(t, stdout)["streams"].([]any)[0].(map[string]any)["sorted_back_steps"], name)
		for _, unordered := range []string{"drop", "error"} {
			code, _, stderr := execute("resample", in, "-o", out, "--backend=cpu", "--unordered", unordered)
			if c.sorted == 0 {
				assert.Equal(t, exitGood, code, name)
				continue
			}
			assert.Equal(t, exitInput, code, name)
			assert.Contains(t, stderr, "; --unordered sort takes the samples in order", name)
		}
	}
}

func TestSamplesWithoutATimeAreAnErrorOfABatch(t *testing.T) {
	times := []float64{0, .1, .2, .3, .1, math.NaN()}
	out := filepath.Join(t.TempDir(), "o.npz")
	in := writeNPZ(t, map[string]*tensor.Tensor{"values": tensor.Must(tensor.New(tensor.F32, 2, 3, 1)), "times": tensor.Must(tensor.Of(times, 2, 3))})
	for _, args := range [][]string{{"--unordered=sort"}, {}} {
		code, stdout, _ := execute(append([]string{"resample", in, "-o", out, "--backend=cpu", "--hz=10", "--json"}, args...)...)
		assert.Equal(t, exitInput, code)
		e := unmarshal(t, stdout)["error"].(map[string]any)
		if len(args) == 0 {
			assert.Contains(t, e["message"], "backwards at row 1, index 1; --unordered sort takes")
			continue
		}
		assert.Equal(t, []any{"times", 1., 2.}, []any{e["array"], e["row"], e["index"]})
		assert.NotContains(t, e["message"], "--unordered", "it has been tried")
	}
	lone := writeNPZ(t, map[string]*tensor.Tensor{"values": tensor.Must(tensor.New(tensor.F32, 6, 1)), "times": vec(times...)})
	code, _, stderr := execute("resample", lone, "-o", out, "--backend=cpu", "--hz=10")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "index 4; --unordered sort takes")
	stdout, _ := good(t, "resample", lone, "-o", out, "--backend=cpu", "--hz=10", "--unordered=sort", "--json")
	assert.Equal(t, 1., unmarshal(t, stdout)["streams"].([]any)[0].(map[string]any)["timeless_samples"])
}

func TestRowsOfOneFeatureNeedNoThirdDimension(t *testing.T) {
	in := writeNPZ(t, map[string]*tensor.Tensor{"values": tensor.Must(tensor.Of([]int32{0, 1, 2, 3, 4, 5}, 2, 3)), "times": tensor.Must(tensor.Of([]int64{0, 10e6, 20e6, 100e6, 110e6, 120e6}, 2, 3)),
		"targets": tensor.Must(tensor.Of([]int64{5e6, 110e6}, 2, 1))})
	out := filepath.Join(t.TempDir(), "o.npz")
	stdout, _ := good(t, "resample", in, "-o", out, "--backend=cpu", "--json", "--method=linear")
	f := open(t, out)
	assert.Equal(t, []int{2, 1, 1}, shape(t, f, "values"))
	assert.Equal(t, []float64{.5, 4}, array[float64](t, f, "values"))
	line := unmarshal(t, stdout)["streams"].([]any)[0].(map[string]any)
	assert.Equal(t, []any{2., 1.}, []any{line["rows"], line["columns"]})
	// Times with one column belong to one recording, and become one dimension.
	code, _, stderr := execute("resample", writeNPZ(t, map[string]*tensor.Tensor{"values": column[float32](1, 2), "times": column[int64](0, 10)}), "-o", out, "--hz=10", "--backend=cpu")
	assert.Equal(t, exitInput, code)
	assert.Contains(t, stderr, "times: got i64 [2,1] on host, want [2], one timestamp a sample")
}

// fullDisk takes so many bytes.
type fullDisk struct{ left int }

func (d *fullDisk) Write(p []byte) (int, error) {
	if d.left -= len(p); d.left < 0 {
		return 0, errors.New("no space left")
	}
	return len(p), nil
}

func TestAFullDiskIsToldOnce(t *testing.T) {
	many := tensor.Must(tensor.New(tensor.F64, 1<<16))
	j := &npzJob{targets: many, out: ops.ResampleResult{Values: many, Valid: many, Age: many}}
	err := j.arrays(npz.NewWriter(&fullDisk{1000}, npz.Options{}))
	require.Error(t, err)
	assert.Equal(t, 1, strings.Count(err.Error(), "no space left"))
}

func TestABatchCoversTheTimeOfAllItsRows(t *testing.T) {
	const n = 300
	times := make([]float64, 2*n)
	for i := range n {
		times[i], times[n+i] = 100+float64(i)/30, float64(i)/60
	}
	in := writeNPZ(t, map[string]*tensor.Tensor{"values": tensor.Must(tensor.New(tensor.F32, 2, n, 1)), "times": tensor.Must(tensor.Of(times, 2, n))})
	stdout, _ := good(t, "resample", in, "-o", filepath.Join(t.TempDir(), "o.npz"), "--backend=cpu", "--hz=10", "--range=union", "--json")
	line := unmarshal(t, stdout)["streams"].([]any)[0].(map[string]any)
	assert.Equal(t, []any{0., 109966666667.}, []any{line["first_ns"], line["last_ns"]})
}
