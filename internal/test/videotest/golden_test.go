package videotest

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestStreamsHavePackets(t *testing.T) {
	all := Streams(t, "h")
	assert.Len(t, all, 69)
	for _, s := range all {
		assert.NotEmpty(t, s.Packets, s.Name)
	}
	assert.Len(t, all["h264_g2"].Pictures, len(all["h264_g2"].Packets))
	assert.Len(t, all["h264_g2"].Shown, len(all["h264_g2"].Packets))
}

func TestDisplayOrderHasEachPacketOnce(t *testing.T) {
	all := Streams(t, "h")
	assert.Equal(t, []int{0, 2, 1, 3}, all["h264_g2b"].Order[:4])
	plain := Plain(t)
	assert.Len(t, plain, 8)
	for name, s := range plain {
		all[name] = s
	}
	for name, s := range all {
		if name == "hevc_gray12" {
			continue // the driver refuses it
		}
		order := slices.Clone(s.Order)
		slices.Sort(order)
		for i, packet := range order {
			assert.Equal(t, i, packet, name)
		}
		assert.Len(t, order, len(s.Packets), name)
	}
}

func TestFramesAreKnown(t *testing.T) {
	list := Decoded(t)
	assert.Len(t, list, 74)
	for _, f := range list {
		assert.Len(t, f.Packets, f.Count, f.Name)
	}
	first, whole := Hash([]Frame{{Width: 1, Bits: 8, Rows: [][]byte{[]byte("ab")}}, {Width: 1, Bits: 8, Rows: [][]byte{[]byte("cd")}}})
	assert.Equal(t, []string{"089c4507b5459a1d", "fc179f83ee0724dd"}, []string{first, whole}, "FNV-1a of ac and abcd")
	low := binary.NativeEndian.AppendUint16(nil, 0x241)
	first, whole = Hash([]Frame{{Width: 1, Bits: 10, Rows: [][]byte{low}}})
	high, both := Hash([]Frame{{Width: 1, Bits: 8, Rows: [][]byte{{0x40, 0x90}}}})
	assert.Equal(t, []string{high, both}, []string{first, whole})
}
