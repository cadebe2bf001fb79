package nn

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
)

// remembered is the width of the memories.
const remembered = 64

// stack is a random list of layers on a width, and the width behind them.
func stack(random *rand.Rand, name string, width, depth int) ([]Layer, int) {
	var list []Layer
	for i := range 1 + random.IntN(4) {
		name := fmt.Sprintf("%s.%d", name, i)
		switch random.IntN(7) {
		case 0, 1:
			width = 32 * (1 + random.IntN(2))
			list = append(list, Linear{Name: name, Out: width, NoBias: random.IntN(2) == 0})
		case 2:
			list = append(list, Linear{Name: name + "a", Out: 1 + random.IntN(50), Activation: GELU}, Linear{Name: name + "b", Out: width})
		case 3:
			list = append(list, LayerNorm{Name: name})
		case 4:
			a := MultiHeadAttention{Name: name, Heads: width / 32, Causal: random.IntN(2) == 0}
			a.Cross = !a.Causal && width == remembered && random.IntN(2) == 0
			list = append(list, a)
		case 5:
			l := TransformerEncoderLayer{Name: name, Heads: width / 32, FFN: 16 + random.IntN(20), PreNorm: random.IntN(2) == 0, Activation: GELU}
			if list = append(list, l); width == remembered && random.IntN(2) == 0 {
				list[len(list)-1] = TransformerDecoderLayer(l)
			}
		case 6:
			if depth > 0 {
				inner, w := stack(random, name, width, depth-1)
				if w != width {
					inner = append(inner, Linear{Name: name + ".w", Out: width})
				}
				list = append(list, Residual{inner})
			}
		}
	}
	return list, width
}

func usesMemory(list []Layer) bool {
	return slices.ContainsFunc(list, func(l Layer) bool {
		_, decoder := l.(TransformerDecoderLayer)
		a, _ := l.(MultiHeadAttention)
		r, _ := l.(Residual)
		return decoder || a.Cross || usesMemory(r.Layers)
	})
}

// Networks put together at random either cannot be, and say why, or follow float64.
func TestRandomNetworksFollowFloat64(t *testing.T) {
	thorough.SkipRace(t, thorough.Simulates)
	d := open(t, "cpu")
	are, refused := 0, map[string]int{}
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 5))
		layers, width := stack(random, "s", 32, 2)
		layers = append([]Layer{Linear{Name: "in", Out: 32}}, layers...)
		if usesMemory(layers) {
			layers = append([]Layer{Memory{1 + random.IntN(5), []Layer{Linear{Name: "memory", Out: remembered}}}}, layers...)
		}
		switch {
		case random.IntN(3) == 0:
			layers = append(layers, LastToken{})
		case random.IntN(3) == 0 && width > 0:
			layers = append(layers, Flatten{6})
		}
		c := Config{5, append(layers, Linear{Name: "out", Out: 3})}
		m, err := NewModel(t.Context(), d, c, 1)
		var e *Error
		if errors.As(err, &e) {
			refused[e.Got]++
			continue
		}
		require.NoError(t, err)
		require.NoError(t, m.Close())
		are++
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := newRig(t, d, c, 3, 6, StepOptions{Train: &Training{Schedule: Schedule{Rate: 1e-3}}}, false)
			m, prediction, _ := r.wanted(1)
			r.run()
			assert.Less(t, apart(r.predicted(), prediction.V), 2e-5, "the prediction of %+v", c.Layers)
			for at, got := range r.gradients() {
				want := m.params[at].G
				if bias, ok := splitBias(at, want); ok {
					want, got = bias(want), bias(got)
				}
				assert.Less(t, apart(got, want), 2e-4, "%s of %+v", at, c.Layers)
			}
		})
	}
	t.Log(are, refused)
	assert.Greater(t, are, 75)
}
