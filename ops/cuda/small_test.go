package cuda

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// Which launches are small: those of few blocks by themselves, of jobs that small.cuh takes.
func TestWhatIsASmallLaunch(t *testing.T) {
	b := h100()
	const once = warp * chunk / 8 // timestamps that a block checks
	shared := func(a *ops.ResampleArgs) { a.SrcTimes = place(tensor.I64, a.Src.Shape()[1]) }
	odd := func(a *ops.ResampleArgs) { a.SrcTimes = tensor.Must(place(tensor.I64, 5).Slice(0, 1, 5)) }
	for _, c := range []struct {
		what           string
		s, n, units    int
		opts           ops.ResampleOptions
		change         func(*ops.ResampleArgs)
		supports, want bool
	}{
		{"the smallest", 4, 2, 1, ops.ResampleOptions{}, shared, true, true},
		{"as many units as a block makes", 4, 2, 128, ops.ResampleOptions{}, shared, true, true},
		{"one more", 4, 2, 129, ops.ResampleOptions{}, shared, false, false},
		{"rows of three samples", 3, 2, 1, ops.ResampleOptions{}, shared, false, false},
		{"one target a row", 4, 1, 1, ops.ResampleOptions{}, shared, false, false},
		{"another kind", 4, 2, 1, nearest, shared, false, false},
		{"timestamps that are not aligned", 4, 2, 1, ops.ResampleOptions{}, odd, false, false},
		{"inputs ready", 4, 2, 1, early, shared, true, false},
		{"as many units as the device holds", 4, ptx.SmallBlocks * 128 * 132, 1, ops.ResampleOptions{}, shared, true, true},
		{"one more", 4, ptx.SmallBlocks*128*132 + 1, 1, ops.ResampleOptions{}, shared, true, false},
		{"as many timestamps", ptx.SmallBlocks * 132 * once, 2, 1, ops.ResampleOptions{}, shared, true, true},
		{"one more", ptx.SmallBlocks*132*once + 1, 2, 1, ops.ResampleOptions{}, shared, true, false},
		{"which are trusted", ptx.SmallBlocks*132*once + 1, 2, 1, ops.ResampleOptions{TrustTimes: true}, shared, true, true},
	} {
		j := resample(tensor.BF16, 1, c.s, c.n, 8*c.units, c.opts, c.change)
		assert.Equal(t, c.supports, resampleSmall.supports(b, j) == "", c.what)
		assert.Equal(t, c.want, resampleSmall.whyNot(b, j) == "", c.what)
	}
	// In a fusion all streams count together, and all are small or none.
	two := func(s, n int) *backend.FuseJob {
		one := ops.FuseStream{Src: place(tensor.F32, 3, s, 4), SrcTimes: place(tensor.I64, s)}
		return fuse(tensor.F32, n, ops.FuseOptions{}, one, one)
	}
	const units, checks = ptx.SmallFuseBlocks * 128 * 132 / 3 / 2, ptx.SmallFuseBlocks * 132 * once / 2
	for _, c := range []struct {
		j    *backend.FuseJob
		want bool
	}{{two(4, units), true}, {two(4, units+1), false}, {two(checks, 2), true}, {two(checks+1, 2), false}, {two(3, 2), false},
		{fuse(tensor.F32, 2, ops.FuseOptions{}, rowsOf(tensor.F32, 4, ops.ResampleOptions{}), rowsOf(tensor.F32, 4, nearest)), false}} {
		assert.Equal(t, c.want, fuseSmall.whyNot(b, c.j) == "", "%v onto %d", c.j.Parts[0].S, c.j.T)
	}
	// A thread of one warp checks 16 bytes, whatever share is chosen.
	long := resample(tensor.F32, 2, 5000, 5, 4, ops.ResampleOptions{})
	for _, policy := range resampleSmall.tunable.All("") {
		assert.GreaterOrEqual(t, resampleSmall.configure(b, long, policy)[0].blocks*once, 10_000, policy)
	}
}
