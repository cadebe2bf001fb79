package inflate

import (
	"encoding/binary"
	"errors"
	"sync"
)

// What can be wrong with a stream.
var (
	ErrHeader    = errors.New("no zlib header")
	ErrTruncated = errors.New("the stream ends early")
	ErrCode      = errors.New("a code that there is not")
	ErrTable     = errors.New("a table of codes that is none")
	ErrDistance  = errors.New("a distance to before the first byte")
	ErrBlock     = errors.New("a block that is none")
	ErrShort     = errors.New("fewer bytes than expected")
	ErrLong      = errors.New("more bytes than expected")
	ErrChecksum  = errors.New("the checksum is of other bytes")
)

// MaxRatio is how many bytes a byte of a stream can become.
const MaxRatio = 1032

// decoders take some 20 kB each.
var decoders = sync.Pool{New: func() any { return new(decoder) }}

// Zlib decodes a stream that must fill dst exactly. What follows the stream in src is passed over. It returns how much of src was read, which of an
// error is where it is.
func Zlib(dst, src []byte) (in int, err error) {
	if len(src) < 2 || src[0]&15 != 8 || src[0]>>4 > 7 || src[1]&32 != 0 || (int(src[0])<<8|int(src[1]))%31 != 0 {
		return 0, ErrHeader
	}
	d := decoders.Get().(*decoder)
	d.dst, d.src, d.in, d.out, d.bits, d.have = dst, src, 2, 0, 0, 0
	err = d.stream()
	in = d.in
	d.dst, d.src = nil, nil
	decoders.Put(d)
	switch {
	case err != nil:
		return in, err
	case len(src)-in < 4:
		return in, ErrTruncated
	case adler32(dst) != binary.BigEndian.Uint32(src[in:]):
		return in, ErrChecksum
	}
	return in + 4, nil
}

// decoder is the state of a stream.
type decoder struct {
	dst, src []byte
	in, out  int
	bits     uint64 // of the input, the next one lowest
	have     uint   // of them; above it there may be more, which are read again

	*tables        // of this block
	own     tables // those that a stream describes
	lengths [320]uint8
}

// need makes n bits available, at most 32.
func (d *decoder) need(n uint) error {
	for d.have < n {
		if d.in >= len(d.src) {
			return ErrTruncated
		}
		d.bits |= uint64(d.src[d.in]) << d.have
		d.in++
		d.have += 8
	}
	return nil
}

// take returns the next n bits, which are available.
func (d *decoder) take(n uint) int {
	v := d.bits & (1<<n - 1)
	d.bits >>= n
	d.have -= n
	return int(v)
}

// stream decodes blocks up to the last, and gives back whole bytes that were not needed.
func (d *decoder) stream() error {
	for last := 0; last == 0; {
		if err := d.need(3); err != nil {
			return err
		}
		last = d.take(1)
		var err error
		switch d.take(2) {
		case 0:
			err = d.stored()
		case 1:
			d.tables = fixed()
			err = d.block()
		case 2:
			if err = d.dynamic(); err == nil {
				err = d.block()
			}
		default:
			err = ErrBlock
		}
		if err != nil {
			return err
		}
	}
	d.in -= int(d.have / 8)
	if d.out < len(d.dst) {
		return ErrShort
	}
	return nil
}

// stored copies a block that is not compressed.
func (d *decoder) stored() error {
	d.in -= int(d.have / 8)
	d.bits, d.have = 0, 0
	if len(d.src)-d.in < 4 {
		return ErrTruncated
	}
	n := int(binary.LittleEndian.Uint16(d.src[d.in:]))
	if n != int(^binary.LittleEndian.Uint16(d.src[d.in+2:])) {
		return ErrBlock
	}
	d.in += 4
	switch {
	case n > len(d.src)-d.in:
		return ErrTruncated
	case n > len(d.dst)-d.out:
		return ErrLong
	}
	copy(d.dst[d.out:], d.src[d.in:d.in+n])
	d.in, d.out = d.in+n, d.out+n
	return nil
}

// block decodes literals and matches up to the block's end.
func (d *decoder) block() error {
	for {
		if len(d.dst)-d.out >= margin && len(d.src)-d.in >= 16 {
			if end, err := d.fast(); end || err != nil {
				return err
			}
		}
		if end, err := d.careful(); end || err != nil {
			return err
		}
	}
}

// careful decodes one literal or match where the input or the room for what it becomes may end.
func (d *decoder) careful() (end bool, err error) {
	e, err := d.symbol(d.literals[:], literalBits)
	if err != nil {
		return false, err
	}
	switch {
	case e&isLiteral != 0:
		if d.out == len(d.dst) {
			return false, ErrLong
		}
		d.dst[d.out] = byte(e >> 16)
		d.out++
		return false, nil
	case e&isSpecial != 0:
		return true, nil
	}
	length, err := d.value(e)
	if err != nil {
		return false, err
	}
	if e, err = d.symbol(d.distances[:], distanceBits); err != nil {
		return false, err
	}
	distance, err := d.value(e)
	switch {
	case err != nil:
		return false, err
	case distance > d.out:
		return false, ErrDistance
	case length > len(d.dst)-d.out:
		return false, ErrLong
	}
	for range length {
		d.dst[d.out] = d.dst[d.out-distance]
		d.out++
	}
	return false, nil
}

// symbol reads one code, bit by bit as it needs them.
func (d *decoder) symbol(entries []uint32, root uint) (uint32, error) {
	for {
		e := entries[d.bits&(1<<root-1)]
		used := uint(0)
		if e&isTable != 0 {
			used = root
			e = entries[e>>16+uint32(d.bits>>root&(1<<(e>>8&15)-1))]
		}
		if n := used + uint(e&15); n <= d.have && e&isNone != isNone {
			d.take(n)
			return e, nil
		}
		if e&isNone == isNone && d.have >= maxBits {
			return 0, ErrCode
		}
		if err := d.need(d.have + 1); err != nil {
			return 0, err
		}
	}
}

// value reads what follows the code of a length or a distance.
func (d *decoder) value(e uint32) (int, error) {
	extra := uint(e >> 8 & 15)
	if err := d.need(extra); err != nil {
		return 0, err
	}
	return int(e>>16) + d.take(extra), nil
}
