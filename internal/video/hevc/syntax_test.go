package hevc

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/video/bitstream"
	"github.com/robocache/robocache/internal/video/picture"
)

// The table has the fields in CUVIDHEVCPICPARAMS: bytes, repetitions, and the offset that the package uses.
func TestOffsetsFollowFromTheSizes(t *testing.T) {
	at, want := 0, []struct {
		name                string
		size, count, offset int
	}{
		{"width, height", 4, 2, 0},
		{"sequence", 1, 22, blockSizes},
		{"IrapPicFlag, IdrPicFlag", 1, 2, keyPicture},
		{"bit depths", 1, 2, 32},
		{"sequence extensions", 1, 4, 34},
		{"reserved1", 1, 10, 38},
		{"picture", 1, 32, pictureTools},
		{"column_width_minus1", 2, tileSizes, columnSizes},
		{"row_height_minus1", 2, tileSizes, rowSizes},
		{"range extensions", 1, 14, 164},
		{"cb_qp_offset_list", 1, 6, 178},
		{"cr_qp_offset_list", 1, 6, 184},
		{"reserved2", 1, 2, 190},
		{"reserved3", 4, 8, 192},
		{"numbers", 4, 7, setBits},
		{"RefPicIdx", 4, 16, slotSurfaces},
		{"PicOrderCntVal", 4, 16, slotCounts},
		{"IsLongTerm", 1, 16, slotLongTerm},
		{"RefPicSetStCurrBefore, After, LtCurr", 1, 3 * 8, slotLists},
		{"InterLayer", 1, 2 * 8, 420},
		{"reserved4", 4, 12, 436},
		{"ScalingLists", 1, len(scalingLists{}), factors},
	}
	for _, f := range want {
		at = (at + f.size - 1) / f.size * f.size
		assert.Equal(t, f.offset, at, f.name)
		at += f.size * f.count
	}
	assert.Equal(t, 1484, at)
}

func TestScalingListsArePredicted(t *testing.T) {
	m := usual()
	m.scaling = func(w *writer) {
		w.u(1, 1)
		for size := range 4 {
			for matrix := range matrices(size) {
				switch {
				case matrix == 0: // explicit: 1, 2, 3 and so on, after a DC factor for the greater ones
					w.u(1, 1)
					factor := 8
					if size > 1 {
						factor = 30 + size
						w.se(factor - 8)
					}
					for i := range len(flatLists.list(size, 0)) {
						w.se(i + 1 - factor)
						factor = i + 1
					}
				case matrix == 1 && size < 3: // the default
					w.u(1, 0)
					w.ue(0)
				default: // the first or the one before
					w.u(1, 0)
					w.ue(matrix - matrix%2)
				}
			}
		}
	}
	s, err := readSequence(m.sps()[3:])
	require.NoError(t, err)
	rising := func(n int) (b []byte) {
		for i := range n {
			b = append(b, byte(i+1))
		}
		return b
	}
	for size := range 4 {
		n := len(flatLists.list(size, 0))
		assert.Equal(t, rising(n), s.lists.list(size, 0))
		if size == 3 {
			assert.Equal(t, defaultLists.list(3, 1), s.lists.list(3, 1))
			assert.Equal(t, []byte{33, 16}, []byte{*s.lists.dc(3, 0), *s.lists.dc(3, 1)})
			continue
		}
		assert.Equal(t, defaultLists.list(size, 1), s.lists.list(size, 1))
		for matrix := 2; matrix < 6; matrix++ {
			assert.Equal(t, s.lists.list(size, matrix%2*matrix), s.lists.list(size, matrix), "%d, %d", size, matrix)
		}
		if size == 2 {
			assert.Equal(t, []byte{32, 16, 32}, []byte{*s.lists.dc(2, 0), *s.lists.dc(2, 1), *s.lists.dc(2, 2)})
		}
	}

	// A picture parameter set may have its own lists.
	first := func(m made) *picture.Picture {
		p, err := New(nil, 0)
		require.NoError(t, err)
		return parse(t, p, slices.Concat(m.sps(), m.pps(), m.slice(idrNLP, 2, 0, nil)))
	}
	assert.Equal(t, s.lists[:], parameters(first(m))[factors:][:len(s.lists)])
	m.lists = func(w *writer) {
		for size := range 4 {
			for range matrices(size) {
				w.u(1, 0)
				w.ue(0)
			}
		}
	}
	assert.Equal(t, defaultLists[:], parameters(first(m))[factors:][:len(s.lists)])
	m.scaling = nil
	assert.Equal(t, flatLists[:], parameters(first(m))[factors:][:len(s.lists)])
}

func TestAllSyntaxIsRead(t *testing.T) {
	m := usual()
	m.layers, m.extra, m.output, m.dependent = 6, 2, 1, 1
	m.pcm = func(w *writer) {
		w.u(4, 6)
		w.u(4, 4)
		w.ue(0, 2)
		w.u(1, 1)
	}
	m.vui = func(w *writer) {
		w.u(1, 1)
		w.u(8, 255)
		w.u(32, 0x00010001)
		w.flags(1, 0)
		w.u(1, 1)
		w.u(3, 5)
		w.flags(1, 1)
		w.u(24, 9<<16|16<<8|9)
		w.u(1, 1)
		w.ue(2, 2)
		w.flags(0, 0, 1)
		w.u(1, 1)
		w.ue(1, 2, 3, 4)
		w.u(1, 1)
		w.u(32, 1000)
		w.u(32, 30000)
		w.u(1, 1)
		w.ue(7)
		w.u(1, 1)
		w.flags(1, 1, 1)
		w.u(19, 0)
		w.u(8, 0)
		w.u(4, 0)
		w.u(15, 0)
		for i := range m.layers + 1 {
			cpbs := 2
			switch i % 3 {
			case 0:
				w.u(1, 1) // fixed_pic_rate_general_flag
				w.ue(3, 1)
			case 1:
				w.flags(0, 1)
				w.ue(3, 1)
			default:
				w.flags(0, 0, 1) // low_delay_hrd_flag
				cpbs = 1
			}
			for range 2 * cpbs {
				w.ue(100000, 5, 7, 9)
				w.u(1, 1)
			}
		}
		w.u(1, 1)
		w.flags(0, 1, 0)
		w.ue(0, 1, 2, 15, 15)
	}
	m.tiles = func(w *writer) {
		w.ue(2, 1)
		w.u(1, 0)
		w.ue(3, 4, 0)
		w.u(1, 0)
	}
	m.width = 832
	m.control = func(w *writer) {
		w.flags(1, 0)
		w.se(-6, 5)
	}
	p, err := New(nil, 0)
	require.NoError(t, err)
	pic := parse(t, p, slices.Concat(m.sps(), m.pps(), m.slice(cra, 2, 9, func(w *writer) {
		w.u(1, 0)
		w.ue(0, 0)
	})))
	assert.Equal(t, picture.Format{
		Width: 832, Height: 240, Crop: [4]int{2, 6, 828, 232}, Bits: 8, Surfaces: 6, Colour: [3]uint8{9, 16, 9}, FullRange: true,
	}, *pic.Format)
	b := parameters(pic)
	assert.Equal(t, []byte{0, 3, 0, 3, 1, 0, 2, 6, 4, 1, 0, 2, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0}, b[blockSizes:][:26])
	signed := func(v int8) byte { return byte(v) }
	assert.Equal(t, []byte{
		1, 1, 1, 1, 1, 0, signed(-3), 4, 0, 0, 1, 1, 0, 0, 1, 2, 0, 1, 1, 2, 1, 0, 0, 1, 1, 0, signed(-6), 5, 1, 0, 2, 1,
	}, b[pictureTools:][:32])
	assert.Equal(t, []byte{3, 0, 4, 0, 3, 0, 0, 0}, b[columnSizes:][:8]) // 4, 5 and 4, together 13
	assert.Equal(t, []byte{0, 0, 2, 0, 0, 0}, b[rowSizes:][:6])          // 1 and 3, together 4
	assert.Equal(t, 9, order(pic))
	assert.Equal(t, 2, pic.Params.Int(picture.Codec+setBits))

	// The extension flags are read at the right place.
	m.extension = 0x0f
	_, err = readSequence(m.sps()[3:])
	assert.NoError(t, err)
	m.extension, m.pictureExtension = 0x80, 0x10
	_, err = readSequence(m.sps()[3:])
	assert.Equal(t, unsupported(picture.Extension, 8), err)
	_, err = readPictureSet(m.pps()[3:])
	assert.Equal(t, unsupported(picture.Extension, 1), err)
	m.extension = 0x40
	_, err = readSequence(m.sps()[3:])
	assert.Equal(t, unsupported(picture.Layers, 4), err)
}

func TestUnsupportedStreamsHaveTheirReason(t *testing.T) {
	for want, change := range map[picture.UnsupportedError]func(m *made){
		{Feature: picture.Profile, Got: 9}:              func(m *made) { m.profile = 9 },
		{Feature: picture.Chroma, Got: 0}:               func(m *made) { m.chroma = 0 },
		{Feature: picture.Chroma, Got: 2}:               func(m *made) { m.chroma = 2 },
		{Feature: picture.Chroma, Got: 3}:               func(m *made) { m.chroma = 3 },
		{Feature: picture.BitDepth, Got: 9}:             func(m *made) { m.depth, m.chromaDepth = 1, 1 },
		{Feature: picture.BitDepth, Got: 10}:            func(m *made) { m.chromaDepth = 2 },
		{Feature: picture.BitDepth, Got: 16}:            func(m *made) { m.depth, m.chromaDepth = 8, 8 },
		{Feature: picture.Resolution, Got: 16896 * 240}: func(m *made) { m.width = 16896 },
		{Feature: picture.Resolution, Got: 8192 * 8192}: func(m *made) { m.width, m.height = 8192, 8192 },
		{Feature: picture.Interlaced, Got: 1}: func(m *made) {
			m.vui = func(w *writer) { w.u(8, 0b00000100); w.u(16, 0) }
		},
		{Feature: picture.Extension, Got: 8}: func(m *made) { m.extension = 128 },
		{Feature: picture.Layers, Got: 2}:    func(m *made) { m.extension = 32 },
	} {
		m := usual()
		change(&m)
		want.Codec = codec
		p, err := New(nil, 0)
		require.NoError(t, err)
		_, err = p.Parse(m.sps())
		assert.Equal(t, &want, err)
	}
	p, err := New(nil, 0)
	require.NoError(t, err)
	_, err = p.Parse([]byte{0, 0, 1, 1 << 1, 1<<3 | 1})
	assert.Equal(t, unsupported(picture.Layers, 1), err)
	for size, tiles := range map[int][]int{192: {1, 0}, 32: {0, 2}} {
		m := usual()
		m.height = 112
		m.coding[1] = 3 - tiles[1]/2 // blocks of 64 or 32 pixels
		m.tiles = func(w *writer) {
			w.ue(tiles...)
			w.u(1, 1)
			w.u(1, 1)
		}
		_, err = p.Parse(slices.Concat(m.sps(), m.pps(), m.slice(idrNLP, 2, 0, nil)))
		assert.Equal(t, unsupported(picture.Tiles, size), err)
	}
}

func TestInvalidSyntaxIsNamed(t *testing.T) {
	m := usual()
	usualSPS, usualPPS, key := m.sps(), m.pps(), m.slice(idrNLP, 2, 0, nil)
	changed := func(change func(m *made)) []byte {
		m := usual()
		change(&m)
		return slices.Concat(m.sps(), m.pps(), m.slice(idrNLP, 2, 0, nil))
	}
	none := func(w *writer) { w.u(1, 0); w.ue(0, 0) }
	three := usual()
	three.long = func(w *writer) { w.ue(3); w.u(15, 0) }
	for _, c := range []struct {
		element string
		got     int
		packet  []byte
	}{
		{"forbidden_zero_bit", 1, []byte{0, 0, 1, 0x82, 1}},
		{"nuh_temporal_id_plus1", 0, []byte{0, 0, 1, 0x02, 0, 1}},
		{"nal_unit_header", 1, []byte{0, 0, 1, 2}},
		{"nal_unit", 2, []byte{2, 1, 0, 0, 1, 0x46, 1}},
		{"slice_pic_parameter_set_id", 0, key},
		{"pps_seq_parameter_set_id", 0, slices.Concat(usualPPS, key)},
		{"sps_max_sub_layers_minus1", 7, changed(func(m *made) { m.layers = 7 })},
		{"conf_win_right_offset", 2, changed(func(m *made) { m.width = 0 })},
		{"pic_width_in_luma_samples", 412, changed(func(m *made) { m.width = 412 })},
		{"log2_max_pic_order_cnt_lsb_minus4", 13, changed(func(m *made) { m.log2POC = 17 })},
		{"sps_max_dec_pic_buffering_minus1", 16, changed(func(m *made) { m.maxDPB = 17 })},
		{"log2_diff_max_min_luma_coding_block_size", 0, changed(func(m *made) { m.coding[1] = 0 })},
		{"log2_min_luma_transform_block_size_minus2", 1, changed(func(m *made) { m.coding[2] = 1 })},
		{"log2_diff_max_min_luma_transform_block_size", 4, changed(func(m *made) { m.coding[3] = 4 })},
		{"max_transform_hierarchy_depth_inter", 5, changed(func(m *made) { m.coding[4] = 5 })},
		{"num_short_term_ref_pic_sets", 65, changed(func(m *made) { m.sets = func(w *writer) { w.ue(65) } })},
		{"num_negative_pics", 6, changed(func(m *made) { m.sets = func(w *writer) { w.ue(1, 6) } })},
		{"num_positive_pics", 3, changed(func(m *made) { m.sets = func(w *writer) { w.ue(1, 3, 3) } })},
		{"num_long_term_ref_pics_sps", 33, changed(func(m *made) { m.long = func(w *writer) { w.ue(33) } })},
		{"pcm_sample_bit_depth_luma_minus1", 8, changed(func(m *made) { m.pcm = func(w *writer) { w.u(8, 0x87) } })},
		{"scaling_list_pred_matrix_id_delta", 1, changed(func(m *made) { m.scaling = func(w *writer) { w.flags(1, 0); w.ue(1) } })},
		{"init_qp_minus26", -27, changed(func(m *made) { m.initQP = -27 })},
		{"init_qp_minus26", 26, changed(func(m *made) { m.initQP = 26 })},
		{"num_tile_columns_minus1", 20, changed(func(m *made) { m.tiles = func(w *writer) { w.ue(20) } })},
		{"num_tile_columns_minus1", 13, changed(func(m *made) { m.tiles = func(w *writer) { w.ue(13, 0); w.flags(1, 1) } })},
		{"num_tile_rows_minus1", 1, changed(func(m *made) { m.tiles = func(w *writer) { w.ue(0, 1); w.flags(0); w.ue(3); w.flags(1) } })},
		{"diff_cu_qp_delta_depth", 1, changed(func(m *made) { m.coding = []int{1, 0, 0, 2, 1, 2} })},
		{"log2_parallel_merge_level_minus2", 3, changed(func(m *made) { m.coding, m.merge = []int{0, 1, 0, 2, 1, 2}, 3 })},
		{"lt_idx_sps", 3, slices.Concat(three.sps(), usualPPS, m.slice(1, 2, 0, func(w *writer) {
			none(w)
			w.ue(1, 0)
			w.u(2, 3)
		}))},
		{"slice_type", 1, slices.Concat(usualSPS, usualPPS, m.slice(idrNLP, 1, 0, nil))},
		{"slice_type", 3, slices.Concat(usualSPS, usualPPS, m.slice(idrNLP, 3, 0, nil))},
		{"slice_type", 0, slices.Concat(usualSPS, usualPPS, m.slice(1, 0, 0, none))},
		{"short_term_ref_pic_set_idx", 0, slices.Concat(usualSPS, usualPPS, m.slice(1, 2, 0, func(w *writer) { w.u(1, 1) }))},
		{"first_slice_segment_in_pic_flag", 1, slices.Concat(usualSPS, usualPPS, key, key)},
		{"first_slice_segment_in_pic_flag", 0, slices.Concat(usualSPS, usualPPS, later(20, 5))},
		{"slice_segment_address", 28, slices.Concat(usualSPS, usualPPS, key, later(20, 28))},
		{"slice_segment_address", 0, slices.Concat(usualSPS, usualPPS, key, later(20, 0))},
		{"slice_segment_address", 7, slices.Concat(usualSPS, usualPPS, key, later(20, 7), later(20, 7))},
		{"nal_unit_type", 19, slices.Concat(usualSPS, usualPPS, key, later(19, 7))},
		{"slice_pic_parameter_set_id", 0, slices.Concat(usualSPS, usualPPS, key, usualPPS, later(20, 7))},
	} {
		p, err := New(nil, 0)
		require.NoError(t, err)
		_, err = p.Parse(c.packet)
		assert.Equal(t, invalid(c.element, c.got), err, c.element)
	}
	for structure, unit := range map[string][]byte{
		"seq_parameter_set_rbsp": usualSPS, "pic_parameter_set_rbsp": usualPPS, "slice_segment_header": key,
	} {
		p, err := New(nil, 0)
		require.NoError(t, err)
		if structure == "slice_segment_header" {
			_, err := p.Parse(slices.Concat(usualSPS, usualPPS))
			require.NoError(t, err)
		}
		_, err = p.Parse(unit[:5])
		assert.ErrorIs(t, err, bitstream.ErrShort)
		assert.Equal(t, structure, err.(*picture.InvalidError).Element)
	}
}

// later returns a slice that is not the first one.
func later(kind, address int) []byte {
	w := &writer{}
	w.flags(0, 0)
	w.ue(0)
	w.u(5, address) // among 28 coding tree blocks
	w.ue(2)
	w.u(16, 0x5a5a)
	return w.unit(kind)
}

func TestPicturesMayBeHidden(t *testing.T) {
	for output := range 2 {
		for hidden := range output + 1 {
			m := usual()
			m.output, m.hidden = output, hidden
			p, err := New(nil, 0)
			require.NoError(t, err)
			pic := parse(t, p, slices.Concat(m.sps(), m.pps(), m.slice(idrNLP, 2, 0, nil)))
			assert.Equal(t, hidden == 1, pic.Hidden)
		}
	}
}
