package summary

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// copied writes a state and reads it.
func copied(t testing.TB, x *Exact) *Exact {
	t.Helper()
	b := x.AppendBinary([]byte{7})
	y, rest, err := ReadExact(append(b, 1, 2, 3)[1:])
	require.NoError(t, err)
	require.Equal(t, []byte{1, 2, 3}, rest)
	require.Equal(t, b[1:], y.AppendBinary(nil))
	return y
}

// sharded adds rows in shards, whose states are written, read and merged after each pass.
func sharded[T Float](t testing.TB, rows []T, width, shards int, add func(*Exact, []T)) []ExactColumn {
	var zero T
	_, wide := any(zero).(float64)
	all := NewExact(width, wide, shares)
	for more := true; more; {
		var parts []*Exact
		for s := range shards {
			x := copied(t, all)
			for i := s * width; i < len(rows); i += shards * width {
				add(x, rows[i:i+width])
			}
			parts = append(parts, copied(t, x))
		}
		all = parts[len(parts)-1]
		for _, p := range parts[:len(parts)-1] {
			require.NoError(t, all.Merge(p))
		}
		var err error
		more, err = all.Next()
		require.NoError(t, err)
	}
	return copied(t, all).Columns()
}

func TestShardsTogetherHaveTheBitsOfAll(t *testing.T) {
	for _, n := range []int{1, 2, 37, 300} {
		rows, width := generated[float32](n)
		doubles, _ := generated[float64](n)
		for _, shards := range []int{1, 2, 5} {
			narrow, wide := sharded(t, rows, width, shards, (*Exact).Add32), sharded(t, doubles, width, shards, (*Exact).Add64)
			for c := range width {
				sameColumn(t, wanted(rows, width, c), narrow[c], "float32", n, shards, c)
				sameColumn(t, wanted(doubles, width, c), wide[c], "float64", n, shards, c)
			}
		}
	}
}

func TestShardsOfManyValuesInABin(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	doubles := make([]float64, listed+5000)
	for i := range doubles {
		doubles[i] = -1 - r.Float64()/(1<<18)
	}
	sameQuantiles(t, doubles, sharded(t, doubles, 1, 2, (*Exact).Add64)[0])
}

func TestAPassOverOtherRowsIsAnError(t *testing.T) {
	rows, width := generated[float32](100)
	first := func() *Exact {
		x := NewExact(width, false, shares)
		x.Add32(rows)
		more, err := x.Next()
		require.NoError(t, err)
		require.True(t, more)
		return x
	}
	for name, again := range map[string][]float32{"fewer": rows[:len(rows)-2*width], "more": append(rows[:len(rows):len(rows)], rows[:2*width]...)} {
		x := first()
		x.Add32(again)
		_, err := x.Next()
		assert.ErrorIs(t, err, ErrChanged, name)
	}
	x, y := first(), first()
	x.Add32(rows)
	y.Add32(rows)
	assert.ErrorIs(t, x.Merge(y), ErrChanged, "a shard twice")
	assert.ErrorIs(t, first().Merge(NewExact(width, false, shares)), ErrUnlike, "another pass")
	assert.ErrorIs(t, NewExact(width, false, shares).Merge(NewExact(width, true, shares)), ErrUnlike, "another type")
	other := NewExact(width, false, shares)
	other.Add32(rows[:50*width])
	_, err := other.Next()
	require.NoError(t, err)
	assert.ErrorIs(t, first().Merge(other), ErrUnlike, "of another first pass")
}

func TestBrokenStatesAreErrors(t *testing.T) {
	all, columns := generated[float64](40)
	const width = 3 // numbers that are normal, a constant and others not finite
	var rows []float64
	for i := range 40 {
		rows = append(rows, all[i*columns], all[i*columns+3], all[i*columns+6])
	}
	x := NewExact(width, true, shares)
	for pass := range 3 {
		b := x.AppendBinary(nil)
		for cut := 0; cut < len(b); cut += 1 + len(b)/300 {
			_, _, err := ReadExact(b[:cut])
			require.ErrorIs(t, err, ErrState, "%d of %d bytes", cut, len(b))
		}
		r := rand.New(rand.NewPCG(7, uint64(pass)))
		for range 500 { // a changed byte is an error or another state, which can be used
			c := append([]byte{}, b...)
			c[r.IntN(len(c))] = byte(r.Uint32())
			y, _, err := ReadExact(c)
			if err != nil {
				require.ErrorIs(t, err, ErrState)
				continue
			}
			require.NotPanics(t, func() {
				if y.width == width && y.wide {
					y.Add64(rows)
				}
				if more, err := y.Next(); err == nil && !more {
					y.Columns()
				}
			})
		}
		x.Add64(rows)
		if _, err := x.Next(); err != nil {
			t.Fatal(err)
		}
	}
}
