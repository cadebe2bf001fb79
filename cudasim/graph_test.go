package cudasim_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/cudadrv"
	"github.com/robocache/robocache/cudasim"
	"github.com/robocache/robocache/internal/test/gputest"
)

// With a seed the nodes of a graph run in every order that its edges allow, and in no other: a test sees an edge that is missing.
func TestASeedDrawsTheOrderOfAGraphsNodes(t *testing.T) {
	ctx := context.Background()
	// results launches a graph in which two streams set a byte, ordered by an event or not, and counts what is there in the end.
	results := func(t *testing.T, seed uint64, ordered bool) map[byte]int {
		gputest.Simulate(t, cudasim.Config{Seed: seed})
		c := gputest.Context(t)
		m, err := c.Malloc(ctx, 1)
		require.NoError(t, err)
		var s [2]*cudadrv.Stream
		var e [3]*cudadrv.Event
		for i := range s {
			s[i], err = c.NewStream(cudadrv.StreamOptions{})
			require.NoError(t, err)
		}
		for i := range e {
			e[i], err = c.NewEvent(cudadrv.EventOptions{})
			require.NoError(t, err)
		}
		g, err := s[0].Capture(func(*cudadrv.Stream) error {
			err := errors.Join(s[0].Record(e[0]), s[1].WaitEvent(e[0]), s[0].Memset8(m.Ptr(), 1, 1), s[0].Record(e[1]))
			if ordered {
				err = errors.Join(err, s[1].WaitEvent(e[1]))
			}
			return errors.Join(err, s[1].Memset8(m.Ptr(), 2, 1), s[1].Record(e[2]), s[0].WaitEvent(e[2]))
		})
		require.NoError(t, err)
		x, err := g.Instantiate()
		require.NoError(t, err)
		seen := map[byte]int{}
		for range 40 {
			require.NoError(t, x.Launch(s[0]))
			require.NoError(t, s[0].Synchronize(ctx))
			var got [1]byte
			require.NoError(t, c.CopyToHost(ctx, got[:], m.Ptr()))
			seen[got[0]]++
		}
		require.NoError(t, errors.Join(x.Close(), g.Close(), m.Close(), s[0].Close(), s[1].Close(), e[0].Close(), e[1].Close(), e[2].Close()))
		return seen
	}
	assert.Equal(t, map[byte]int{2: 40}, results(t, 0, false), "without a seed in the order of the capture")
	assert.Len(t, results(t, 1, false), 2)
	assert.Equal(t, map[byte]int{2: 40}, results(t, 1, true))
}
