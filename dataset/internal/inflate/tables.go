package inflate

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
	"sync"
)

// A table is looked up by the next bits of the input, the root's. An entry has
//
//	bits 0-3    the bits of the code, without those that led to a table below
//	bits 8-11   the bits that follow the code; of a table below those by which it is looked up
//	bits 16-30  the literal, or to what the following bits are added; of a table below where it begins
const (
	isLiteral = 1 << 31
	isTable   = 1 << 15
	isSpecial = 1 << 14           // the end of the block, or
	isNone    = isSpecial | 1<<13 // what no code leads to

	maxBits      = 15
	literalBits  = 10
	distanceBits = 8
	codeBits     = 7
)

// tables are those of a block. A complete set of codes takes at most 1334 and 402 entries with these roots.
type tables struct {
	literals  [2048]uint32
	distances [1024]uint32
}

// What the codes of lengths from 257 on, and of distances, stand for, and how many bits follow them.
var (
	lengthBase = [29]uint16{3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258}
	lengthMore = [29]uint8{0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0}

	distanceBase = [30]uint16{1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577}
	distanceMore = [30]uint8{0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13}
)

// entryOf returns the entry of a symbol, without the bits of its code.
func entryOf(root uint, symbol int) uint32 {
	switch {
	case root == distanceBits && symbol < len(distanceBase):
		return uint32(distanceBase[symbol])<<16 | uint32(distanceMore[symbol])<<8
	case root == distanceBits:
		return isNone
	case symbol < 256:
		return isLiteral | uint32(symbol)<<16
	case symbol == 256:
		return isSpecial
	case symbol-257 < len(lengthBase):
		return uint32(lengthBase[symbol-257])<<16 | uint32(lengthMore[symbol-257])<<8
	}
	return isNone
}

// build makes a table of the lengths of codes, by symbol. An incomplete set of codes is one of a single bit, or of none, and not for the lengths of
// codes themselves.
func build(table []uint32, root uint, lengths []uint8) error {
	var count, next [maxBits + 2]int
	for _, n := range lengths {
		count[n]++
	}
	count[0] = 0
	longest, left := uint(0), 1
	for n := uint(1); n <= maxBits; n++ {
		left = left<<1 - count[n]
		if left < 0 {
			return ErrTable
		}
		next[n+1] = (next[n] + count[n]) << 1
		if count[n] > 0 {
			longest = n
		}
	}
	if left > 0 && (root == codeBits || longest > 1) {
		return ErrTable
	}
	if left > 0 {
		for i := range table[:1<<root] {
			table[i] = isNone
		}
	}
	var deepest [1 << literalBits]uint8 // of the codes that begin with a root's bits
	end := 1 << root
	if longest > root {
		codes := next
		for _, n := range lengths {
			if n > 0 {
				if uint(n) > root {
					at := reversed(codes[n], uint(n)) & (1<<root - 1)
					deepest[at] = max(deepest[at], n-uint8(root))
				}
				codes[n]++
			}
		}
		for at, more := range deepest[:1<<root] {
			if more > 0 {
				if end+1<<more > len(table) {
					return ErrTable // no complete set of codes takes so much
				}
				table[at] = isTable | uint32(end)<<16 | uint32(more)<<8
				end += 1 << more
			}
		}
	}
	for symbol, length := range lengths {
		n := uint(length)
		if n == 0 {
			continue
		}
		code := reversed(next[n], n)
		next[n]++
		e := entryOf(root, symbol)
		if n <= root {
			for at := code; at < 1<<root; at += 1 << n {
				table[at] = e | uint32(n)
			}
			continue
		}
		below := table[code&(1<<root-1)]
		begin, size := int(below>>16&0x7fff), 1<<(below>>8&15)
		for at := code >> root; at < size; at += 1 << (n - root) {
			table[begin+at] = e | uint32(n-root)
		}
	}
	return nil
}

// reversed turns the bits of a code around, as the input has them.
func reversed(code int, n uint) int { return int(bits.Reverse16(uint16(code)) >> (16 - n)) }

// fixed are the tables that a stream need not describe.
var fixed = sync.OnceValue(func() *tables {
	t := &tables{}
	lengths := slices.Concat(bytes.Repeat([]byte{8}, 144), bytes.Repeat([]byte{9}, 112), bytes.Repeat([]byte{7}, 24), bytes.Repeat([]byte{8}, 8))
	err := cmp.Or(build(t.literals[:], literalBits, lengths), build(t.distances[:], distanceBits, bytes.Repeat([]byte{5}, 32)))
	if err != nil {
		panic(err)
	}
	return t
})

// dynamic reads the tables of a block.
func (d *decoder) dynamic() error {
	d.tables = &d.own
	if err := d.need(14); err != nil {
		return err
	}
	literals, distances, codes := d.take(5)+257, d.take(5)+1, d.take(4)+4
	if literals > 286 || distances > 30 {
		return ErrTable
	}
	order := [19]int{16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15}
	var lengths [19]uint8
	for _, at := range order[:codes] {
		if err := d.need(3); err != nil {
			return err
		}
		lengths[at] = uint8(d.take(3))
	}
	if err := build(d.distances[:], codeBits, lengths[:]); err != nil {
		return err
	}
	all := literals + distances
	for i := 0; i < all; {
		e, err := d.symbol(d.distances[:], codeBits)
		if err != nil {
			return err
		}
		symbol := int(e >> 16 & 0xff)
		if symbol < 16 {
			d.lengths[i] = uint8(symbol)
			i++
			continue
		}
		repeat := [3]struct {
			bits  uint
			least int
		}{{2, 3}, {3, 3}, {7, 11}}[symbol-16]
		if err := d.need(repeat.bits); err != nil {
			return err
		}
		n := repeat.least + d.take(repeat.bits)
		value := uint8(0)
		if symbol == 16 {
			if i == 0 {
				return ErrTable
			}
			value = d.lengths[i-1]
		}
		if n > all-i {
			return ErrTable
		}
		for range n {
			d.lengths[i] = value
			i++
		}
	}
	if d.lengths[256] == 0 {
		return ErrTable
	}
	if err := build(d.literals[:], literalBits, d.lengths[:literals]); err != nil {
		return err
	}
	return build(d.distances[:], distanceBits, d.lengths[literals:all])
}
