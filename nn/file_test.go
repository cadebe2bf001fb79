package nn

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/dataset/safetensors"
	"github.com/robocache/robocache/internal/test/filetest"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

// torchNames are those of state_dict() of a torch module of the same layers.
var torchNames = map[string][]int{
	"in.weight": {32, 5}, "in.bias": {32}, "position.weight": {12, 32}, "out.weight": {3, 32}, "out.bias": {3},
	"encoder.layers.0.self_attn.in_proj_weight": {96, 32}, "encoder.layers.0.self_attn.in_proj_bias": {96},
	"encoder.layers.0.self_attn.out_proj.weight": {32, 32}, "encoder.layers.0.self_attn.out_proj.bias": {32},
	"encoder.layers.0.linear1.weight": {40, 32}, "encoder.layers.0.linear1.bias": {40},
	"encoder.layers.0.linear2.weight": {32, 40}, "encoder.layers.0.linear2.bias": {32},
	"encoder.layers.0.norm1.weight": {32}, "encoder.layers.0.norm1.bias": {32}, "encoder.layers.0.norm2.weight": {32}, "encoder.layers.0.norm2.bias": {32},
}

func one() Config {
	c := small()
	c.Layers = slices.Delete(slices.Clone(c.Layers), 3, 4) // the second encoder layer
	return c
}

// A file has torch's names and shapes, without padding, and what is read from it is what was written, to the bit.
func TestAFileIsTorchs(t *testing.T) {
	ctx := t.Context()
	for _, name := range []string{"cpu:exact", "cpu"} {
		d := open(t, name)
		path := filepath.Join(t.TempDir(), "m.safetensors")
		m, err := NewModel(ctx, d, one(), 1)
		require.NoError(t, err)
		defer m.Close()
		require.NoError(t, m.SaveFile(ctx, path, map[string]string{"note": "here", "a": "b"}))
		f, err := safetensors.Open(path)
		require.NoError(t, err)
		defer f.Close()
		shapes := map[string][]int{}
		for _, n := range f.Names() {
			h, err := f.Header(n)
			require.NoError(t, err)
			assert.Equal(t, "F32", h.DType)
			shapes[n] = h.Shape
		}
		assert.Equal(t, torchNames, shapes)
		count := 0
		for _, s := range torchNames {
			n, _ := tensor.NumElements(s...)
			count += n
		}
		assert.Equal(t, count, m.Count())
		other, err := NewModel(ctx, d, one(), 2)
		require.NoError(t, err)
		defer other.Close()
		texts, err := other.LoadFile(ctx, path)
		require.NoError(t, err)
		assert.Equal(t, map[string]string{"note": "here", "a": "b"}, texts)
		for i, pair := range [][2]*tensor.Tensor{{m.params, other.params}, {m.working, other.working}} {
			a, err := tensor.Floats(pair[0])
			require.NoError(t, err)
			b, err := tensor.Floats(pair[1])
			require.NoError(t, err)
			assert.Equal(t, a, b, i)
		}
	}
}

// A file that is not quite the network's is refused with what is missing, unknown or of another shape, and nothing is changed.
func TestAFileThatIsAnotherNetworks(t *testing.T) {
	ctx, d := t.Context(), open(t, "cpu")
	m, err := NewModel(ctx, d, one(), 1)
	require.NoError(t, err)
	defer m.Close()
	before := slices.Clone(must(tensor.Data[float32](m.params)))
	write := func(shapes map[string][]int, dtype tensor.DType) string {
		path := filepath.Join(t.TempDir(), "m.safetensors")
		require.NoError(t, safetensors.WriteFile(path, func(w *safetensors.Writer) error {
			for name, s := range shapes {
				if err := w.Add(name, tensor.Must(tensor.New(dtype, s...))); err != nil {
					return err
				}
			}
			return nil
		}))
		return path
	}
	for name, c := range map[string]struct {
		change func(map[string][]int)
		layer  string
		kind   error
	}{
		"missing":    {func(s map[string][]int) { delete(s, "in.bias") }, "in.bias", ops.ErrMissing},
		"unknown":    {func(s map[string][]int) { s["in.b"] = []int{32} }, "in.b", ops.ErrOption},
		"transposed": {func(s map[string][]int) { s["in.weight"] = []int{5, 32} }, "in.weight", ops.ErrShape},
		"as a row":   {func(s map[string][]int) { s["in.bias"] = []int{1, 32} }, "in.bias", ops.ErrShape},
		"padded":     {func(s map[string][]int) { s["in.weight"] = []int{32, 16} }, "in.weight", ops.ErrShape},
	} {
		shapes := maps.Clone(torchNames)
		c.change(shapes)
		_, err := m.LoadFile(ctx, write(shapes, tensor.F32))
		var e *Error
		if assert.ErrorAs(t, err, &e, name) {
			assert.Equal(t, c.layer, e.Layer, name)
			assert.ErrorIs(t, err, c.kind, name)
		}
	}
	_, err = m.LoadFile(ctx, write(torchNames, tensor.I64))
	assert.ErrorIs(t, err, ops.ErrShape)
	assert.Equal(t, before, must(tensor.Data[float32](m.params)))
	_, err = m.LoadFile(ctx, write(torchNames, tensor.BF16))
	require.NoError(t, err)
	assert.NotEqual(t, before, must(tensor.Data[float32](m.params)))
}

// A checkpoint of other settings, of another network, or cut short, is refused, and nothing is changed.
func TestACheckpointThatIsAnothers(t *testing.T) {
	ctx, d := t.Context(), open(t, "cpu")
	path := filepath.Join(t.TempDir(), "c.safetensors")
	r := newRig(t, d, small(), 2, 9, everything(), false)
	r.runs(2)
	require.NoError(t, r.step.SaveState(ctx, path, nil))
	other := everything()
	other.Train.Schedule.Rate = 1
	for name, s := range map[string]*rig{
		"settings": newRig(t, d, small(), 2, 9, other, false),
		"network":  newRig(t, d, one(), 2, 9, everything(), false),
	} {
		before := s.bits()
		_, err := s.step.LoadState(ctx, path)
		var e *Error
		assert.ErrorAs(t, err, &e, name)
		assert.Equal(t, before, s.bits())
	}
	whole := filetest.Read(t, path)
	before := r.bits()
	for _, n := range []int{0, 7, 100, len(whole) / 2, len(whole) - 1} {
		filetest.Write(t, path, whole[:n])
		_, err := r.step.LoadState(ctx, path)
		assert.Error(t, err, n)
	}
	assert.Equal(t, before, r.bits())
	predicts := newRig(t, d, small(), 2, 9, StepOptions{Predict: true}, false)
	assert.ErrorIs(t, predicts.step.SaveState(ctx, path, nil), ops.ErrMissing)
	_, err := predicts.step.LoadState(ctx, path)
	assert.ErrorIs(t, err, ops.ErrMissing)
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Parameters that are not finite are neither written nor read, and a checkpoint has a number of steps that can be.
func TestParametersThatAreNotFiniteAreNoFile(t *testing.T) {
	ctx, d := t.Context(), open(t, "cpu")
	m := must(NewModel(ctx, d, one(), 1))
	defer m.Close()
	s := must(NewStep(ctx, m, 2, 9, everything()))
	defer s.Close()
	path := filepath.Join(t.TempDir(), "m.safetensors")
	state := must(download[int64](ctx, d, m.state))
	for _, step := range []int64{-1, math.MaxInt64} {
		state[backend.StateStep] = step
		require.NoError(t, upload(ctx, d, m.state, state))
		require.NoError(t, s.SaveState(ctx, path, nil))
		_, err := s.LoadState(ctx, path)
		require.ErrorIs(t, err, ops.ErrOption)
	}
	require.NoError(t, os.Remove(path))
	list := must(download[float32](ctx, d, m.params))
	list[m.Parameters()[3].Offset] = float32(math.Inf(1))
	require.NoError(t, upload(ctx, d, m.params, list))
	for _, err := range []error{m.SaveFile(ctx, path, nil), s.SaveState(ctx, path, nil)} {
		var e *Error
		require.ErrorAs(t, err, &e)
		require.ErrorIs(t, err, ops.ErrValue)
		assert.Contains(t, e.Layer, m.Parameters()[3].Name)
		assert.NoFileExists(t, path)
	}
}
