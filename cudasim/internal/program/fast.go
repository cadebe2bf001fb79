package program

import "math"

// unsigned are the types of integer loops; signed values convert.
type unsigned interface{ ~uint16 | ~uint32 | ~uint64 }

// Loops for the most frequent instructions. Each computes the same as the general form in its handler.

func addT[T unsigned](d, a, b, _ *lanes) {
	for i := range d {
		d[i] = uint64(T(a[i]) + T(b[i]))
	}
}

func subT[T unsigned](d, a, b, _ *lanes) {
	for i := range d {
		d[i] = uint64(T(a[i]) - T(b[i]))
	}
}

func mulT[T unsigned](d, a, b, _ *lanes) {
	for i := range d {
		d[i] = uint64(T(a[i]) * T(b[i]))
	}
}

func madT[T unsigned](d, a, b, c *lanes) {
	for i := range d {
		d[i] = uint64(T(a[i])*T(b[i]) + T(c[i]))
	}
}

func andT(d, a, b, _ *lanes) {
	for i := range d {
		d[i] = a[i] & b[i]
	}
}

func orT(d, a, b, _ *lanes) {
	for i := range d {
		d[i] = a[i] | b[i]
	}
}

func xorT(d, a, b, _ *lanes) {
	for i := range d {
		d[i] = a[i] ^ b[i]
	}
}

func movT(d, a, _, _ *lanes) { *d = *a }

func mov32(d, a, _, _ *lanes) {
	for i := range d {
		d[i] = uint64(uint32(a[i]))
	}
}

func mov16(d, a, _, _ *lanes) {
	for i := range d {
		d[i] = uint64(uint16(a[i]))
	}
}

func minU[T unsigned](d, a, b, _ *lanes) {
	for i := range d {
		d[i] = uint64(min(T(a[i]), T(b[i])))
	}
}

func maxU[T unsigned](d, a, b, _ *lanes) {
	for i := range d {
		d[i] = uint64(max(T(a[i]), T(b[i])))
	}
}

func mulWideU32(d, a, b, _ *lanes) {
	for i := range d {
		d[i] = uint64(uint32(a[i])) * uint64(uint32(b[i]))
	}
}

func mulWideS32(d, a, b, _ *lanes) {
	for i := range d {
		d[i] = uint64(int64(int32(a[i])) * int64(int32(b[i])))
	}
}

func shlT[T unsigned](d, a, b, _ *lanes) {
	for i := range d {
		d[i] = uint64(T(a[i]) << uint32(b[i]))
	}
}

func shrT[T unsigned](d, a, b, _ *lanes) {
	for i := range d {
		d[i] = uint64(T(a[i]) >> uint32(b[i]))
	}
}

func addF32(d, a, b, _ *lanes) {
	for i := range d {
		d[i] = pack32(f32(a[i]) + f32(b[i]))
	}
}

func subF32(d, a, b, _ *lanes) {
	for i := range d {
		d[i] = pack32(f32(a[i]) - f32(b[i]))
	}
}

func mulF32(d, a, b, _ *lanes) {
	for i := range d {
		d[i] = pack32(f32(a[i]) * f32(b[i]))
	}
}

func addF64(d, a, b, _ *lanes) {
	for i := range d {
		x, y := f64(a[i]), f64(b[i])
		d[i] = pack64(x+y, a[i], b[i])
	}
}

func subF64(d, a, b, _ *lanes) {
	for i := range d {
		x, y := f64(a[i]), f64(b[i])
		d[i] = pack64(x-y, a[i], b[i])
	}
}

func mulF64(d, a, b, _ *lanes) {
	for i := range d {
		x, y := f64(a[i]), f64(b[i])
		d[i] = pack64(x*y, a[i], b[i])
	}
}

// nan32 is the NaN that single-precision arithmetic returns.
const nan32 = 0x7fffffff

func f32(v uint64) float32 { return math.Float32frombits(uint32(v)) }

func f64(v uint64) float64 { return math.Float64frombits(v) }

func pack32(v float32) uint64 {
	if v != v {
		return nan32
	}
	return uint64(math.Float32bits(v))
}

// nan64 is the NaN that double-precision arithmetic returns for numbers.
const nan64 = 0xfff8000000000000

// pack64 returns the bits of a result. If operands are NaN, it is the first of them, made quiet.
func pack64(v float64, a, b uint64) uint64 {
	if v != v {
		return quiet64(a, b, 0)
	}
	return math.Float64bits(v)
}

func quiet64(list ...uint64) uint64 {
	for _, v := range list {
		if v&^(1<<63) > 0x7ff0000000000000 {
			return v | 1<<51
		}
	}
	return nan64
}

var fastInts = map[string]alu{
	"add.u16": addT[uint16], "add.s16": addT[uint16], "add.u32": addT[uint32], "add.s32": addT[uint32],
	"add.u64": addT[uint64], "add.s64": addT[uint64],
	"sub.u32": subT[uint32], "sub.s32": subT[uint32], "sub.u64": subT[uint64], "sub.s64": subT[uint64],
	"mul.u32": mulT[uint32], "mul.s32": mulT[uint32], "mul.u64": mulT[uint64], "mul.s64": mulT[uint64],
	"mad.u32": madT[uint32], "mad.s32": madT[uint32], "mad.u64": madT[uint64], "mad.s64": madT[uint64],
	"min.u32": minU[uint32], "min.u64": minU[uint64], "max.u32": maxU[uint32], "max.u64": maxU[uint64],
	"mul.wide.u32": mulWideU32, "mul.wide.s32": mulWideS32,
	"shl.b32": shlT[uint32], "shl.b64": shlT[uint64], "shr.u32": shrT[uint32], "shr.u64": shrT[uint64],
	"shr.b32": shrT[uint32], "shr.b64": shrT[uint64],
}
