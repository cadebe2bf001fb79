package parquet

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// deltas decodes n integers stored as differences (Parquet's DELTA_BINARY_PACKED) and appends them to to. It also returns the remaining
// bytes.
func deltas(to []int64, data []byte, n int) (list []int64, rest []byte, err error) {
	at := 0
	uvarint := func() uint64 {
		v, size := binary.Uvarint(data[at:])
		if size <= 0 {
			err = errors.New("differences that end in a header")
			return 0
		}
		at += size
		return v
	}
	zigzag := func() int64 { v := uvarint(); return int64(v>>1) ^ -int64(v&1) }
	block, minis, total, value := uvarint(), uvarint(), uvarint(), zigzag()
	switch {
	case err != nil:
		return nil, nil, err
	case total != uint64(n):
		return nil, nil, fmt.Errorf("%d differences, want %d", total, n)
	case n == 0:
		return to, data[at:], nil
	case minis == 0 || block == 0 || block > 1<<20 || block%minis != 0 || block/minis%8 != 0:
		return nil, nil, fmt.Errorf("blocks of %d differences in %d parts", block, minis)
	}
	each := int(block / minis)
	to = append(to, value)
	for left := n - 1; left > 0; {
		least := zigzag()
		if err != nil || uint64(len(data)-at) < minis {
			return nil, nil, errors.New("differences that end in a block's header")
		}
		widths := data[at : at+int(minis)]
		at += int(minis)
		for _, width := range widths {
			if left == 0 {
				break
			}
			size := each / 8 * int(width)
			if width > 64 || size > len(data)-at {
				return nil, nil, fmt.Errorf("%d differences of %d bits, and %d bytes", each, width, len(data)-at)
			}
			for i := range min(each, left) {
				value += least + int64(bitsAt(data[at:], i*int(width), int(width)))
				to = append(to, value)
			}
			left -= min(each, left)
			at += size
		}
	}
	return to, data[at:], nil
}

// bitsAt returns the width-bit number that begins at a bit offset, lowest bit first.
func bitsAt(b []byte, at, width int) (v uint64) {
	for k := 0; k < width; {
		from := (at + k) % 8
		n := min(8-from, width-k)
		v |= uint64(b[(at+k)/8]>>from&(1<<n-1)) << k
		k += n
	}
	return v
}
