package cuda

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// Blocks of odd rows and of runs, of all widths: what a block divides it divides exactly, and what its threads keep of their rows fits its shared memory.
func TestOddRowsAreCutExactly(t *testing.T) {
	for _, sms := range []int{1, 132} {
		b := &backend{sms: sms}
		for d := 1; d < 3000; d += 1 + d/256 {
			for i, dtype := range []tensor.DType{tensor.BF16, tensor.F32} {
				j := resample(dtype, 1, 1+d%5*100, 1<<(d%24)+1, d, []ops.ResampleOptions{{}, early}[(d+i)%2])
				for _, v := range []*variant{fuseOdd, resampleRun} {
					if v.takes(b, j) != "" {
						continue
					}
					s := v.cut(b, j, v.model(b, j))[0]
					what := fmt.Sprintf("%s, %d features of %v: %+v", v.name, d, dtype, s)
					fits(t, v, s, d, what)
					if form, _ := oddForm(d, layoutsOf(j)[0]); v == fuseOdd && form == ptx.OddOwn {
						require.LessOrEqual(t, 2*d*s.tile, 8*ptx.MostTile, what)
					}
				}
			}
		}
	}
	// The widest runs.
	for d := narrowRun; d <= widestRun; d += 1 + d/64 {
		j := resample(tensor.F16, 1, 10, 64_000, d, ops.ResampleOptions{})
		fits(t, resampleRun, resampleRun.cut(h100(), j, resampleRun.model(h100(), j))[0], d, fmt.Sprint(d))
	}
	assert.Empty(t, resampleRun.takes(h100(), resample(tensor.F16, 1, 10, 5, widestRun, ops.ResampleOptions{})))
	assert.NotEmpty(t, resampleRun.takes(h100(), resample(tensor.F16, 1, 10, 5, widestRun+1, ops.ResampleOptions{})))
}

// Units of rows that are far apart are made in one turn, where there are blocks enough; others in as many as fit.
func TestUnitsFarApartAreMadeInOneTurn(t *testing.T) {
	const most, once = 39 * 132 * oddBlocks, 39
	for _, c := range []struct{ s, n, tile int }{{10, 1 << 20, 157}, {3<<20 - 2, 1 << 20, once}, {3*most - 2, most, once}, {3*most - 6, most - 1, 157}} {
		j := resample(tensor.BF16, 1, c.s, c.n, 26, ops.ResampleOptions{})
		assert.Equal(t, c.tile, fuseOdd.cut(h100(), j, tuned.Choice{Tile: ptx.MostTile, Check: checkShare})[0].tile, "%+v", c)
	}
}
