package bitstream

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestUnitsAreSplit(t *testing.T) {
	units := func(packet string, size int) (list []string) {
		for u, whole := range Units([]byte(packet), size) {
			if !whole {
				u = append([]byte("!"), u...)
			}
			list = append(list, string(u))
		}
		return list
	}
	for packet, want := range map[string][]string{
		"\x00\x00\x00\x01ab\x00\x00\x01c\x00\x00\x00": {"ab", "c"},
		"\x00\x00\x01\x00\x00\x01x":                   {"x"},
		"x\x00\x00\x01y":                              {"!x", "y"},
		"x":                                           {"!x"},
		"":                                            nil,
		"\x00\x00\x01a\x00\x00\x03\x01b":              {"a\x00\x00\x03\x01b"},
	} {
		assert.Equal(t, want, units(packet, 0), "%q", packet)
	}
	for packet, want := range map[string][]string{
		"\x00\x02ab\x00\x01c": {"ab", "c"},
		"\x00\x00\x00\x01c":   {"!", "c"},
		"\x00\x01c\x00\x00":   {"c"},
		"\x00\x03ab":          {"!ab"},
		"\x00":                nil,
		"":                    nil,
	} {
		assert.Equal(t, want, units(packet, 2), "%q", packet)
	}
}

func TestHolesAreFound(t *testing.T) {
	zeros := string(make([]byte, 16))
	for unit, want := range map[string]bool{
		"": false, zeros: false, "a" + zeros: false, "a" + zeros[1:] + "b": false, "a" + zeros + "b": true, zeros + "a": true,
	} {
		assert.Equal(t, want, HasHole([]byte(unit)), "%q", unit)
	}
}

func TestBitsAreRead(t *testing.T) {
	r := NewReader([]byte{0xff, 0xa5, 0, 0, 3, 1, 0, 0, 3, 0, 0x80}, 1)
	assert.EqualValues(t, 0xa, r.Bits(4))
	assert.EqualValues(t, 0x5000, r.Bits(16))
	assert.Equal(t, 20, r.Pos())
	assert.EqualValues(t, 0x001, r.Bits(12))
	assert.False(t, r.More())
	r.Skip(24)
	assert.True(t, r.Flag())
	r.Skip(7)
	assert.NoError(t, r.Err())
	assert.False(t, r.Flag())
	assert.ErrorIs(t, r.Err(), ErrShort)
	assert.Zero(t, r.UE())
}

func TestReadsAfterAnErrorReturnZero(t *testing.T) {
	r := NewReader([]byte{0b010_00000}, 0)
	r.Bits(9)
	assert.ErrorIs(t, r.Err(), ErrShort)
	assert.Zero(t, r.UE())
	assert.Zero(t, r.Bits(1))
}

func TestExpGolombCodesAreRead(t *testing.T) {
	// 1, 010, 011, 00100, 00101, then zeros
	r := NewReader([]byte{0b10100110, 0b01000010, 0b1_0000000, 0}, 0)
	assert.EqualValues(t, 0, r.UE())
	assert.EqualValues(t, 1, r.SE())
	assert.EqualValues(t, -1, r.SE())
	assert.EqualValues(t, 3, r.UE())
	assert.True(t, r.More())
	assert.EqualValues(t, -2, r.SE())
	assert.False(t, r.More())
	assert.Zero(t, r.UE())
	assert.ErrorIs(t, r.Err(), ErrShort)

	greatest := []byte{0, 0, 0, 1, 0xff, 0xff, 0xff, 0xfe} // 31 zeros and 32 ones
	assert.EqualValues(t, uint32(math.MaxUint32-1), NewReader(greatest, 0).UE())
	r = NewReader([]byte{0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff}, 0)
	r.UE()
	assert.ErrorIs(t, r.Err(), ErrShort)
}

func TestMoreStopsAtTheTrailingBits(t *testing.T) {
	for _, c := range []struct {
		bits []byte
		more bool
	}{{[]byte{0x80}, false}, {[]byte{0xc0}, true}, {[]byte{0x80, 0, 0}, false}, {[]byte{0, 0x01}, false}, {[]byte{0, 0x03}, true}, {[]byte{0}, false}, {nil, false}} {
		assert.Equal(t, c.more, NewReader(c.bits, 0).More(), "%x", c.bits)
	}
}
