package inflate

import "encoding/binary"

// margin is the room behind the output that a turn of the fast loop may write to: three literals, the longest match, and what is copied beyond it.
const margin = 3 + 258 + 16

// fast decodes while there is the margin of room, and input for two refills. It reports whether the block ended.
//
// A turn begins with 56 bits or more. Two literals take up to 30 of them and a length up to 20; a distance, which takes up to 28, comes after a
// second refill.
func (d *decoder) fast() (end bool, err error) {
	dst, src, in, out, bits, have := d.dst, d.src, d.in, d.out, d.bits, d.have
	literals, distances := &d.literals, &d.distances
	limit := len(dst) - margin
loop:
	for out <= limit && len(src)-in >= 16 {
		bits |= binary.LittleEndian.Uint64(src[in:]) << (have & 63)
		in += int((63 - have) >> 3)
		have |= 56
		var e uint32
		for k := 0; ; k++ {
			e = literals[bits&(1<<literalBits-1)]
			if e&isTable != 0 {
				bits >>= literalBits
				have -= literalBits
				e = literals[(e>>16+uint32(bits)&(1<<(e>>8&15)-1))%uint32(len(literals))]
			}
			bits >>= e & 15
			have -= uint(e & 15)
			if e&isLiteral == 0 {
				break
			}
			dst[out] = byte(e >> 16)
			out++
			if k == 2 {
				continue loop
			}
		}
		if e&isSpecial != 0 {
			if end = true; e&isNone == isNone {
				err = ErrCode
			}
			break
		}
		extra := e >> 8 & 15
		length := int(e>>16) + int(bits&(1<<extra-1))
		bits >>= extra
		have -= uint(extra)

		bits |= binary.LittleEndian.Uint64(src[in:]) << (have & 63)
		in += int((63 - have) >> 3)
		have |= 56
		e = distances[bits&(1<<distanceBits-1)]
		if e&isTable != 0 {
			bits >>= distanceBits
			have -= distanceBits
			e = distances[(e>>16+uint32(bits)&(1<<(e>>8&15)-1))%uint32(len(distances))]
		}
		if e&isSpecial != 0 {
			err = ErrCode
			break
		}
		bits >>= e & 15
		extra = e >> 8 & 15
		distance := int(e>>16) + int(bits&(1<<extra-1))
		bits >>= extra
		have -= uint(e&15) + uint(extra)
		from := out - distance
		if from < 0 {
			err = ErrDistance
			break
		}
		switch to := out + length; {
		case distance >= 8: // eight bytes at a time, some more than there are
			for ; out < to; out, from = out+8, from+8 {
				binary.LittleEndian.PutUint64(dst[out:], binary.LittleEndian.Uint64(dst[from:]))
			}
			out = to
		case distance == 1:
			for run := uint64(dst[from]) * 0x0101010101010101; out < to; out += 8 {
				binary.LittleEndian.PutUint64(dst[out:], run)
			}
			out = to
		default:
			for ; out < to; out, from = out+1, from+1 {
				dst[out] = dst[from]
			}
		}
	}
	d.in, d.out, d.bits, d.have = in, out, bits&(1<<have-1), have
	return end, err
}
