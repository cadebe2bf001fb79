package bz2

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/bits"
)

// ErrTooLarge is a stream that unpacks to more than was allowed.
var ErrTooLarge = errors.New("bzip2: larger than it may be")

// corrupt is a stream that breaks the format.
func corrupt(what string) error { return fmt.Errorf("bzip2: corrupt: %s", what) }

// Markers, of 48 bits.
const (
	blockMark = 0x314159265359
	endMark   = 0x177245385090
)

const (
	maxBlock  = 900_000
	groupSize = 50 // symbols that one table is for
	maxCode   = 20 // bits of a code
	fastBits  = 10 // bits of the table that decodes most codes
)

// Decoder unpacks streams, one at a time. The zero value is ready.
type Decoder struct {
	in        []byte // input that is not yet in the word
	word      uint64 // the next bits, the first of them the highest
	left      int    // bits of word
	short     int    // bits that were taken of word and not there
	column    []uint32
	selectors [1 << 15]byte
	tables    [6]table
}

// table is a Huffman code.
type table struct {
	fast  [1 << fastBits]uint16 // symbol << 5 | bits, by the first bits; 0 of longer codes
	limit [maxCode + 2]uint32   // by code length: the first value after its codes, as maxCode bits
	base  [maxCode + 2]int32    // by code length: the difference between a code and its index
	order [258]uint16           // symbols by their codes
}

// Append unpacks the consecutive streams in src, and appends their content to dst, which then has at most most bytes. Bytes after
// the streams are ignored. With an error it returns the whole blocks before it; for a stream that is cut the error is
// io.ErrUnexpectedEOF.
func (d *Decoder) Append(dst, src []byte, most int) ([]byte, error) {
	defer func() { d.in = nil }()
	for first := true; first || len(src) >= 4 && string(src[:3]) == "BZh"; first = false {
		if len(src) < 4 {
			return dst, io.ErrUnexpectedEOF
		}
		level := int(src[3]) - '0'
		if string(src[:3]) != "BZh" || level < 1 || level > 9 {
			return dst, corrupt(fmt.Sprintf("it begins with % x", src[:4]))
		}
		d.in, d.word, d.left, d.short = src[4:], 0, 0, 0
		var err error
		if dst, err = d.stream(dst, level*100_000, most); err != nil {
			return dst, err
		}
		src = src[len(src)-len(d.in)-d.left/8:] // from the next whole byte
	}
	return dst, nil
}

// stream unpacks the blocks of a stream.
func (d *Decoder) stream(dst []byte, size, most int) ([]byte, error) {
	if cap(d.column) < size {
		d.column = make([]uint32, size)
	}
	d.column = d.column[:size]
	sum := uint32(0)
	for {
		mark := uint64(d.bits(24))<<24 | uint64(d.bits(24))
		want := uint32(d.bits(16))<<16 | uint32(d.bits(16))
		switch {
		case d.short > 0:
			return dst, io.ErrUnexpectedEOF
		case mark == endMark && want != sum:
			return dst, corrupt("checksum of the stream")
		case mark == endMark:
			return dst, nil
		case mark != blockMark:
			return dst, corrupt(fmt.Sprintf("a block that begins with %012x", mark))
		}
		n, origin, err := d.block()
		if err != nil {
			return dst, err
		}
		before := len(dst)
		got := uint32(0)
		if dst, got, err = d.undo(dst, d.column[:n], origin, most); err == nil && got != want {
			err = corrupt("checksum of a block")
		}
		if err != nil {
			return dst[:before], err
		}
		sum = bits.RotateLeft32(sum, 1) ^ got
	}
}

// fill takes bytes into the word: afterwards it has 32 bits or more, unless the stream ends.
func (d *Decoder) fill() {
	if len(d.in) >= 8 {
		d.word |= binary.BigEndian.Uint64(d.in) >> d.left
		n := (63 - d.left) / 8
		d.in = d.in[n:]
		d.left += 8 * n
		d.word &= ^uint64(0) << (64 - d.left)
		return
	}
	for d.left <= 56 && len(d.in) > 0 {
		d.word |= uint64(d.in[0]) << (56 - d.left)
		d.in = d.in[1:]
		d.left += 8
	}
}

// bits reads up to 24 bits. After the end they are 0, and d.short counts them.
func (d *Decoder) bits(n int) int {
	if d.left < n {
		d.fill()
	}
	v := int(d.word >> (64 - n))
	d.skip(n)
	return v
}

func (d *Decoder) skip(n int) {
	d.word <<= n
	if d.left -= n; d.left < 0 {
		d.short -= d.left
		d.left = 0
	}
}

// block reads a block: how many bytes the column has, in the low bytes of d.column, and which row is the first.
func (d *Decoder) block() (n, origin int, err error) {
	if d.bits(1) == 1 {
		return 0, 0, corrupt("a randomised block, which no program writes any more")
	}
	origin = d.bits(24)
	var list [256]byte
	used := 0
	for i, ranges := 0, d.bits(16); i < 16; i++ {
		if ranges>>(15-i)&1 == 0 {
			continue
		}
		for k, there := 0, d.bits(16); k < 16; k++ {
			if there>>(15-k)&1 == 1 {
				list[used] = byte(16*i + k)
				used++
			}
		}
	}
	groups, selectors := d.bits(3), d.bits(15)
	switch {
	case d.short > 0:
		return 0, 0, io.ErrUnexpectedEOF
	case used == 0 || groups < 2 || groups > 6 || selectors == 0:
		return 0, 0, corrupt(fmt.Sprintf("a block of %d bytes, %d tables and %d groups", used, groups, selectors))
	}
	front := [6]byte{0, 1, 2, 3, 4, 5}
	for i := range selectors {
		k := 0
		for ; d.bits(1) == 1; k++ {
			if k+1 >= groups {
				return 0, 0, d.broken("a table that there is not")
			}
		}
		t := front[k]
		copy(front[1:], front[:k])
		front[0] = t
		d.selectors[i] = t
	}
	for g := range groups {
		if err := d.table(&d.tables[g], used+2); err != nil {
			return 0, 0, err
		}
	}
	if n, err = d.symbols(list[:], used+1, selectors); err == nil && origin >= n {
		err = corrupt(fmt.Sprintf("row %d of %d", origin, n))
	}
	return n, origin, err
}

// broken returns an error, io.ErrUnexpectedEOF if the input ended before.
func (d *Decoder) broken(what string) error {
	if d.short > 0 {
		return io.ErrUnexpectedEOF
	}
	return corrupt(what)
}

// table reads the lengths of a code, and makes its table.
func (d *Decoder) table(t *table, symbols int) error {
	var lengths [258]uint8
	var count [maxCode + 2]int
	length := d.bits(5)
	for i := range symbols {
		for {
			if length < 1 || length > maxCode {
				return d.broken(fmt.Sprintf("a code of %d bits", length))
			}
			if d.bits(1) == 0 {
				break
			}
			length += 1 - 2*d.bits(1)
		}
		lengths[i] = uint8(length)
		count[length]++
	}
	if d.short > 0 {
		return io.ErrUnexpectedEOF
	}
	clear(t.fast[:])
	code, place := uint32(0), 0
	var starts [maxCode + 2]int
	for l := 1; l <= maxCode; l++ {
		t.base[l] = int32(code) - int32(place)
		starts[l] = place
		code += uint32(count[l])
		place += count[l]
		if code > 1<<l {
			return corrupt("codes that are too many")
		}
		t.limit[l] = code << (maxCode - l)
		code <<= 1
	}
	for i := range symbols {
		l := int(lengths[i])
		t.order[starts[l]] = uint16(i)
		if l <= fastBits {
			first := (starts[l] + int(t.base[l])) << (fastBits - l)
			for k := first; k < first+1<<(fastBits-l); k++ {
				t.fast[k] = uint16(i)<<5 | uint16(l)
			}
		}
		starts[l]++
	}
	return nil
}

// symbols reads the symbols of a block, and undoes runs and the move to the front.
func (d *Decoder) symbols(list []byte, end, selectors int) (n int, err error) {
	column := d.column
	run, weight := 0, 1
	flush := func() error {
		if run > len(column)-n {
			return d.broken("a block that is too long")
		}
		b := uint32(list[0])
		for i := range column[n : n+run] {
			column[n+i] = b
		}
		n += run
		run, weight = 0, 1
		return nil
	}
	for g := range selectors {
		t := &d.tables[d.selectors[g]]
		for range groupSize {
			if d.left < maxCode {
				d.fill()
			}
			symbol, length := 0, 0
			if e := t.fast[d.word>>(64-fastBits)]; e != 0 {
				symbol, length = int(e>>5), int(e&31)
			} else {
				code := uint32(d.word >> (64 - maxCode))
				length = fastBits + 1
				for length <= maxCode && code >= t.limit[length] {
					length++
				}
				if length > maxCode {
					return 0, d.broken("a code that there is not")
				}
				symbol = int(t.order[int32(code>>(maxCode-length))-t.base[length]])
			}
			d.word <<= length
			if d.left -= length; d.left < 0 {
				return 0, io.ErrUnexpectedEOF
			}
			if symbol < 2 {
				if run += weight << symbol; run > maxBlock {
					return 0, d.broken("a run that is too long")
				}
				weight <<= 1
				continue
			}
			if run > 0 {
				if err := flush(); err != nil {
					return 0, err
				}
			}
			if symbol == end {
				return n, nil
			}
			if n >= len(column) {
				return 0, d.broken("a block that is too long")
			}
			k := symbol - 1
			b := list[k]
			copy(list[1:k+1], list[:k])
			list[0] = b
			column[n] = uint32(b)
			n++
		}
	}
	return 0, d.broken("a block without an end")
}

// undo undoes the transform of a column, and then the run lengths after four equal bytes. It returns the checksum of the appended
// bytes.
func (d *Decoder) undo(dst []byte, column []uint32, origin, most int) ([]byte, uint32, error) {
	var next [256]uint32
	for _, v := range column {
		next[v&255]++
	}
	sum := uint32(0)
	for b, n := range next {
		next[b] = sum
		sum += n
	}
	for i, v := range column {
		b := v & 255
		column[next[b]] |= uint32(i) << 8
		next[b]++
	}
	crc := ^uint32(0)
	at := column[origin] >> 8
	before, alike := -1, 0
	for range column {
		v := column[at]
		at = v >> 8
		b := byte(v)
		if alike == 4 {
			if int(b) > most-len(dst) {
				return dst, 0, ErrTooLarge
			}
			for range b {
				dst = append(dst, byte(before))
				crc = crc<<8 ^ checks[byte(crc>>24)^byte(before)]
			}
			before, alike = -1, 0
			continue
		}
		if len(dst) >= most {
			return dst, 0, ErrTooLarge
		}
		dst = append(dst, b)
		crc = crc<<8 ^ checks[byte(crc>>24)^b]
		if int(b) == before {
			alike++
		} else {
			before, alike = int(b), 1
		}
	}
	return dst, ^crc, nil
}

// checks is the table of the checksum, CRC-32 with the highest bit first.
var checks = func() (t [256]uint32) {
	for i := range t {
		c := uint32(i) << 24
		for range 8 {
			c = c<<1 ^ 0x04c11db7*(c>>31)
		}
		t[i] = c
	}
	return t
}()
