package cuda

import (
	"encoding/binary"
	"math"
	"math/bits"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/ops/backend"
	"github.com/robocache/robocache/ptx"
	"github.com/robocache/robocache/tensor"
)

func TestItemsAreSorted(t *testing.T) {
	channels := []backend.Channel{
		{Lo: 0, Hi: 2, Interp: ops.InterpPchip}, {Lo: 2, Hi: 4, Interp: ops.InterpNext}, {Lo: 4, Hi: 12, Interp: ops.InterpSlerp}, {Lo: 12, Hi: 13, Interp: ops.InterpAngle, Period: 360},
		{Lo: 13, Hi: 14}, {Lo: 14, Hi: 18, Interp: ops.InterpHermite}, {Lo: 18, Hi: 19, Interp: ops.InterpWindowMax, Window: ops.Within(time.Second)},
	}
	var got []ptx.Item
	for data := itemTable(&backend.ResampleJob{}, channels, tensor.I64); len(data) > 0; data = data[16:] {
		got = append(got, ptx.Item{Number: binary.LittleEndian.Uint64(data), Feature: binary.LittleEndian.Uint32(data[8:]), Interpolation: binary.LittleEndian.Uint32(data[12:])})
	}
	assert.Equal(t, []ptx.Item{
		{Feature: 4, Interpolation: ptx.InterpolationSlerp}, {Feature: 8, Interpolation: ptx.InterpolationSlerp},
		{Feature: 13, Interpolation: ptx.InterpolationLinear}, {Feature: 2, Interpolation: ptx.InterpolationNext}, {Feature: 3, Interpolation: ptx.InterpolationNext},
		{Number: math.Float64bits(360), Feature: 12, Interpolation: ptx.InterpolationAngle},
		{Feature: 0, Interpolation: ptx.InterpolationPchip}, {Feature: 1, Interpolation: ptx.InterpolationPchip}, {Number: 2, Feature: 14, Interpolation: ptx.InterpolationHermite}, {Number: 2, Feature: 15, Interpolation: ptx.InterpolationHermite},
		{Number: 1e9, Feature: 18, Interpolation: ptx.InterpolationWindowMax},
	}, got)
	s := countItems(channels)
	assert.Equal(t, itemCategories{of: [...]int{slerps: 2, moved: 3, angles: 1, cubics: 4, others: 1}, beside: true}, s)
	assert.Equal(t, 11, s.items())
}

// The kernel divides by what the factors and shifts tell: by 1 not at all.
func TestItemsAreDividedExactly(t *testing.T) {
	for _, n := range []int{1, 2, 3, 6, 7, 31, 32, 33, 1000, 100000} {
		categories := itemCategories{of: [...]int{moved: n, angles: n + 1, cubics: n + 2, others: 2*n - 1}, beside: n > 7}
		s := categories.categories(13)
		assert.Equal(t, []uint32{13, map[bool]uint32{true: 1}[n > 7]}, []uint32{s.Shifts >> 20 & 31, s.Shifts >> 31})
		for i, c := range [][2]uint32{{s.Moved, s.MovedMagic}, {s.Angles, s.AnglesMagic}, {s.Cubics, s.CubicsMagic}, {s.Others, s.OthersMagic}} {
			by, magic := c[0], c[1]
			for _, x := range []uint32{0, 1, by - 1, by, by + 1, 127 * by, 128*by - 1} {
				got := x
				if magic != 0 {
					hi, _ := bits.Mul32(x, magic)
					got = hi >> (s.Shifts >> (5 * i) & 31)
				}
				assert.Equal(t, x/by, got, "%d / %d", x, by)
			}
		}
	}
}
