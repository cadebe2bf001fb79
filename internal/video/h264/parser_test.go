package h264

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/test/videotest"
	"github.com/robocache/robocache/internal/video/bitstream"
	"github.com/robocache/robocache/internal/video/picture"
)

// avcC returns the body of an avcC box with NAL units' lengths of size bytes.
func avcC(size int, sequence, pic []byte) []byte {
	b := []byte{1, 100, 0, 30, 0xfc | byte(size-1), 0xe0 | 1}
	b = append(binary.BigEndian.AppendUint16(b, uint16(len(sequence))), sequence...)
	b = append(b, 1)
	return append(binary.BigEndian.AppendUint16(b, uint16(len(pic))), pic...)
}

// sized returns NAL units after their lengths of size bytes.
func sized(size int, nals ...[]byte) (packet []byte) {
	for _, n := range nals {
		length := binary.BigEndian.AppendUint32(nil, uint32(len(n)))
		packet = append(append(packet, length[4-size:]...), n...)
	}
	return packet
}

func TestPacketsOfMP4(t *testing.T) {
	stream := videotest.Streams(t, "h264_slices4")["h264_slices4"]
	for _, size := range []int{2, 4} {
		var p *Parser
		for i, packet := range stream.Packets {
			var sequence, pic []byte
			var rest [][]byte
			for nal := range bitstream.Units(packet, 0) {
				switch nal[0] & 31 {
				case nalSPS:
					sequence = nal
				case nalPPS:
					pic = nal
				default:
					rest = append(rest, nal)
				}
			}
			if i == 0 {
				var err error
				p, err = New(avcC(size, sequence, pic), 0)
				require.NoError(t, err)
			}
			got, err := p.Parse(sized(size, rest...))
			require.NoError(t, err)
			assert.Equal(t, stream.Pictures[i].Slices, got.Slices)
			assert.False(t, got.Undecodable)
		}
	}
}

func TestDamagedConfigurations(t *testing.T) {
	s := newSets(1)
	config := avcC(4, s.sequence(100), s.picture())
	for n := range config {
		_, err := New(config[:n:n], 0)
		var bad *picture.InvalidError
		require.ErrorAs(t, err, &bad, "%d bytes", n)
	}
	_, err := New(append([]byte{2}, config[1:]...), 0)
	assert.Error(t, err)
	_, err = New(config, 0)
	assert.NoError(t, err)
	_, err = New(avcC(4, s.sequence(122), s.picture()), 0)
	assert.Equal(t, &picture.UnsupportedError{Codec: codec, Feature: picture.Profile, Got: 122}, err)
}

func TestPacketsWithoutPicture(t *testing.T) {
	s := newSets(1)
	p := newParser(t, 0)
	for _, packet := range [][]byte{nil, s.packet(), annexB([]byte{9, 0xf0}, []byte{10}, []byte{6, 0}, []byte{12, 255})} {
		got, err := p.Parse(packet)
		assert.NoError(t, err)
		assert.Nil(t, got)
	}
	got, err := p.Parse(annexB([]byte{9, 0xf0}, s.slice(idrHeader), []byte{11}))
	require.NoError(t, err)
	assert.Len(t, got.Slices, 1)
}

func TestRedundantSlicesAreLeftOut(t *testing.T) {
	s := newSets(1)
	s.redundant = true
	again, second := idrHeader, idrHeader
	again.redundant, second.first = true, 6
	p := newParser(t, 0)
	got, err := p.Parse(append(s.packet(), annexB(s.slice(idrHeader), s.slice(again), s.slice(second))...))
	require.NoError(t, err)
	assert.Len(t, got.Slices, 2)
	assert.Equal(t, 1, got.Params.Int(picture.Codec+redundantCount))
}

func TestAPacketIsOnePicture(t *testing.T) {
	s := newSets(2)
	first, second, last := pictureP(1), pictureP(1), pictureP(2)
	second.first, last.first = 6, 7
	for name, c := range map[string]struct {
		element string
		slices  []header
	}{
		"two pictures":             {"slice_header", []header{first, pictureP(2)}},
		"the end of another":       {"slice_header", []header{first, last}},
		"a picture twice":          {"first_mb_in_slice", []header{first, first}},
		"slices in another order":  {"first_mb_in_slice", []header{first, second, second}},
		"the second half":          {"first_mb_in_slice", []header{second}},
		"an IDR picture after one": {"slice_header", []header{first, idrHeader}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newParser(t, 0)
			for _, packet := range [][]byte{s.packet(), annexB(s.slice(idrHeader))} {
				_, err := p.Parse(packet)
				require.NoError(t, err)
			}
			var nals [][]byte
			for _, h := range c.slices {
				nals = append(nals, s.slice(h))
			}
			got, err := p.Parse(annexB(nals...))
			assert.Nil(t, got)
			var bad *picture.InvalidError
			require.ErrorAs(t, err, &bad)
			assert.Equal(t, c.element, bad.Element)
			for _, h := range []header{pictureP(2), idrHeader} { // decodable again from an IDR picture
				got, err = p.Parse(annexB(s.slice(h)))
				require.NoError(t, err)
				assert.Equal(t, !h.idr, got.Undecodable)
			}
		})
	}
}

func TestErrorsNameTheElement(t *testing.T) {
	s := newSets(1)
	slice := s.slice(idrHeader)
	with := func(change func(*sets)) []byte {
		s := newSets(1)
		change(s)
		return append(s.packet(), annexB(s.slice(idrHeader))...)
	}
	for _, c := range []struct {
		packet  []byte
		element string
		got     int64
	}{
		{with(func(s *sets) { s.references = 17 }), "max_num_ref_frames", 17},
		{with(func(s *sets) { s.frameNumBits = 17 }), "log2_max_frame_num_minus4", 13},
		{with(func(s *sets) { s.orderType = 3 }), "pic_order_cnt_type", 3},
		{with(func(s *sets) { s.qp = 26 }), "pic_init_qp_minus26", 26},
		{with(func(s *sets) { s.chromaQP[1] = -13 }), "second_chroma_qp_index_offset", -13},
		{with(func(s *sets) { s.weightedBi = 3 }), "weighted_bipred_idc", 3},
		{annexB(slice), "pic_parameter_set_id", 0},
		{append(s.packet(), annexB(s.slice(header{identity: identity{idr: true}, kind: sliceI}))...), "slice_type", 2},
		{append(s.packet(), annexB(s.slice(header{identity: identity{idr: true, reference: true, frameNum: 3}, kind: sliceI}))...), "frame_num", 3},
		{append(s.packet(), annexB(s.slice(header{first: 12}))...), "first_mb_in_slice", 12},
		{with(func(s *sets) { s.cycle = 256; s.orderType = 1 }), "num_ref_frames_in_pic_order_cnt_cycle", 256},
		{append(s.packet(), annexB(s.slice(pictureP(1, slices.Repeat([]operation{{code: 2}}, 65)...)))...), "memory_management_control_operation", 2},
		{append(s.packet(), annexB(s.slice(header{modifications: [2][]modification{slices.Repeat([]modification{{1, 0}}, 33)}}))...), "modification_of_pic_nums_idc", 1},
		{annexB([]byte{0xe5, 1}), "forbidden_zero_bit", 1},
		{[]byte{1, 2, 3}, "NALUnitLength", 3},
		{annexB(s.sequence(100)[:2]), "constraint_set0_flag", 0},
	} {
		_, err := newParser(t, 0).Parse(c.packet)
		var bad *picture.InvalidError
		require.ErrorAs(t, err, &bad, c.element)
		assert.Equal(t, c.element, bad.Element)
		assert.Equal(t, c.got, bad.Got)
	}
	_, err := newParser(t, 0).Parse(annexB(s.sequence(100)[:4]))
	assert.ErrorIs(t, err, bitstream.ErrShort)
}

func TestUnsupportedFeaturesAreNamed(t *testing.T) {
	with := func(change func(*sets), h header) []byte {
		s := newSets(1)
		change(s)
		return append(s.packet(), annexB(s.slice(h))...)
	}
	s := newSets(1)
	unordered := annexB(s.sequence(66), s.picture(), s.slice(header{first: 3}))
	groups := &writer{}
	groups.ue(0, 0)
	groups.u(2, 0)
	groups.ue(1)
	large := func(s *sets) { s.width = 1056 }
	for _, c := range []struct {
		packet  []byte
		feature picture.Feature
		got     int
	}{
		{with(func(s *sets) { s.frameOnly, s.field = false, true }, idrHeader), picture.Interlaced, 1},
		{with(func(s *sets) { s.frameOnly, s.mbaff = false, true }, idrHeader), picture.Interlaced, 1},
		{with(large, idrHeader), picture.Resolution, 16 * 1056},
		{with(func(s *sets) { s.width, s.height = 400, 400 }, idrHeader), picture.Resolution, 16 * 400},
		{with(func(*sets) {}, header{kind: 3}), picture.Profile, 88},
		{annexB(s.sequence(88)), picture.Profile, 88},
		{annexB(s.sequence(118)), picture.Profile, 118},
		{with(func(s *sets) { s.chroma = 2 }, idrHeader), picture.Chroma, 2},
		{with(func(s *sets) { s.depth = 10 }, idrHeader), picture.BitDepth, 10},
		{annexB([]byte{0x62, 1}), picture.Profile, 88},
		{annexB([]byte{0x74, 1}), picture.Layers, 20},
		{annexB(groups.nal(0x68)), picture.SliceGroups, 2},
		{unordered, picture.SliceGroups, 3},
	} {
		_, err := newParser(t, 0).Parse(c.packet)
		var other *picture.UnsupportedError
		if assert.ErrorAs(t, err, &other, "%s", c.feature) {
			assert.Equal(t, &picture.UnsupportedError{Codec: codec, Feature: c.feature, Got: c.got}, other)
		}
	}
}

func TestParameterSetsMayChange(t *testing.T) {
	s := newSets(2)
	p := newParser(t, 1)
	next := func(packet []byte) *picture.Picture {
		got, err := p.Parse(packet)
		require.NoError(t, err)
		return got
	}
	first := next(append(s.packet(), annexB(s.slice(idrHeader))...))
	same := next(append(s.packet(), annexB(s.slice(pictureP(1)))...))
	assert.Same(t, first.Format, same.Format)
	assert.False(t, same.Undecodable)

	s.qp = 3
	assert.Equal(t, 3, next(append(annexB(s.picture()), annexB(s.slice(pictureP(2)))...)).Params.Int(picture.Codec+initQP))

	s.width = 5
	larger := next(append(s.packet(), annexB(s.slice(pictureP(3)))...))
	assert.True(t, larger.Undecodable, "no IDR picture")
	assert.Equal(t, 80, larger.Format.Width)
	larger = next(annexB(s.slice(idrHeader)))
	assert.False(t, larger.Undecodable)
	assert.Empty(t, entriesOf(larger))
	s.orderType = 2
	assert.Same(t, larger.Format, next(append(s.packet(), annexB(s.slice(idrHeader))...)).Format)
}

func TestADamagedParameterSetRemovesTheOneBefore(t *testing.T) {
	for _, damaged := range [][]byte{{0x67, 100, 0, 30, 0x80}, {0x68, 0xc0}} {
		s := newSets(1)
		p := newParser(t, 0)
		_, err := p.Parse(s.packet())
		require.NoError(t, err)
		_, err = p.Parse(annexB(damaged))
		require.ErrorIs(t, err, bitstream.ErrShort)
		_, err = p.Parse(annexB(s.slice(idrHeader)))
		assert.Equal(t, &picture.InvalidError{Codec: codec, Element: "pic_parameter_set_id"}, err)
	}
}

// TestRecoveryPoints has pictures after random access. I pictures refer to no other, so they are decodable.
func TestRecoveryPoints(t *testing.T) {
	s := newSets(2)
	s.active[0] = 1
	message := func(r recovery, h header) []byte { return annexB(recoveryMessage(r), s.slice(h)) }
	i := func(num, order int) header { h := low(num, order, true); h.kind = sliceI; return h }
	absent := low(2, 4, true)
	absent.modifications[0] = []modification{{0, 9}}
	for _, c := range []struct {
		name    string
		packets [][]byte
		want    string // ? if undecodable
	}{
		{"exact", [][]byte{message(recovery{exact: true}, i(5, 8)), annexB(s.slice(low(6, 6, false))), annexB(s.slice(low(6, 12, true)))}, ".?."},
		{"inexact", [][]byte{message(recovery{}, i(5, 8)), annexB(s.slice(low(6, 12, true))), annexB(s.slice(idrHeader))}, ".?."},
		{"later", [][]byte{message(recovery{frames: 2, exact: true}, low(15, 8, true)), annexB(s.slice(low(0, 10, true))), annexB(s.slice(low(1, 12, true)))}, "??."},
		{"not a reference", [][]byte{message(recovery{exact: true}, low(5, 8, false)), annexB(s.slice(low(5, 10, true)))}, "?."},
		{"lost before the point", [][]byte{message(recovery{frames: 2, exact: true}, low(15, 8, true)), annexB(s.slice(low(1, 12, true))), annexB(s.slice(low(2, 14, true)))}, "???"},
		{"broken link", [][]byte{
			annexB(s.slice(idrHeader)), annexB(s.slice(low(1, 2, true))), message(recovery{exact: true, broken: true}, i(2, 6)),
			annexB(s.slice(low(3, 4, false))), annexB(s.slice(low(3, 8, true))),
		}, "...?."},
		{"intact", [][]byte{annexB(s.slice(idrHeader)), annexB(s.slice(low(1, 2, true))), message(recovery{exact: true}, i(2, 6)), annexB(s.slice(low(3, 4, false)))}, "...."},
		{"lost after the message", [][]byte{
			annexB(s.slice(idrHeader)), message(recovery{frames: 2, exact: true}, low(1, 2, true)), annexB(s.slice(absent)), annexB(s.slice(low(3, 6, true))),
			message(recovery{frames: 1, exact: true}, low(4, 8, true)), annexB(s.slice(low(5, 10, true))),
		}, "..???."},
		{"too far", [][]byte{message(recovery{frames: 16, exact: true}, i(5, 8)), annexB(s.slice(low(6, 12, true)))}, ".?"},
		{"cut", [][]byte{annexB([]byte{nalSEI, seiRecovery, 2, 0, 0}, s.slice(i(5, 8))), annexB(s.slice(low(6, 12, true)))}, ".?"},
		{"no message", [][]byte{annexB(s.slice(i(5, 8))), annexB(s.slice(low(6, 12, true)))}, ".?"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, got := newParser(t, 0), ""
			_, err := p.Parse(s.packet())
			require.NoError(t, err)
			for _, packet := range c.packets {
				pic, err := p.Parse(packet)
				require.NoError(t, err)
				got += map[bool]string{true: "?", false: "."}[pic.Undecodable]
			}
			assert.Equal(t, c.want, got)
		})
	}
}

func TestColoursFollowTheAspectRatio(t *testing.T) {
	s := newSets(1)
	s.vui = func(w *writer) {
		w.u(1, 1) // an aspect ratio
		w.u(8, 255)
		w.u(32, 0x40003)
		w.u(2, 3) // overscan
		w.u(1, 1) // colours
		w.u(3, 5)
		w.u(2, 3)
		w.u(24, 0x090e08)
	}
	got, err := newParser(t, 0).Parse(append(s.packet(), annexB(s.slice(idrHeader))...))
	require.NoError(t, err)
	assert.Equal(t, [3]uint8{9, 14, 8}, got.Format.Colour)
	assert.True(t, got.Format.FullRange)
}

func TestScalingListsAreInferred(t *testing.T) {
	ramp := func(size, from int) (l [64]uint8) {
		for i := range size {
			l[i] = uint8(from + i)
		}
		return l
	}
	var sequence, pic scaling
	sequence.present, pic.present = true, true
	sequence.lists = [8]origin{1: explicit, 3: standard, 7: explicit}
	sequence.sent[1], sequence.sent[7] = ramp(16, 20), ramp(64, 100)
	pic.lists = [8]origin{2: explicit, 6: standard}
	pic.sent[2] = ramp(16, 40)
	def := &standardLists
	for _, c := range []struct {
		name          string
		sequence, pic scaling
		want          matrices
	}{
		{"flat", scaling{}, scaling{}, flat},
		{"sequence", sequence, scaling{}, matrices{def[0], ramp(16, 20), ramp(16, 20), def[3], def[3], def[3], def[6], ramp(64, 100)}},
		{"picture", scaling{}, pic, matrices{def[0], def[0], ramp(16, 40), def[3], def[3], def[3], def[6], def[7]}},
		{"both", sequence, pic, matrices{def[0], def[0], ramp(16, 40), def[3], def[3], def[3], def[6], ramp(64, 100)}},
	} {
		s := newSets(1)
		s.sps.scaling, s.pps.scaling = c.sequence, c.pic
		got, err := newParser(t, 0).Parse(append(s.packet(), annexB(s.slice(idrHeader))...))
		require.NoError(t, err)
		for i, list := range c.want {
			at, order := picture.Codec+weights4x4+16*i, []int{0, 1, 4, 8, 5, 2, 3, 6, 9, 12, 13, 10, 7, 11, 14, 15}
			if i >= 6 {
				at, order = picture.Codec+weights8x8+64*(i-6), zigzag8
			}
			for j, raster := range order {
				require.Equal(t, list[j], got.Params[at+raster], "%s: list %d", c.name, i)
			}
		}
	}
	assert.Equal(t, []int{0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5}, zigzag8[:16])
	assert.Equal(t, []int{62, 63}, zigzag8[62:])
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(zigzag8))), 64)
}
