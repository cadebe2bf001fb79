package nn

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/tensor"
)

// Parameters begin as torch's: of Linear uniform within 1/sqrt(in), of in_proj within Xavier's bound, of tables normal, norms 1 and 0, attention's
// biases 0; the same seed gives the same ones, and padding is 0.
func TestParametersBeginAsTorchs(t *testing.T) {
	d := open(t, "cpu")
	c := encoder(TransformerEncoderLayer{Heads: 1, FFN: 40})
	c.Layers = append(c.Layers, Linear{Name: "zero", Out: 5, Zero: true})
	m, err := NewModel(t.Context(), d, c, 1)
	require.NoError(t, err)
	defer m.Close()
	data := must(tensor.Data[float32](m.params))
	used := make([]bool, len(data))
	for _, p := range m.Parameters() {
		assert.Zero(t, p.Offset%alignment)
		least, most, square, n := math.Inf(1), math.Inf(-1), 0.0, 0.0
		p.each(func(_, at int) {
			v := float64(data[at])
			least, most, square, n, used[at] = min(least, v), max(most, v), square+v*v, n+1, true
		})
		uniform := func(bound float64) {
			assert.LessOrEqual(t, math.Max(-least, most), bound, p.Name)
			assert.InEpsilon(t, bound/math.Sqrt(3), math.Sqrt(square/n), 2/math.Sqrt(n), "%s: the deviation of a uniform distribution", p.Name)
		}
		has := func(s string) bool { return strings.Contains(p.Name, s) }
		switch {
		case has("zero"), has("in_proj_bias"), has("out_proj.bias"), has("norm") && has("bias"):
			assert.Zero(t, square, p.Name)
		case has("norm"):
			assert.True(t, least == 1 && most == 1, p.Name)
		case has("position"):
			assert.InDelta(t, 1, math.Sqrt(square/n), 0.15, p.Name)
		case has("in_proj_weight"):
			uniform(math.Sqrt(6.0 / (32 + 96)))
		case has("linear2"):
			uniform(1 / math.Sqrt(40))
		case strings.HasPrefix(p.Name, "in."):
			uniform(1 / math.Sqrt(5))
		default:
			uniform(1 / math.Sqrt(32))
		}
	}
	for i, v := range data {
		assert.True(t, used[i] || v == 0, "padding, element %d: %v", i, v)
	}
	for seed, same := range map[uint64]bool{1: true, 2: false} {
		other, err := NewModel(t.Context(), d, c, seed)
		require.NoError(t, err)
		assert.Equal(t, same, assert.ObjectsAreEqual(data, must(tensor.Data[float32](other.params))))
		require.NoError(t, other.Close())
		require.NoError(t, other.Close())
	}
}
