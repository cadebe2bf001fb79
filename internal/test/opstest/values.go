package opstest

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

// badValues tests that errors in values are found when the work runs. If there are several, the first by class, row and index is
// returned. The stream must work afterwards.
func (s *suite) badValues(t *testing.T) {
	src := vals(tensor.F32, make([]float64, 12), 2, 3, 2)
	good, back := []int64{0, 1, 2, 0, 1, 2}, []int64{0, 1, 2, 0, 2, 1}
	packedSrc := vals(tensor.F32, make([]float64, 12), 6, 2)
	c := func(name string, times []int64, edit func(*resampling)) *resampling {
		c := &resampling{Name: name, Src: src, Times: arr(times, 2, 3), Targets: arr([]int64{0, 1, 2, 1}, 2, 2)}
		edit(c)
		return c
	}
	pack := func(offsets ...int64) func(*resampling) {
		return func(c *resampling) {
			c.Src, c.Times, c.SrcOffsets = packedSrc, arr([]int64{0, 1, 2, 3, 4, 5}, 6), arr(offsets, len(offsets))
		}
	}
	cases := []*resampling{
		c("unsorted in the second row", back, func(*resampling) {}),
		c("two unsorted rows", []int64{0, 2, 1, 2, 1, 0}, func(*resampling) {}),
		c("unsorted beyond the length", back, func(c *resampling) { c.SrcLengths = arr([]int64{3, 2}, 2) }),
		c("length too long", good, func(c *resampling) { c.SrcLengths = arr([]int64{3, 4}, 2) }),
		c("length negative, and unsorted", []int64{2, 1, 0, 0, 0, 0}, func(c *resampling) { c.SrcLengths = arr([]int64{3, -1}, 2) }),
		c("length 0 with targets", good, func(c *resampling) { c.SrcLengths = arr([]int64{3, 0}, 2) }),
		c("length 0 without targets", good, func(c *resampling) { c.SrcLengths, c.DstLengths = arr([]int64{3, 0}, 2), arr([]int64{2, 0}, 2) }),
		c("target length too long", good, func(c *resampling) { c.DstLengths = arr([]int64{3, 2}, 2) }),
		c("target length negative", good, func(c *resampling) { c.DstLengths = arr([]int64{1, math.MinInt64}, 2) }),
		c("offsets that do not begin at 0", good, pack(1, 3, 6)),
		c("offsets that end early", good, pack(0, 3, 5)),
		c("offsets that end late", good, pack(0, 3, 7)),
		c("offsets that go back", good, pack(0, 4, 3, 6)),
		c("an offset far outside", good, pack(0, math.MaxInt64, 6)),
		c("a packed row without samples", good, pack(0, 6, 6)),
		c("packed rows, the second unsorted", good, func(c *resampling) { pack(0, 2, 6)(c); c.Times = arr([]int64{5, 6, 1, 3, 2, 9}, 6) }),
		c("packed rows that go back between rows", good, func(c *resampling) { pack(0, 2, 6)(c); c.Times = arr([]int64{5, 6, 0, 1, 2, 3}, 6) }),
		c("target out of range", good, func(c *resampling) { c.Targets = arr([]int64{0, 2, 1, 3}, 2, 2); c.Opts.Edge = ops.EdgeError }),
		c("targets out of range in both rows", good, func(c *resampling) { c.Targets = arr([]int64{0, -1, 9, 3}, 2, 2); c.Opts.Edge = ops.EdgeError }),
		c("target out of range beyond the length", good, func(c *resampling) {
			c.Targets, c.DstLengths, c.Opts.Edge = arr([]int64{0, 9, 1, 9}, 2, 2), arr([]int64{1, 1}, 2), ops.EdgeError
		}),
		c("target beyond 2^62", good, func(c *resampling) { c.Targets = arr([]int64{0, 1, 1<<62 + 1, 0}, 2, 2) }),
		c("target at 2^62", good, func(c *resampling) { c.Targets = arr([]int64{1 << 62, -1 << 62, 0, 0}, 2, 2) }),
		c("unsorted, and a target out of range", back, func(c *resampling) { c.Targets = arr([]int64{-9, 9, 0, 0}, 2, 2); c.Opts.Edge = ops.EdgeError }),
		c("trusted target beyond 2^62", good, func(c *resampling) { c.Targets = arr([]int64{0, 1, 1<<62 + 1, 0}, 2, 2); c.Opts.TrustTimes = true }),
	}
	cases[12].Targets = arr(make([]int64, 6), 3, 2)
	cases = append(cases, noRows()...)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) { s.check(t, c, layouts...) })
	}
	t.Run("trusted bad times write nothing else", func(t *testing.T) {
		for _, times := range [][]int64{back, {math.MaxInt64, math.MinInt64, 0, 5, -5, math.MaxInt64}, {9, 8, 7, 6, 5, 4}} {
			for _, n := range []int64{math.MinInt64, -1, 0, 3, 4, math.MaxInt64} {
				c := c("", times, func(c *resampling) {
					c.SrcLengths, c.DstLengths, c.Opts.TrustTimes = arr([]int64{n, 3}, 2), arr([]int64{2, n}, 2), true
				})
				_, err := planned(s.dev, c, layouts[1], ops.LaunchDefault, 1)
				assert.NoError(t, err)
				c = &resampling{Src: packedSrc, Times: arr(times, 6), SrcOffsets: arr([]int64{n, 3, n}, 3), Targets: arr([]int64{0, 1, 2, 1}, 4), DstOffsets: arr([]int64{0, n, 4}, 3), Opts: ops.ResampleOptions{TrustTimes: true}}
				_, err = planned(s.dev, c, layouts[1], ops.LaunchDefault, 1)
				assert.NoError(t, err)
			}
		}
		require.NoError(t, s.dev.Synchronize(context.Background()))
	})
}
