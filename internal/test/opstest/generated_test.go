package opstest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
)

// TestSampleHoldsEveryCombinationOfTwo checks that the random cases cover every combination of two properties.
func TestSampleHoldsEveryCombinationOfTwo(t *testing.T) {
	seen := map[string]int{}
	note := func(format string, args ...any) { seen[fmt.Sprintf(format, args...)]++ }
	faults := 0
	for number := range 12 * round {
		c := drawResample(number)[0].operation.(*resampling)
		b, s, n, d := c.dims()
		kinds := []ops.Interp{c.Opts.Interp}
		for _, ch := range c.Opts.Channels {
			kinds = append(kinds, ch.Interp)
		}
		for _, k := range kinds {
			note("%v %v", k, c.Opts.Edge)
			note("%v in %v", k, c.Src.dtype)
			note("%v out %v", k, c.out())
			note("%v clock %v", k, c.Times.dtype)
		}
		note("D %d", d)
		note("rows %v", b > 1)
		if c.SrcOffsets == nil {
			note("S %d", s)
		}
		if c.DstOffsets == nil {
			note("T %d", n)
		}
		form := "uniform"
		if c.Targets != nil {
			form = fmt.Sprint("rank ", len(c.Targets.shape))
		}
		note("%v, targets %v", c.Times.dtype, form)
		note("source lengths %v offsets %v, target lengths %v offsets %v", c.SrcLengths != nil, c.SrcOffsets != nil, c.DstLengths != nil, c.DstOffsets != nil)
		if solve(c).err != nil {
			faults++
		}
	}
	want := func(format string, args ...any) {
		assert.NotZero(t, seen[fmt.Sprintf(format, args...)], "the sample has none of: "+format, args)
	}
	for _, k := range ops.Interps() {
		for e := ops.EdgeClamp; e <= ops.EdgeExtrapolate; e++ {
			want("%v %v", k, e)
		}
		for _, dtype := range valueDTypes {
			want("%v in %v", k, dtype)
			want("%v out %v", k, dtype)
		}
		for _, clock := range clockDTypes {
			want("%v clock %v", k, clock)
		}
	}
	for _, d := range widths {
		want("D %d", d)
	}
	for _, n := range lengths {
		want("S %d", n)
		want("T %d", n)
	}
	for _, clock := range clockDTypes {
		for _, form := range []string{"uniform", "rank 1", "rank 2"} {
			want("%v, targets %v", clock, form)
		}
	}
	for _, src := range []string{"lengths false offsets false", "lengths true offsets false", "lengths false offsets true"} {
		for _, dst := range []string{"lengths false offsets false", "lengths true offsets false", "lengths false offsets true"} {
			want("source %s, target %s", src, dst)
		}
	}
	assert.NotZero(t, faults, "cases that are errors")
	assert.Less(t, faults, 50, "cases that are errors and show nothing else")
}
