package cudadrv

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func tile() TensorTile {
	return TensorTile{Type: TensorBFloat16, Address: 0x1000, Sizes: []int64{256, 500, 32}, Strides: []int64{512, 256000}, Box: []int{64, 8, 1},
		Steps: []int{1, 2, 1}, Swizzle: Swizzle128, Promotion: 256, NaN: true}
}

func TestTensorMapsAreEncodedAsAsked(t *testing.T) {
	k := newFake()
	c := k.open(t)
	m, err := c.EncodeTensorMap(tile())
	require.NoError(t, err)
	// type 9 (bf16), address, sizes, strides, box, steps; no interleave, swizzle 3, promotion 3, fill 1.
	text := "9 4096 [256 500 32] [512 256000] [64 8 1] [1 2 1] [0 3 3 1]"
	assert.Equal(t, text, strings.TrimRight(string(m.Bytes()), "\x00"))
	assert.Len(t, m.Bytes(), 128)
	flat, err := c.EncodeTensorMap(TensorTile{Type: TensorUint8, Address: 16, Sizes: []int64{1 << 32}, Box: []int{256}})
	require.NoError(t, err)
	assert.Equal(t, "0 16 [4294967296] [] [256] [1] [0 0 0 0]", strings.TrimRight(string(flat.Bytes()), "\x00"))

	s := stream(t, c)
	kern := k.kernel(t, c, "tiles")
	l, err := kern.Bind(one, DevicePtr(3), m, int32(4), flat)
	require.NoError(t, err)
	for i, p := range l.ptrs {
		if l.sizes[i] == 128 {
			assert.Zero(t, p%64, "argument %d starts at a multiple of 64", i)
		}
	}
	require.NoError(t, l.Run(s))
	assert.Equal(t, m.Bytes(), k.runs[0].args[1])
	assert.Equal(t, flat.Bytes(), k.runs[0].args[3])
	assertNoAllocs(t, func() {
		if l.SetTensorMap(1, &flat) != nil {
			panic("set")
		}
	}, "SetTensorMap")
	require.NoError(t, l.SetInt32(2, 9))
	require.NoError(t, l.Run(s))
	assert.Equal(t, [][]byte{{3, 0, 0, 0, 0, 0, 0, 0}, flat.Bytes(), {9, 0, 0, 0}, flat.Bytes()}, k.runs[1].args)
	var e *ArgError
	require.ErrorAs(t, l.SetTensorMap(0, &m), &e)
	assert.Equal(t, ArgError{Kernel: "tiles", Position: 0, Got: "TensorMap (128 bytes)", Want: "8 bytes"}, *e)
}

func TestTensorMapsRefuseWhatTheDriverWould(t *testing.T) {
	k := newFake()
	c := k.open(t)
	for what, change := range map[string]func(*TensorTile){
		"the type":                          func(x *TensorTile) { x.Type = 13 },
		"the number of dimensions":          func(x *TensorTile) { x.Sizes = make([]int64, 6) },
		"the number of strides":             func(x *TensorTile) { x.Strides = x.Strides[:1] },
		"the box is [64]":                   func(x *TensorTile) { x.Box = x.Box[:1] },
		"the list of steps":                 func(x *TensorTile) { x.Steps = x.Steps[:1] },
		"the address is 0x8":                func(x *TensorTile) { x.Address = 8 },
		"the address is 0x0":                func(x *TensorTile) { x.Address = 0 },
		"the swizzle":                       func(x *TensorTile) { x.Swizzle = 4 },
		"the promotion":                     func(x *TensorTile) { x.Promotion = 32 },
		"to be filled with NaN":             func(x *TensorTile) { x.Type = TensorInt32 },
		"the size of dimension 1":           func(x *TensorTile) { x.Sizes[1] = 0 },
		"the size of dimension 2":           func(x *TensorTile) { x.Sizes[2] = 1<<32 + 1 },
		"the box of dimension 0":            func(x *TensorTile) { x.Box[0] = 257 },
		"the step of dimension 1":           func(x *TensorTile) { x.Steps[1] = 9 },
		"the stride of dimension 1":         func(x *TensorTile) { x.Strides[0] = 24 },
		"the stride of dimension 2":         func(x *TensorTile) { x.Strides[1] = 1 << 40 },
		"is 34 bytes":                       func(x *TensorTile) { x.Box[0] = 17 },
		"is 128 bytes, want at most 64":     func(x *TensorTile) { x.Swizzle = Swizzle64 },
		"is 128 bytes, want at most 32, th": func(x *TensorTile) { x.Swizzle = Swizzle32 },
	} {
		x := tile()
		change(&x)
		_, err := c.EncodeTensorMap(x)
		var e *ValueError
		require.ErrorAs(t, err, &e, what)
		assert.ErrorContains(t, err, what)
	}
	assert.Zero(t, k.count("cuTensorMapEncodeTiled"))
	assert.Zero(t, TensorType(math.MaxUint32).Size())

	k.attrs[ComputeCapabilityMajor] = 8
	var e *UnsupportedError
	_, err := c.EncodeTensorMap(tile())
	require.ErrorAs(t, err, &e)
	k = newFake()
	k.version = 11080
	_, err = k.open(t).EncodeTensorMap(tile())
	require.ErrorAs(t, err, &e)
	assert.EqualError(t, err, "cudadrv: cuTensorMapEncodeTiled needs a driver for CUDA 12.0, this one supports 11.8")
}
