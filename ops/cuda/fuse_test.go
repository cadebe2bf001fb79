package cuda

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/robocache/robocache/ops"
	"github.com/robocache/robocache/tensor"
)

func TestStreamsAreMadeByChunksWhereTheyCanBe(t *testing.T) {
	two := ops.ResampleOptions{Channels: []ops.Channel{{Lo: 4, Hi: 8, Interp: ops.InterpNext}}}
	missing := ops.FuseStream{Width: 4, Options: ops.ResampleOptions{Interp: ops.InterpSlerp}}
	plain := ops.ResampleOptions{}
	for what, c := range map[string]struct {
		out    tensor.DType
		stream ops.FuseStream
		vector int // -1: by items
	}{
		"f32": {tensor.F32, rowsOf(tensor.F32, 8, plain), 2}, "bf16": {tensor.F32, rowsOf(tensor.BF16, 8, plain), 3}, "bf16 of 12": {tensor.BF16, rowsOf(tensor.BF16, 12, plain), 2},
		"f16 of 14": {tensor.F32, rowsOf(tensor.F16, 14, plain), 1}, "f32 of 7": {tensor.F16, rowsOf(tensor.F32, 7, plain), 0}, "nearest": {tensor.F32, rowsOf(tensor.F32, 8, nearest), 2},
		"f64": {tensor.F32, rowsOf(tensor.F64, 8, plain), -1}, "to f64": {tensor.F64, rowsOf(tensor.F32, 8, plain), -1}, "pchip": {tensor.F32, rowsOf(tensor.F32, 8, pchip), -1},
		"two kinds": {tensor.F32, rowsOf(tensor.F32, 8, two), -1}, "missing": {tensor.F16, missing, 2}, "missing, dst of f64": {tensor.F64, missing, -1},
	} {
		m := streamForms(fuse(c.out, 5, ops.FuseOptions{}, c.stream, rowsOf(tensor.F32, 3, plain)))[0]
		assert.Equal(t, c.vector < 0, m.channels != nil, what)
		assert.Equal(t, max(c.vector, 0), m.vector, what)
	}
}

func TestTablesOfFuseAreAligned(t *testing.T) {
	one, two := rowsOf(tensor.F64, 3, ops.ResampleOptions{}), rowsOf(tensor.F32, 5, ops.ResampleOptions{})
	one.Shift, two.Scale = []float32{1, 2, 3}, []float32{4, 5, 6, 7, 8}
	j := fuse(tensor.F32, 5, ops.FuseOptions{}, one, two, rowsOf(tensor.F64, 1, ops.ResampleOptions{}))
	parts := streamForms(j)
	data := tables(j, parts)
	for i, m := range parts {
		assert.Zero(t, m.items%16, "stream %d: items", i)
		assert.Zero(t, m.affine%16, "stream %d: shifts", i)
	}
	read := func(at int) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(data[at:])) }
	assert.EqualValues(t, 3, read(parts[0].affine+8), "shift 2 of the first stream")
	assert.EqualValues(t, 1, read(parts[0].affine+16), "its scales begin 16 bytes aligned, and are 1")
	assert.EqualValues(t, 0, read(parts[1].affine), "a shift where none was given")
	assert.EqualValues(t, 8, read(parts[1].affine+32+16), "scale 4 of the second stream")
}

// A chunk is written in pieces that its place is a multiple of.
func TestStoresAreAligned(t *testing.T) {
	for _, c := range []struct {
		dtype  tensor.DType
		widths []int
		want   []uint32
	}{{tensor.BF16, []int{8, 4, 8}, []uint32{3, 3, 3}}, {tensor.F32, []int{1, 8, 7}, []uint32{4, 2, 2}}} { // rows of 40 and of 64 bytes
		var streams []ops.FuseStream
		for _, d := range c.widths {
			streams = append(streams, rowsOf(c.dtype, d, ops.ResampleOptions{}))
		}
		for i, p := range fuse(c.dtype, 5, ops.FuseOptions{}, streams...).Parts {
			assert.Equal(t, c.want[i], storeOf(p.ResampleJob), "%v, stream %d", c.widths, i)
		}
	}
}
