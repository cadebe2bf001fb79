package cudadrv

import (
	"encoding/binary"
	"fmt"
	"math"
)

// TensorMap describes a tensor in device memory to the copy engine of a multiprocessor (CUtensorMap). A kernel names a box inside
// the tensor, and the engine copies the box to or from shared memory. A TensorMap holds an address, not memory: the tensor must
// stay open as long as kernels use it. The value may be copied.
//
// A kernel receives it as an argument of 128 bytes. It can also read it from device memory, at a multiple of 64, to which
// [TensorMap.Bytes] is copied; then each block needs fence.proxy.tensormap before its first use.
//
// A box may begin and end outside the tensor, but its first coordinate must be a multiple of 16 bytes. Otherwise the device stops
// with CUDA_ERROR_ILLEGAL_INSTRUCTION and is lost.
type TensorMap struct{ opaque [16]uint64 }

// Bytes returns a copy of the 128 bytes.
func (m *TensorMap) Bytes() []byte {
	var b []byte
	for _, w := range m.opaque {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// TensorType is the type of a described tensor's elements (CUtensorMapDataType).
type TensorType uint32

// Element types. FTZ types turn subnormal numbers into zeros on the way; TF32 types round float32 values.
const (
	TensorUint8 TensorType = iota
	TensorUint16
	TensorUint32
	TensorInt32
	TensorUint64
	TensorInt64
	TensorFloat16
	TensorFloat32
	TensorFloat64
	TensorBFloat16
	TensorFloat32FTZ
	TensorTF32
	TensorTF32FTZ
)

// Size returns the size of an element in bytes, 0 for a type that is not listed.
func (t TensorType) Size() int64 {
	sizes := [...]int64{1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4}
	if int(t) >= len(sizes) {
		return 0
	}
	return sizes[t]
}

// Swizzle is the layout of a box in shared memory (CUtensorMapSwizzle). SwizzleNone keeps the order. The others permute the
// 16-byte pieces in each span, which has as many bytes as the name states, so that reading columns causes no bank conflicts.
type Swizzle uint32

// Swizzles.
const (
	SwizzleNone Swizzle = iota
	Swizzle32
	Swizzle64
	Swizzle128
)

// TensorTile describes a tensor and the box that one copy moves. Dimensions are in the driver's order: the first one has adjacent
// elements.
type TensorTile struct {
	Type    TensorType
	Address DevicePtr // a multiple of 16
	Sizes   []int64   // elements, 1 to 5 dimensions of 1 to 2^32
	Strides []int64   // from one index to the next in bytes, without the first dimension: multiples of 16, below 2^40
	Box     []int     // elements in the box, 1 to 256 in each dimension; the first row a multiple of 16 bytes
	Steps   []int     // take every n-th element, 1 to 8; nil is 1 everywhere

	Swizzle   Swizzle // its span must be at least as long as the box's first dimension
	Promotion int     // how many bytes a read fetches into L2: 0, 64, 128 or 256
	NaN       bool    // elements outside the tensor read as NaN, else as 0; floating-point types only
}

// EncodeTensorMap returns the description that kernels use. It does not touch device memory. A tile that the driver would reject
// is a *[ValueError]; a driver before CUDA 12.0 or a device before sm_90 is an *[UnsupportedError].
func (c *Context) EncodeTensorMap(t TensorTile) (TensorMap, error) {
	var m TensorMap
	if err := t.check(); err != nil {
		return m, err
	}
	if err := c.enter("EncodeTensorMap"); err != nil {
		return m, err
	}
	defer c.leave()
	if !c.drv.has(fnTensorMapEncodeTiled) {
		return m, c.drv.fail(fnTensorMapEncodeTiled, codeMissing)
	}
	if major, _ := c.dev.ComputeCapability(); major < 9 {
		return m, &UnsupportedError{Op: "a tensor map, on a device before sm_90", Found: c.drv.version}
	}
	f := getFrame()
	defer f.put()
	f.tile = tensorArgs{}
	for i := range t.Sizes {
		f.tile.sizes[i], f.tile.box[i], f.tile.steps[i] = uint64(t.Sizes[i]), uint32(t.Box[i]), 1
		if t.Steps != nil {
			f.tile.steps[i] = uint32(t.Steps[i])
		}
		if i > 0 {
			f.tile.strides[i-1] = uint64(t.Strides[i-1])
		}
	}
	promotion := map[int]uintptr{0: 0, 64: 1, 128: 2, 256: 3}[t.Promotion]
	fill := uintptr(0)
	if t.NaN {
		fill = 1
	}
	room, sizes, strides, box, steps := f.tile.addrs()
	const noInterleave = 0
	code := c.free(fnTensorMapEncodeTiled, f, room, uintptr(t.Type), uintptr(len(t.Sizes)), uintptr(t.Address), sizes, strides, box, steps,
		noInterleave, uintptr(t.Swizzle), promotion, fill)
	if err := c.dev.check(fnTensorMapEncodeTiled, code); err != nil {
		return m, err
	}
	raw := View(room, 128)
	for i := range m.opaque {
		m.opaque[i] = binary.LittleEndian.Uint64(raw[8*i:])
	}
	return m, nil
}

// check refuses what the driver would refuse, in words.
func (t *TensorTile) check() error {
	bad := func(what string, got any, want string) error {
		return &ValueError{Op: "EncodeTensorMap", What: what, Kind: ErrOption, Got: fmt.Sprint(got), Want: want}
	}
	n, size := len(t.Sizes), t.Type.Size()
	switch {
	case size == 0:
		return bad("the type", uint32(t.Type), "one of the element types")
	case n < 1 || n > 5:
		return bad("the number of dimensions", n, "1 to 5")
	case len(t.Strides) != n-1:
		return bad("the number of strides", len(t.Strides), fmt.Sprintf("%d, one less than dimensions", n-1))
	case len(t.Box) != n:
		return bad("the box", t.Box, fmt.Sprintf("%d dimensions", n))
	case t.Steps != nil && len(t.Steps) != n:
		return bad("the list of steps", t.Steps, fmt.Sprintf("%d dimensions, or nil", n))
	case t.Address == 0 || t.Address%16 != 0:
		return bad("the address", fmt.Sprintf("%#x", uint64(t.Address)), "a multiple of 16, not 0")
	case t.Swizzle > Swizzle128:
		return bad("the swizzle", uint32(t.Swizzle), "SwizzleNone to Swizzle128")
	case t.Promotion != 0 && t.Promotion != 64 && t.Promotion != 128 && t.Promotion != 256:
		return bad("the promotion", t.Promotion, "0, 64, 128 or 256 bytes")
	case t.NaN && (t.Type < TensorFloat16 || t.Type > TensorTF32FTZ):
		return bad("the type", uint32(t.Type), "a floating-point type, to be filled with NaN")
	}
	for i := range n {
		place := fmt.Sprintf(" of dimension %d", i)
		if t.Sizes[i] < 1 || t.Sizes[i] > 1<<32 {
			return bad("the size"+place, t.Sizes[i], "1 to 4294967296")
		}
		if t.Box[i] < 1 || t.Box[i] > 256 {
			return bad("the box"+place, t.Box[i], "1 to 256")
		}
		if t.Steps != nil && (t.Steps[i] < 1 || t.Steps[i] > 8) {
			return bad("the step"+place, t.Steps[i], "1 to 8")
		}
		if i > 0 && (t.Strides[i-1] < 16 || t.Strides[i-1]%16 != 0 || t.Strides[i-1] >= 1<<40) {
			return bad("the stride"+place, t.Strides[i-1], "a multiple of 16 bytes, below 2^40")
		}
	}
	row := int64(t.Box[0]) * size
	if row%16 != 0 {
		return bad("the box's first dimension", fmt.Sprintf("%d bytes", row), "a multiple of 16 bytes")
	}
	if span := int64(math.MaxInt64); t.Swizzle != SwizzleNone {
		if span = 16 << t.Swizzle; row > span {
			return bad("the box's first dimension", fmt.Sprintf("%d bytes", row), fmt.Sprintf("at most %d, the swizzle's span", span))
		}
	}
	return nil
}
