package cuda

import (
	"encoding/binary"
	"math"
	"math/bits"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

func TestItemsAreSorted(t *testing.T) {
	type item struct {
		number        uint64
		feature, kind uint32
	}
	data, s := itemTable([]ops.Channel{
		{Lo: 0, Hi: 2, Kind: ops.Pchip}, {Lo: 2, Hi: 4, Kind: ops.Next}, {Lo: 4, Hi: 12, Kind: ops.Slerp}, {Lo: 12, Hi: 13, Kind: ops.Angle, Period: 360},
		{Lo: 13, Hi: 14}, {Lo: 14, Hi: 18, Kind: ops.Hermite}, {Lo: 18, Hi: 19, Kind: ops.WindowMax, Window: ops.Within(time.Second)},
	}, tensor.I64)
	var got []item
	for ; len(data) > 0; data = data[16:] {
		got = append(got, item{binary.LittleEndian.Uint64(data), binary.LittleEndian.Uint32(data[8:]), binary.LittleEndian.Uint32(data[12:])})
	}
	kind := func(k ops.Kind) uint32 { return uint32(k) }
	assert.Equal(t, []item{
		{0, 4, kind(ops.Slerp)}, {0, 8, kind(ops.Slerp)},
		{0, 13, kind(ops.Linear)}, {0, 2, kind(ops.Next)}, {0, 3, kind(ops.Next)},
		{math.Float64bits(360), 12, kind(ops.Angle)},
		{0, 0, kind(ops.Pchip)}, {0, 1, kind(ops.Pchip)}, {2, 14, kind(ops.Hermite)}, {2, 15, kind(ops.Hermite)}, {1e9, 18, kind(ops.WindowMax)},
	}, got)
	assert.Equal(t, itemSorts{of: [...]int{slerps: 2, moved: 3, angles: 1, cubics: 4, others: 1}, beside: true}, s)
	assert.Equal(t, 11, s.items())
}

// The kernel divides by what halves tells: by 1 not at all.
func TestItemsAreDividedExactly(t *testing.T) {
	for _, n := range []int{1, 2, 3, 6, 7, 31, 32, 33, 1000, 100000} {
		s := itemSorts{of: [...]int{moved: n, angles: n + 1, cubics: n + 2, others: 2*n - 1}, beside: n > 7}
		h := s.halves(13)
		assert.Equal(t, []uint32{13, 0}, []uint32{h[9] >> 20 & 31, h[9] >> 25 & 63})
		assert.Equal(t, n > 7, h[9]>>31 == 1)
		for i, by := range h[1:5] {
			for _, x := range []uint32{0, 1, by - 1, by, by + 1, 127 * by, 128*by - 1} {
				got := x
				if h[5+i] != 0 {
					hi, _ := bits.Mul32(x, h[5+i])
					got = hi >> (h[9] >> (5 * i) & 31)
				}
				assert.Equal(t, x/by, got, "%d / %d", x, by)
			}
		}
	}
}
