package hevc

import (
	"bytes"
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/thorough"
	"github.com/robocache/robocache/internal/test/videotest"
	"github.com/robocache/robocache/internal/video/bitstream"
	"github.com/robocache/robocache/internal/video/picture"
)

func parse(t *testing.T, p *Parser, packet []byte) *picture.Picture {
	t.Helper()
	pic, err := p.Parse(packet)
	require.NoError(t, err)
	require.NotNil(t, pic)
	checkPicture(t, pic)
	return pic
}

func order(pic *picture.Picture) int { return pic.Params.Int(picture.Codec + setBits + 24) }

// The streams are by kvazaar 2.3.2 from ffmpeg's testsrc2, and the order in which ffprobe shows their frames.
func TestTilesAndSlicesOfKvazaar(t *testing.T) {
	for _, c := range []struct {
		name          string
		shown         []int
		segments      int
		tiles         [4]byte // enabled, uniform, columns-1, rows-1
		columns, rows [3]byte
	}{
		{"hevc_tiles", []int{0, 4, 3, 5, 2, 7, 6, 8, 1, 9}, 1, [4]byte{1, 1, 1, 2}, [3]byte{1, 1}, [3]byte{}},
		{"hevc_tilesexplicit", []int{0, 1, 2, 3, 4, 5, 6, 7}, 1, [4]byte{1, 0, 2, 1}, [3]byte{0, 2, 0}, [3]byte{1, 0}},
		{"hevc_tileslices", []int{0, 3, 2, 4, 1, 6, 5, 7}, 4, [4]byte{1, 1, 1, 1}, [3]byte{1, 1}, [3]byte{0, 1}},
		{"hevc_wppslices", []int{0, 3, 2, 4, 1, 6, 5, 7}, 3, [4]byte{0, 1, 0, 0}, [3]byte{}, [3]byte{}},
		{"hevc_tilewpp", []int{0, 3, 2, 4, 1, 6, 5, 7}, 8, [4]byte{1, 1, 1, 1}, [3]byte{1, 2}, [3]byte{1, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := New(nil, 0)
			require.NoError(t, err)
			var orders, shown []int
			stream := videotest.Plain(t)[c.name]
			for i, packet := range stream.Packets {
				pic := parse(t, p, packet)
				assert.False(t, pic.Undecodable)
				assert.Len(t, pic.Slices, c.segments)
				b := pic.Params[picture.Codec:]
				assert.Equal(t, c.tiles, [4]byte(b[76:80]))
				for j := range c.columns {
					assert.Equal(t, c.columns[j], b[columnSizes+2*j])
					assert.Equal(t, c.rows[j], b[rowSizes+2*j])
				}
				orders, shown = append(orders, order(pic)), append(shown, i)
			}
			slices.SortFunc(shown, func(a, b int) int { return cmp.Compare(orders[a], orders[b]) })
			assert.Equal(t, c.shown, shown)
			assert.Equal(t, c.shown, stream.Order)
		})
	}
}

// lengths returns a packet with lengths for start codes. It moves parameter sets to sets.
func lengths(packet []byte, size int, sets *[][]byte) (out []byte) {
	for unit := range bitstream.Units(packet, 0) {
		if kind := unit[0] >> 1; kind >= 32 && kind <= 34 {
			*sets = append(*sets, unit)
			continue
		}
		for i := range size {
			out = append(out, byte(len(unit)>>(8*(size-1-i))))
		}
		out = append(out, unit...)
	}
	return out
}

func configuration(size int, sets [][]byte) []byte {
	b := append(make([]byte, 21), byte(size-1), byte(len(sets)))
	b[0] = 1
	for _, unit := range sets {
		b = append(b, unit[0]>>1, 0, 1, byte(len(unit)>>8), byte(len(unit)))
		b = append(b, unit...)
	}
	return b
}

func TestPacketsWithLengths(t *testing.T) {
	for _, size := range []int{2, 4} {
		s := videotest.Streams(t, "hevc_slices")["hevc_slices"]
		annexB, err := New(nil, 1)
		require.NoError(t, err)
		var sets, packets [][]byte
		for _, packet := range s.Packets {
			packets = append(packets, lengths(packet, size, &sets))
		}
		p, err := New(configuration(size, sets), 1)
		require.NoError(t, err)
		for i, packet := range packets {
			assert.Equal(t, parse(t, annexB, s.Packets[i]), parse(t, p, packet))
		}
		for end := 1; end < 23+5; end++ {
			_, err := New(configuration(size, sets)[:end], 1)
			var bad *picture.InvalidError
			require.ErrorAs(t, err, &bad, "%d bytes", end)
			assert.ErrorIs(t, err, bitstream.ErrShort)
		}
		_, err = p.Parse(packets[1][:len(packets[1])-1])
		assert.Equal(t, "nal_unit", err.(*picture.InvalidError).Element)
	}
	_, err := New(configuration(4, [][]byte{{1, 0}}), 0)
	assert.Equal(t, &picture.InvalidError{Codec: "hevc", Element: "nuh_temporal_id_plus1", Got: 0}, err)
	_, err = New(bytes.Repeat([]byte{2}, 40), 0)
	assert.Equal(t, &picture.InvalidError{Codec: "hevc", Element: "configurationVersion", Got: 2}, err)
	_, err = New(configuration(3, nil), 0)
	assert.Equal(t, &picture.InvalidError{Codec: "hevc", Element: "lengthSizeMinusOne", Got: 2}, err)
}

// history is a picture, and the packets from which its slots were decoded.
type history struct {
	picture *picture.Picture
	refs    map[int]int // order count to packet
	used    []int       // packets in the lists
}

// follow parses packets and skips some. It checks that a surface is not used again too early.
func follow(t *testing.T, packets [][]byte, extra int, skip func(p *Parser, i int) bool) map[int]history {
	p, err := New(nil, extra)
	require.NoError(t, err)
	made, at, since := map[int]history{}, map[int]int{}, map[int]int{}
	for i, packet := range packets {
		if skip(p, i) {
			continue
		}
		pic := parse(t, p, packet)
		h := history{picture: pic, refs: map[int]int{}}
		for slot := range 16 {
			if s := pic.Params.Int(surfaceAt(slot)); s >= 0 {
				h.refs[pic.Params.Int(orderAt(slot))] = at[s]
			}
		}
		for list := range 3 {
			for j := range pic.Params.Int(countAt(list)) {
				if slot := int(pic.Params[picture.Codec+slotLists+8*list+j]); !pic.Undecodable {
					h.used = append(h.used, at[pic.Params.Int(surfaceAt(slot))])
				}
			}
		}
		surface := pic.Params.Int(picture.Surface)
		if last, ok := since[surface]; ok {
			assert.Greater(t, len(made)-last, extra)
		}
		at[surface], since[surface] = i, len(made)
		made[i] = h
	}
	return made
}

func whole(*Parser, int) bool { return false }

// lost returns the packets that refer to absent ones: to a lost packet, to one in lost, or before the key picture from.
func lost(all map[int]history, count, dropped, from int) map[int]bool {
	bad := map[int]bool{}
	for i := range count {
		bad[i] = i == dropped || i < from
		for _, ref := range all[i].used {
			bad[i] = bad[i] || bad[ref]
		}
	}
	return bad
}

func TestLostPacketsMakeExactlyTheirDependantsUndecodable(t *testing.T) {
	for name, s := range videotest.Streams(t, "hevc_") {
		if name == "hevc_gray12" {
			continue
		}
		all := follow(t, s.Packets, 3, whole)
		for dropped := 1; dropped < len(s.Packets); dropped += thorough.Of(3, 1) {
			if s.Packets[dropped][3]>>1 >= 16 { // a key picture, which the stream may need for its parameter sets
				continue
			}
			bad := lost(all, len(s.Packets), dropped, 0)
			some := follow(t, s.Packets, 3, func(_ *Parser, i int) bool { return i == dropped })
			for i, h := range some {
				require.Equal(t, bad[i], h.picture.Undecodable, "%s: packet %d without %d", name, i, dropped)
				if !bad[i] {
					require.Equal(t, all[i].used, h.used)
				}
			}
		}
	}
}

// A key picture that is absent begins the order counts anew, so that they could match earlier pictures.
func TestAbsentKeyPicturesMakeTheirGroupsUndecodable(t *testing.T) {
	for name, s := range videotest.Streams(t, "hevc_") {
		if name == "hevc_gray12" || len(s.Packets) < 3 {
			continue
		}
		for count := 2; count < 4; count++ { // pictures in a group
			p, err := New(nil, 1)
			require.NoError(t, err)
			for range 2 {
				for _, packet := range s.Packets[:count] {
					assert.False(t, parse(t, p, packet).Undecodable)
				}
			}
			for _, packet := range s.Packets[1:count] {
				if pic := parse(t, p, packet); !isKey(pic) {
					assert.True(t, pic.Undecodable, "%s with %d pictures", name, count)
				}
			}
			assert.False(t, parse(t, p, s.Packets[0]).Undecodable)
		}
	}
}

func isKey(pic *picture.Picture) bool { return pic.Params[picture.Codec+keyPicture] == 1 }

func TestSeeksSkipOnlyLeadingPictures(t *testing.T) {
	leading := 0
	for name, s := range videotest.Streams(t, "hevc_") {
		if name == "hevc_gray12" {
			continue
		}
		all := follow(t, s.Packets, 3, whole)
		for start := 0; start < len(s.Packets); start += thorough.Of(2, 1) {
			some := follow(t, s.Packets, 3, func(p *Parser, i int) bool {
				if i == start {
					p.Reset()
				}
				return i > 0 && i < start // the first packet has the parameter sets
			})
			key := start
			for key < len(s.Packets) && !isKey(all[key].picture) {
				key++
			}
			bad := lost(all, len(s.Packets), -1, key)
			for i := max(start, 1); i < len(s.Packets); i++ {
				require.Equal(t, bad[i], some[i].picture.Undecodable, "%s: packet %d from %d", name, i, start)
				if !bad[i] {
					require.Equal(t, all[i].used, some[i].used)
				} else if i > key {
					leading++
				}
			}
		}
	}
	assert.Greater(t, leading, 10)
}

func TestAnEndOfSequenceBeginsAnew(t *testing.T) {
	s := videotest.Streams(t, "hevc_opengop")["hevc_opengop"]
	all := follow(t, s.Packets, 3, whole)
	key := 1
	for !isKey(all[key].picture) {
		key++
	}
	for kind := byte(eosUnit); kind <= eobUnit; kind++ {
		for _, before := range []bool{false, true} {
			packets, end := slices.Clone(s.Packets), []byte{0, 0, 1, kind << 1, 1}
			if before {
				packets[key] = append(end, packets[key]...)
			} else {
				packets[key-1] = append(slices.Clip(packets[key-1]), end...)
			}
			some := follow(t, packets, 3, whole)
			bad := lost(all, len(packets), -1, key)
			for i := key; i < len(packets); i++ {
				assert.Equal(t, bad[i], some[i].picture.Undecodable, "packet %d", i)
			}
			assert.True(t, some[key+1].picture.Undecodable)
		}
	}
}

func TestParameterSetsMayChange(t *testing.T) {
	p, err := New(nil, 2)
	require.NoError(t, err)
	all := videotest.Streams(t, "hevc_")
	var formats []*picture.Format
	for _, name := range []string{"hevc_main", "hevc_crop_162x146", "hevc_main10", "hevc_g2", "hevc_main", "hevc_repeat"} {
		for i, packet := range all[name].Packets {
			pic := parse(t, p, packet)
			assert.False(t, pic.Undecodable)
			if i == 0 {
				formats = append(formats, pic.Format)
			}
			assert.Same(t, formats[len(formats)-1], pic.Format)
			want := all[name].Pictures[i].Params
			assert.Equal(t, want.Int(picture.Codec+setBits+24), order(pic))
		}
	}
	assert.NotSame(t, formats[0], formats[1])
	assert.Equal(t, 10, formats[2].Bits)

	// After another sequence, the group's remaining pictures have no references.
	parse(t, p, all["hevc_main"].Packets[0])
	_, err = p.Parse(sets(all["hevc_ctu16"].Packets[0]))
	require.NoError(t, err)
	assert.True(t, parse(t, p, all["hevc_main"].Packets[1]).Undecodable)
	assert.True(t, parse(t, p, all["hevc_main"].Packets[2]).Undecodable)
	assert.False(t, parse(t, p, all["hevc_main"].Packets[0]).Undecodable)
	assert.False(t, parse(t, p, all["hevc_main"].Packets[1]).Undecodable)
}

// A picture is never decoded with a set that a damaged one replaces.
func TestDamagedParameterSetsRemoveEarlierOnes(t *testing.T) {
	m := usual()
	sps, pps, key := m.sps(), m.pps(), m.slice(idrNLP, 2, 0, nil)
	for element, damaged := range map[string][]byte{"slice_pic_parameter_set_id": pps[:8], "pps_seq_parameter_set_id": sps[:24]} {
		p, err := New(nil, 0)
		require.NoError(t, err)
		parse(t, p, slices.Concat(sps, pps, key))
		_, err = p.Parse(append(slices.Clip(damaged), key...))
		assert.ErrorIs(t, err, bitstream.ErrShort)
		_, err = p.Parse(key)
		assert.Equal(t, invalid(element, 0), err)
		assert.False(t, parse(t, p, slices.Concat(sps, pps, key)).Undecodable)
	}
}

// sets returns the parameter sets in a packet.
func sets(packet []byte) (out []byte) {
	for unit := range bitstream.Units(packet, 0) {
		if kind := unit[0] >> 1; kind >= 32 && kind <= 34 {
			out = append(append(out, 0, 0, 1), unit...)
		}
	}
	return out
}

func TestPacketsWithoutSlicesHaveNoPicture(t *testing.T) {
	p, err := New(nil, 0)
	require.NoError(t, err)
	for _, unit := range []string{"", "\x46\x01\x50", "\x4e\x01\x05\x00\x80", "\x7c\x01", "\x2c\x01"} {
		pic, err := p.Parse([]byte("\x00\x00\x01" + unit))
		assert.NoError(t, err)
		assert.Nil(t, pic)
	}
}
