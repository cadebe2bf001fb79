package nntest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/tensor"
)

func init() { groups = append(groups, group{"embed", embed}) }

func embed(t *testing.T, b *Bench) {
	for i, c := range []struct {
		items, t, n, v  int
		position, table bool
	}{{3, 7, 32, 5, true, true}, {1, 1, 16, 1, false, true}, {4, 50, 48, 3, true, false}, {5, 33, 144, 4, false, true}, {70, 3, 16, 9, true, true}, {70, 33, 48, 3, true, true}} {
		b.Case(t, fmt.Sprintf("%dx%d", c.items*c.t, c.n), func(t *testing.T) {
			var position, table, g, id []float64
			rows := c.items * c.t
			got := b.Same(t, uint64(i), func(m *Maker) (backend.Plan, error) {
				position, table, id = m.normal(c.t*c.n, 1, 0), m.normal(c.v*c.n, 1, 0), m.ids(c.items, c.v)
				j := &backend.EmbedJob{M: rows, N: c.n, T: c.t, V: c.v, Out: m.Out("out", tensor.F32, rows, c.n)}
				if c.position {
					j.Position = m.Of(tensor.F32, position, c.t, c.n)
				}
				if c.table {
					j.Table, j.ID = m.Of(tensor.F32, table, c.v, c.n), m.Of(tensor.I32, id, c.items)
				}
				return m.NN().Embed(j)
			})
			want := make([]float64, rows*c.n)
			for m := range want {
				if row, column := m/c.n, m%c.n; c.position {
					want[m] = position[row%c.t*c.n+column]
				}
				if row, column := m/c.n, m%c.n; c.table {
					want[m] = float64(float32(want[m] + table[int(id[row/c.t])*c.n+column]))
				}
			}
			assert.Equal(t, want, got["out"])
			if !c.table {
				return
			}
			got = b.Same(t, uint64(i), func(m *Maker) (backend.Plan, error) {
				g, id = m.normal(rows*c.n, 1, 0), m.ids(c.items, c.v)
				return m.NN().Embed(&backend.EmbedJob{M: rows, N: c.n, T: c.t, V: c.v, ID: m.Of(tensor.I32, id, c.items), Backward: true,
					G: m.Of(tensor.F32, g, rows, c.n), DTable: m.Out("dtable", tensor.F32, c.v, c.n)})
			})
			want = make([]float64, c.v*c.n)
			for m, x := range g {
				want[int(id[m/c.n/c.t])*c.n+m%c.n] += x
			}
			Within(t, "dtable", got["dtable"], want, func(int) float64 { return 1e-3 })
		})
	}
	b.Case(t, "no such number", func(t *testing.T) {
		for _, id := range []float64{-1, 3} {
			got, err := b.Do(t, 1, func(m *Maker) (backend.Plan, error) {
				return m.NN().Embed(&backend.EmbedJob{M: 4, N: 16, T: 2, V: 3, Table: m.Of(tensor.F32, repeated(1, 48), 3, 16), ID: m.Of(tensor.I32, []float64{2, id}, 2),
					Out: m.Out("out", tensor.F32, 4, 16)})
			})
			var e *backend.ValueError
			require.True(t, errors.As(err, &e), "%v", err)
			assert.Equal(t, backend.ValueError{Op: "Embed", Arg: "ID", Row: 1, Kind: backend.ErrNumber}, *e)
			assert.Equal(t, append(repeated(1, 32), repeated(0, 32)...), got["out"])
		}
	})
}

// ids draws count numbers from 0 to n-2, so that the last ID is never drawn; if n is 1, all are 0.
func (m *Maker) ids(count, n int) []float64 {
	list := make([]float64, count)
	for i := range list {
		list[i] = float64(m.rng.IntN(max(n-1, 1)))
	}
	return list
}
