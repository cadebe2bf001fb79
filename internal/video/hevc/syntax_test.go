package hevc

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/robocache/robocache/internal/video/bitstream"
	"github.com/robocache/robocache/internal/video/picture"
)

// The fields of CUVIDHEVCPICPARAMS, as byte sizes and repetitions in their order.
func TestOffsetsFollowFromTheSizes(t *testing.T) {
	at, want := 0, []struct {
		name         string
		size, count  int
		offset, none int
	}{
		{"width, height", 4, 2, 0, 0}, {"sequence", 1, 22, blockSizes, 0}, {"IrapPicFlag, IdrPicFlag", 1, 2, keyPicture, 0},
		{"bit depths", 1, 2, 32, 0}, {"sequence extensions", 1, 4, 34, 0}, {"reserved1", 1, 10, 38, 0}, {"picture", 1, 32, pictureTools, 0},
		{"column_width_minus1", 2, tileSizes, columnSizes, 0}, {"row_height_minus1", 2, tileSizes, rowSizes, 0},
		{"range extensions", 1, 14, 164, 0}, {"cb_qp_offset_list", 1, 6, 178, 0}, {"cr_qp_offset_list", 1, 6, 184, 0}, {"reserved2", 1, 2, 190, 0},
		{"reserved3", 4, 8, 192, 0}, {"numbers", 4, 7, setBits, 0}, {"RefPicIdx", 4, 16, slotSurfaces, 0}, {"PicOrderCntVal", 4, 16, slotCounts, 0},
		{"IsLongTerm", 1, 16, slotLongTerm, 0}, {"RefPicSetStCurrBefore, After, LtCurr", 1, 3 * 8, slotLists, 0}, {"InterLayer", 1, 2 * 8, 420, 0},
		{"reserved4", 4, 12, 436, 0}, {"ScalingLists", 1, len(scalingLists{}), factors, 0},
	}
	for _, f := range want {
		at = (at + f.size - 1) / f.size * f.size
		assert.Equal(t, f.offset, at, f.name)
		at += f.size * f.count
	}
	assert.Equal(t, 1484, at)
}

// standardSet is a set in the standard's variables, and derive follows its formulas 7-61 and 7-62 word for word.
type standardSet struct {
	s0, s1       []int
	used0, used1 []int
}

func derive(ref standardSet, deltaRps int, used, use []int) (s standardSet) {
	n0, n1 := len(ref.s0), len(ref.s1)
	add0 := func(d, j int) {
		if d < 0 && use[j] == 1 {
			s.s0, s.used0 = append(s.s0, d), append(s.used0, used[j])
		}
	}
	add1 := func(d, j int) {
		if d > 0 && use[j] == 1 {
			s.s1, s.used1 = append(s.s1, d), append(s.used1, used[j])
		}
	}
	for j := n1 - 1; j >= 0; j-- {
		add0(ref.s1[j]+deltaRps, n0+j)
	}
	add0(deltaRps, n0+n1)
	for j := range n0 {
		add0(ref.s0[j]+deltaRps, j)
	}
	for j := n0 - 1; j >= 0; j-- {
		add1(ref.s0[j]+deltaRps, j)
	}
	add1(deltaRps, n0+n1)
	for j := range n1 {
		add1(ref.s1[j]+deltaRps, n0+j)
	}
	return s
}

func (s standardSet) references() []reference {
	list := []reference{}
	for i, d := range append(slices.Clone(s.s0), s.s1...) {
		list = append(list, reference{d, append(slices.Clone(s.used0), s.used1...)[i] == 1})
	}
	return list
}

// random writes st_ref_pic_set(index) with random values.
func random(r *rand.Rand, w *writer, before []standardSet, index, count int) (s standardSet, predictor int) {
	if index > 0 {
		predicted := r.IntN(2)
		if w.u(1, predicted); predicted == 1 {
			distance := 1
			if index == count {
				distance += r.IntN(index)
				w.ue(distance - 1)
			}
			ref := before[index-distance]
			delta, sign := 1+r.IntN(6), r.IntN(2)
			w.u(1, sign)
			w.ue(delta - 1)
			n := len(ref.s0) + len(ref.s1)
			used, use := make([]int, n+1), make([]int, n+1)
			for j := range n + 1 {
				used[j], use[j] = r.IntN(2), 1
				if w.u(1, used[j]); used[j] == 0 {
					use[j] = r.IntN(2)
					w.u(1, use[j])
				}
			}
			return derive(ref, delta*(1-2*sign), used, use), n
		}
	}
	n0, n1 := r.IntN(4), r.IntN(4)
	w.ue(n0, n1)
	side := func(n, sign int) (deltas, used []int) {
		d := 0
		for range n {
			step, u := 1+r.IntN(4), r.IntN(2)
			d += sign * step
			w.ue(step - 1)
			w.u(1, u)
			deltas, used = append(deltas, d), append(used, u)
		}
		return deltas, used
	}
	s.s0, s.used0 = side(n0, -1)
	s.s1, s.used1 = side(n1, 1)
	return s, 0
}

func TestReferenceSetsAreTheStandards(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	predicted, explicit := 0, 0
	for range 300 {
		var want []standardSet
		count := r.IntN(7)
		m := usual()
		m.maxDPB = 16
		m.sets = func(w *writer) {
			w.ue(count)
			for i := range count {
				s, _ := random(r, w, want, i, count)
				want = append(want, s)
			}
		}
		s, err := readSequence(m.sps()[3:])
		for _, w := range want {
			if len(w.references()) > 15 {
				assert.Equal(t, "st_ref_pic_set", err.(*picture.InvalidError).Element)
				s = nil
			}
		}
		if s == nil {
			continue
		}
		require.NoError(t, err)
		require.Len(t, s.sets, count)
		for i := range want {
			assert.Equal(t, want[i].references(), append([]reference{}, s.sets[i].references...))
			assert.Equal(t, len(want[i].s0), s.sets[i].negative)
			assert.Zero(t, s.sets[i].predictor)
		}

		var p parameterSets
		pps, err := readPictureSet(m.pps()[3:])
		require.NoError(t, err)
		p.sequences[0], p.pictures[0] = s, pps
		var set standardSet
		length, predictor := 0, 0
		unit := m.slice(1, 2, 5, func(w *writer) {
			if count > 0 && r.IntN(2) == 0 {
				i := r.IntN(count)
				w.u(1, 1)
				for bits := 1; bits < count; bits *= 2 {
					length++
				}
				w.u(length, i)
				set, length = want[i], 0
				return
			}
			w.u(1, 0)
			from := w.n
			set, predictor = random(r, w, want, count, count)
			length = w.n - from
		})
		h, _ := readUnitHeader(unit[3:])
		got, err := p.segment(unit[3:], h)
		used := 0
		for _, ref := range set.references() {
			used += flag(ref.used)
		}
		if used > 8 || len(set.references()) > 15 {
			assert.Error(t, err)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, set.references(), append([]reference{}, got.set.references...))
		assert.Equal(t, length, got.setBits)
		assert.Equal(t, predictor, got.set.predictor)
		predicted += predictor
		explicit += length
	}
	assert.Greater(t, predicted, 20)
	assert.Greater(t, explicit, 20)
}

func parameters(pic *picture.Picture) []byte { return pic.Params[picture.Codec:] }

// slots returns the order counts of a list's pictures.
func listed(pic *picture.Picture, list int) (orders []int) {
	for i := range pic.Params.Int(countAt(list)) {
		orders = append(orders, pic.Params.Int(orderAt(int(parameters(pic)[slotLists+8*list+i]))))
	}
	return orders
}

func longTerm(pic *picture.Picture) (orders []int) {
	for i := range 16 {
		if parameters(pic)[slotLongTerm+i] == 1 {
			orders = append(orders, pic.Params.Int(orderAt(i)))
		}
	}
	slices.SortFunc(orders, cmp.Compare)
	return orders
}

func TestLongTermReferences(t *testing.T) {
	m := usual()
	m.long = func(w *writer) {
		w.ue(2)
		w.u(m.log2POC, 0)
		w.u(1, 1)
		w.u(m.log2POC, 3)
		w.u(1, 0)
	}
	p, err := New(nil, 0)
	require.NoError(t, err)
	parse(t, p, slices.Concat(m.sps(), m.pps(), m.slice(idrWRADL, 2, 0, nil)))
	previous := func(w *writer) { // the picture before is a short-term reference
		w.u(1, 0)
		w.ue(1, 0, 0)
		w.u(1, 1)
	}
	next := func(order int, long func(w *writer)) *picture.Picture {
		return parse(t, p, m.slice(1, 1, order%16, func(w *writer) {
			previous(w)
			long(w)
			w.u(1, 1) // slice_temporal_mvp_enabled_flag
		}))
	}
	next(1, func(w *writer) { w.ue(0, 0) })
	for poc := 2; poc < 16; poc++ {
		pic := next(poc, func(w *writer) {
			w.ue(1, 0) // by its index in the sequence, without cycles
			w.u(1, 0)
			w.u(1, 0)
		})
		assert.False(t, pic.Undecodable)
		assert.Equal(t, []int{poc - 1}, listed(pic, 0))
		assert.Equal(t, []int{0}, listed(pic, 2))
		assert.Equal(t, []int{0}, longTerm(pic))
	}
	withCycle := func(w *writer) {
		w.ue(1, 0)
		w.u(1, 0)
		w.u(1, 1)
		w.ue(1)
	}
	pic := next(16, withCycle)
	assert.False(t, pic.Undecodable)
	assert.Equal(t, []int{0}, listed(pic, 2))
	for poc := 17; poc < 21; poc++ {
		assert.Equal(t, []int{0}, listed(next(poc, withCycle), 2))
	}
	two := func(w *writer) {
		w.ue(1, 1) // one of each kind: their cycles are counted apart
		w.u(1, 0)
		w.u(1, 1)
		w.ue(1)
		w.u(4, 3)
		w.flags(1, 1)
		w.ue(0)
	}
	for poc := 21; poc < 32; poc++ {
		pic = next(poc, two)
		assert.False(t, pic.Undecodable)
		assert.Equal(t, []int{0, 19}, listed(pic, 2))
		assert.Equal(t, []int{0, 19}, longTerm(pic))
	}
	sum := func(w *writer) {
		w.ue(0, 2) // cycles add up
		w.u(4, 3)
		w.flags(0, 1) // not for this picture
		w.ue(1)
		w.u(4, 0)
		w.flags(1, 1)
		w.ue(1)
	}
	pic = next(32, sum)
	assert.False(t, pic.Undecodable)
	assert.Equal(t, []int{0}, listed(pic, 2))
	assert.Equal(t, []int{0, 19}, longTerm(pic))
	ambiguous := next(33, func(w *writer) { // 0 and 32 have the same least significant bits
		w.ue(0, 1)
		w.u(4, 0)
		w.flags(1, 0)
	})
	assert.True(t, ambiguous.Undecodable)
	assert.Equal(t, 33, order(ambiguous))
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

	// A picture parameter set has lists of its own.
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
		w.ue(1, 2, 0)
		w.u(1, 0)
	}
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
		Width: 416, Height: 240, Crop: [4]int{2, 6, 412, 232}, Bits: 8, Surfaces: 6, Colour: [3]uint8{9, 16, 9}, FullRange: true,
	}, *pic.Format)
	b := parameters(pic)
	assert.Equal(t, []byte{0, 3, 0, 3, 1, 0, 2, 6, 4, 1, 0, 2, 1, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0}, b[blockSizes:][:26])
	signed := func(v int8) byte { return byte(v) }
	assert.Equal(t, []byte{
		1, 1, 1, 1, 1, 0, signed(-3), 4, 0, 0, 1, 1, 0, 0, 1, 2, 0, 1, 1, 2, 1, 0, 0, 1, 1, 0, signed(-6), 5, 1, 0, 2, 1,
	}, b[pictureTools:][:32])
	assert.Equal(t, []byte{1, 0, 2, 0, 1, 0, 0, 0}, b[columnSizes:][:8]) // 2, 3 and 2 of 7
	assert.Equal(t, []byte{0, 0, 2, 0, 0, 0}, b[rowSizes:][:6])          // 1 and 3 of 4
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
	for structure, unit := range map[string][]byte{"seq_parameter_set_rbsp": usualSPS, "pic_parameter_set_rbsp": usualPPS, "slice_segment_header": key} {
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
	w.u(5, address) // of 28 coding tree blocks
	w.ue(2)
	w.u(16, 0x5a5a)
	return w.unit(kind)
}
