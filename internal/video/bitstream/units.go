package bitstream

import (
	"bytes"
	"iter"
)

// Units returns the NAL units in a packet, without start codes and trailing zeros. If size is 0, a start code precedes each unit
// (annex B). Otherwise a big-endian length of size bytes does, as in mp4. whole is false for the bytes after a length beyond the packet's
// end, and for bytes before the first start code. A length of 0 with bytes after it is a hole in a file: no bytes, and whole is false.
func Units(packet []byte, size int) iter.Seq2[[]byte, bool] {
	if size > 0 {
		return sized(packet, size)
	}
	return func(yield func([]byte, bool) bool) {
		at := bytes.Index(packet, startCode)
		before := packet
		if at >= 0 {
			before = packet[:at]
		}
		if before = bytes.Trim(before, "\x00"); len(before) > 0 && !yield(before, false) {
			return
		}
		for at >= 0 {
			packet = packet[at+len(startCode):]
			at = bytes.Index(packet, startCode)
			unit := packet
			if at >= 0 {
				unit = packet[:at]
			}
			if unit = bytes.TrimRight(unit, "\x00"); len(unit) > 0 && !yield(unit, true) {
				return
			}
		}
	}
}

var startCode = []byte{0, 0, 1}

// HasHole reports whether a NAL unit has a run of zeros before other bytes. Encoders write none, because of the emulation prevention bytes.
// A few zeros are no hole, because some encoders leave these bytes out.
func HasHole(unit []byte) bool {
	const run = 16
	return bytes.Contains(bytes.TrimRight(unit, "\x00"), make([]byte, run))
}

func sized(packet []byte, size int) iter.Seq2[[]byte, bool] {
	return func(yield func([]byte, bool) bool) {
		for len(packet) > 0 {
			n := uint64(0)
			for _, b := range packet[:min(size, len(packet))] {
				n = n<<8 | uint64(b)
			}
			packet = packet[min(size, len(packet)):]
			rest := uint64(len(packet))
			whole := n <= rest && (n > 0 || rest == 0)
			n = min(n, rest)
			if unit := packet[:n]; (n > 0 || !whole) && !yield(unit, whole) {
				return
			}
			packet = packet[n:]
		}
	}
}
