package loader_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/align"
	"github.com/robocache/robocache/internal/clocks"
	"github.com/robocache/robocache/loader"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// A window with single times equals Fuse over the whole recording at these times, in their order. Streams share a launch if their times
// differ by a constant.
func TestAWindowWithSingleTimesEqualsFuse(t *testing.T) {
	ctx := context.Background()
	at := []time.Duration{0, -300 * time.Millisecond, -107 * time.Millisecond, 100 * time.Millisecond, -300 * time.Millisecond}
	later := slices.Clone(at)
	for i := range later {
		later[i] += 40 * time.Millisecond
	}
	m := recordings(t)
	for _, backend := range []string{"cpu", "sim"} {
		p := plan()
		p.Streams[0].Normalise = ""
		p.Streams[2].DType = 0
		p.Windows = map[string]align.Window{"state": {At: at}, "action": {At: later}}
		l := load(t, backend, m, p, loader.Options{Batch: 8, Seed: 3})
		require.NoError(t, l.Next(ctx))
		b, err := l.Batch().Host(ctx)
		require.NoError(t, err)
		assert.False(t, l.Batch().Stream("state").Values.IsContiguous(), "action is next to it")
		host := open(t, "cpu")
		for row, e := range data[int64](t, b.Episodes) {
			for k, name := range []string{"state", "action"} {
				targets := make([]int64, len(at))
				for i := range targets {
					targets[i] = data[int64](t, b.Anchors)[row] + int64([][]time.Duration{at, later}[k][i])
				}
				want, err := align.Fuse(ctx, host, m[l.EpisodeOf(e)], align.Plan{Targets: tensor.Must(tensor.Of(targets, len(targets))), Snap: ops.Within(clocks.Snap), Streams: []align.Stream{{Name: name}}})
				require.NoError(t, err)
				s := b.Stream(name)
				got, err := tensor.Floats(s.Values)
				require.NoError(t, err)
				made, err := tensor.Floats(want.Values)
				require.NoError(t, err)
				assert.Equal(t, made, got[row*len(made):(row+1)*len(made)], name)
				assert.Equal(t, data[uint8](t, want.Valid), data[uint8](t, s.Valid)[row*5:row*5+5])
				assert.Equal(t, data[uint8](t, want.Pad), data[uint8](t, s.Pad)[row*5:row*5+5])
			}
		}
		_, shown, err := l.Window(ctx, inMemory(t, m), b, 0, "state")
		require.NoError(t, err)
		assert.Equal(t, 5, shown.Len(), "also for a plot")
	}
}
