package cuda

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/internal/tuned"
	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

// As TestBlocksFitTheKernels, for unaligned rows of all widths.
func TestUnalignedRowsAreDividedExactly(t *testing.T) {
	for _, sms := range []int{1, 132} {
		b := &gpu{sms: sms}
		for d := 1; d < 3000; d += 1 + d/256 {
			for i, dtype := range []tensor.DType{tensor.BF16, tensor.F32} {
				j := resample(dtype, 1, 1+d%5*100, 1<<(d%24)+1, d, []ops.ResampleOptions{{}, early}[(d+i)%2])
				for _, v := range []*variant{fuseUnaligned, resampleUnaligned} {
					if v.supports(b, j) != "" {
						continue
					}
					fits(t, b, v, j, v.heuristic(b, j), fmt.Sprintf("%s, %d features of %v", v.name, d, dtype))
				}
			}
		}
	}
	for d := minUnalignedRow; d <= maxUnalignedRow; d += 1 + d/64 {
		j := resample(tensor.F16, 1, 10, 64_000, d, ops.ResampleOptions{})
		fits(t, h100(), resampleUnaligned, j, resampleUnaligned.heuristic(h100(), j), fmt.Sprint(d))
	}
	assert.Empty(t, resampleUnaligned.supports(h100(), resample(tensor.F16, 1, 10, 5, maxUnalignedRow, ops.ResampleOptions{})))
	assert.NotEmpty(t, resampleUnaligned.supports(h100(), resample(tensor.F16, 1, 10, 5, maxUnalignedRow+1, ops.ResampleOptions{})))
}

// Units of rows that are far apart are made in one turn, where there are blocks enough; others in as many as fit.
func TestUnitsFarApartAreMadeInOneTurn(t *testing.T) {
	const most, once = 39 * 132 * smallTileBlocks, 39
	for _, c := range []struct{ s, n, tile int }{{10, 1 << 20, 157}, {3<<20 - 2, 1 << 20, once}, {3*most - 2, most, once}, {3*most - 6, most - 1, 157}} {
		j := resample(tensor.BF16, 1, c.s, c.n, 26, ops.ResampleOptions{})
		assert.Equal(t, c.tile, fuseUnaligned.configure(h100(), j, tuned.Policy{Tile: ptx.MaxTile, Check: checkPerBlock})[0].tile, "%+v", c)
	}
}
