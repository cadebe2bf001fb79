package summary

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/filetest"
)

// golden is what numpy computes: scripts/gen_summary_golden.py.
type golden struct {
	Cases []struct {
		DType         string
		Scale, Offset float64
		Width, Rows   int
		Seed          uint64
		Block         columnsOf
	}
	Images []struct {
		Scale, Offset float64
		Rows          int
		Seed          uint64
		Levels        columnsOf
	}
}

type columnsOf struct {
	Min, Max, Mean, Std []float64
	Quantiles           [][len(Quantiles)]float64
}

func (c columnsOf) list() []Column {
	out := make([]Column, len(c.Min))
	for i := range out {
		out[i] = Column{c.Min[i], c.Max[i], c.Mean[i], c.Std[i], c.Quantiles[i]}
	}
	return out
}

func load(t *testing.T) (g golden) {
	text := filetest.Read(t, "testdata/numpy.json")
	require.NoError(t, json.Unmarshal(text, &g))
	require.Greater(t, len(g.Cases), 100)
	return g
}

// draw repeats the script's generator.
func draw(n int, seed uint64, scale, offset float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		seed = seed*6364136223846793005 + 1442695040888963407
		out[i] = float64(float64(seed>>40)/(1<<24)*scale) + offset
	}
	return out
}

func narrow(list []float64) []float32 {
	out := make([]float32, len(list))
	for i, v := range list {
		out[i] = float32(v)
	}
	return out
}

func TestBlockHasTheBitsOfNumpy(t *testing.T) {
	for _, c := range load(t).Cases {
		x := draw(c.Rows*c.Width, c.Seed, c.Scale, c.Offset)
		var got []Column
		switch c.DType {
		case "float32":
			got = Block(narrow(x), c.Width)
		case "int64":
			for i := range x {
				x[i] = math.Trunc(x[i])
			}
			got = Block(x, c.Width)
		default:
			got = Block(x, c.Width)
		}
		assert.Equal(t, c.Block.list(), got, fmt.Sprintf("%s scale=%g offset=%g rows=%d width=%d", c.DType, c.Scale, c.Offset, c.Rows, c.Width))
	}
}

func TestPixelsAreCountedNotAdded(t *testing.T) {
	for _, c := range load(t).Images {
		var a, b Levels
		for i, v := range draw(c.Rows, c.Seed, c.Scale, c.Offset) {
			if i%2 == 0 {
				a[uint8(v)]++
			} else {
				b[uint8(v)]++
			}
		}
		a.Merge(&b)
		got, want := a.Column(), c.Levels.list()[0]
		assert.InDelta(t, want.Mean, got.Mean, 1e-15)
		assert.InDelta(t, want.Std, got.Std, 1e-14)
		want.Mean, want.Std = got.Mean, got.Std
		if c.Rows == 1 {
			want.Quantiles = got.Quantiles
			assert.Equal(t, got.Mean, got.Quantiles[4])
		}
		assert.Equal(t, want, got)
	}
}

// TestANarrowRangeInFloat32 has edges that collapse, as there are fewer numbers between the ends than bins.
func TestANarrowRangeInFloat32(t *testing.T) {
	x := []float32{1, math.Nextafter32(1, 2), 1, math.Nextafter32(1, 2)}
	c := Block(x, 1)[0]
	for _, q := range c.Quantiles {
		assert.True(t, q >= 1 && q <= float64(x[1]))
	}
	tiny := Block([]float32{0, math.SmallestNonzeroFloat32}, 1)[0]
	assert.LessOrEqual(t, tiny.Quantiles[4], 1.1e-10)
}

// TestAValueIsInTheLastBinThatItReaches has the edges themselves and their neighbours, where a rounded quotient is often one off.
func TestAValueIsInTheLastBinThatItReaches(t *testing.T) {
	for _, r := range [][2]float32{{0, 1}, {-1, 1}, {0.1, 0.7}, {1000, 1001}, {-3e-5, 7e-5}, {1, 1.0001}, {-1e30, 1e30}} {
		h := newHistogram(r[0], r[1])
		for i := range Bins {
			edge := h.edge(i)
			for _, v := range []float32{math.Nextafter32(edge, -math.MaxFloat32), edge, math.Nextafter32(edge, math.MaxFloat32)} {
				if v < h.start || v > h.stop {
					continue
				}
				b := h.bin(v)
				require.True(t, h.edge(b) <= v && (b == Bins-1 || v < h.edge(b+1)), "%v in %v: bin %d", v, r, b)
			}
		}
	}
}

// TestAQuickBinIsTheRightOne compares with the definitions, where steps are so small that their inverse is infinite, or cannot be told from values.
func TestAQuickBinIsTheRightOne(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, scale := range []float64{0, 1e-320, 1e-300, 1e-12, 1e-9, 1e-3, 1, 1e9, 1e300} {
		for _, offset := range []float64{0, 1, -1e6} {
			values := make([]float64, 300)
			for i := range values {
				values[i] = offset + scale*math.Pow(rng.Float64(), 3)
			}
			h := newHistogram(extremes(values))
			for _, v := range values {
				want := max(0, sort.Search(Bins, func(i int) bool { return h.edge(i) > v })-1)
				assert.Equal(t, want, h.bin(v), "%g of %g and %g", v, offset, scale)
				h.add(v, 1)
			}
			for k, got := range h.quantiles() {
				below, i := uint64(0), 0
				for ; i < Bins-1 && float64(below+h.counts[i]) < Quantiles[k]*300; i++ {
					below += h.counts[i]
				}
				assert.True(t, got >= h.edge(i) && got <= h.edge(i+1), "%g is in bin %d", got, i)
			}
		}
	}
}
