package hevc

import "github.com/robocache/robocache/internal/video/picture"

// Limits in level 6.2, which is the greatest.
const (
	maxSide     = 16888
	maxSamples  = 35_651_584
	maxSegments = 600
	maxColumns  = 20
	maxRows     = 22
)

// sequence is a sequence parameter set.
type sequence struct {
	id, width, height, bits                                  int
	crop                                                     [4]int // left, top, right, bottom, in pixels
	log2MaxPOC, maxDPB, reorder                              int
	log2MinBlock, log2DiffBlock, log2MinTrans, log2DiffTrans int
	depthInter, depthIntra                                   int
	scaling                                                  bool
	lists                                                    *scalingLists
	amp, sao                                                 bool
	pcm                                                      bool
	pcmBits, pcmBitsChroma, pcmLog2Min, pcmLog2Diff          int
	pcmUnfiltered                                            bool
	sets                                                     []referenceSet
	longTerm                                                 bool
	longTerms                                                []longReference
	temporalMVP, strongIntra                                 bool
	usability
}

func (s *sequence) log2CTB() int { return s.log2MinBlock + s.log2DiffBlock }

func inCTBs(pixels, log2 int) int { return (pixels + 1<<log2 - 1) >> log2 }

func (s *sequence) size() (columns, rows int) {
	return inCTBs(s.width, s.log2CTB()), inCTBs(s.height, s.log2CTB())
}

func (s *sequence) format() picture.Format {
	coded := func(n int) int { return (n + 15) &^ 15 }
	return picture.Format{
		Width: coded(s.width), Height: coded(s.height), Crop: s.crop,
		Bits: s.bits, Surfaces: s.maxDPB, Colour: s.colour, FullRange: s.fullRange,
	}
}

func readSequence(unit []byte) (*sequence, error) {
	r, s := newReader(unit), &sequence{lists: &flatLists, usability: usability{colour: [3]uint8{2, 2, 2}}}
	r.Skip(4) // sps_video_parameter_set_id
	layers := r.bits(3)
	r.check("sps_max_sub_layers_minus1", layers, layers < 7)
	r.Skip(1)
	r.profile(layers)
	s.id = r.unsigned("sps_seq_parameter_set_id", 15)
	r.sampleFormat(s)
	r.blocks(s, layers)
	r.tools(s)
	if r.flag() {
		r.vui(&s.usability, layers)
	}
	if r.flag() {
		r.extensions()
	}
	return s, r.err("seq_parameter_set_rbsp")
}

// profile reads profile_tier_level for the stream and its temporal layers.
func (r *reader) profile(layers int) {
	r.Skip(3)
	if profile := r.bits(5); profile > 4 { // 4 means range extensions, and Main 12 belongs to them
		r.fail(unsupported(picture.Profile, profile))
	}
	r.Skip(32 + 48 + 8)
	if layers == 0 {
		return
	}
	present := 0
	for i := range 8 {
		if flags := r.bits(2); i < layers {
			present += flags>>1*88 + flags&1*8
		}
	}
	r.Skip(present)
}

func (r *reader) sampleFormat(s *sequence) {
	if chroma := r.unsigned("chroma_format_idc", 3); chroma != 1 {
		r.fail(unsupported(picture.Chroma, chroma))
	}
	s.width = r.unsigned("pic_width_in_luma_samples", 1<<16)
	s.height = r.unsigned("pic_height_in_luma_samples", 1<<16)
	if s.width > maxSide || s.height > maxSide || s.width*s.height > maxSamples {
		r.fail(unsupported(picture.Resolution, s.width*s.height))
	}
	s.crop = [4]int{0, 0, s.width, s.height}
	if r.flag() {
		const side = maxSide / 2
		left, right := 2*r.unsigned("conf_win_left_offset", side), 2*r.unsigned("conf_win_right_offset", side)
		top, bottom := 2*r.unsigned("conf_win_top_offset", side), 2*r.unsigned("conf_win_bottom_offset", side)
		r.check("conf_win_right_offset", right/2, left+right < s.width)
		r.check("conf_win_bottom_offset", bottom/2, top+bottom < s.height)
		s.crop = [4]int{left, top, s.width - right, s.height - bottom}
	}
	s.bits = 8 + r.unsigned("bit_depth_luma_minus8", 8)
	chroma := 8 + r.unsigned("bit_depth_chroma_minus8", 8)
	if s.bits%2 != 0 || s.bits > 12 || chroma != s.bits {
		r.fail(unsupported(picture.BitDepth, max(s.bits, chroma)))
	}
}

func (r *reader) blocks(s *sequence, layers int) {
	s.log2MaxPOC = 4 + r.unsigned("log2_max_pic_order_cnt_lsb_minus4", 12)
	first := layers
	if r.flag() {
		first = 0
	}
	for range layers - first + 1 { // the last values are for the whole stream
		s.maxDPB = 1 + r.unsigned("sps_max_dec_pic_buffering_minus1", 15)
		s.reorder = r.ignored() // sps_max_num_reorder_pics
		r.ignored()             // sps_max_latency_increase_plus1
	}
	s.log2MinBlock = 3 + r.unsigned("log2_min_luma_coding_block_size_minus3", 3)
	s.log2DiffBlock = r.unsigned("log2_diff_max_min_luma_coding_block_size", 3)
	r.check("log2_diff_max_min_luma_coding_block_size", s.log2DiffBlock, s.log2CTB() >= 4 && s.log2CTB() <= 6)
	s.log2MinTrans = 2 + r.unsigned("log2_min_luma_transform_block_size_minus2", s.log2MinBlock-3)
	s.log2DiffTrans = r.unsigned("log2_diff_max_min_luma_transform_block_size", min(s.log2CTB(), 5)-s.log2MinTrans)
	s.depthInter = r.unsigned("max_transform_hierarchy_depth_inter", s.log2CTB()-s.log2MinTrans)
	s.depthIntra = r.unsigned("max_transform_hierarchy_depth_intra", s.log2CTB()-s.log2MinTrans)
	r.check("pic_width_in_luma_samples", s.width, s.width > 0 && s.width%(1<<s.log2MinBlock) == 0)
	r.check("pic_height_in_luma_samples", s.height, s.height > 0 && s.height%(1<<s.log2MinBlock) == 0)
}

func (r *reader) tools(s *sequence) {
	if s.scaling = r.flag(); s.scaling {
		s.lists = &defaultLists
		if r.flag() {
			s.lists = r.scalingLists()
		}
	}
	s.amp = r.flag()
	s.sao = r.flag()
	if s.pcm = r.flag(); s.pcm {
		s.pcmBits, s.pcmBitsChroma = 1+r.bits(4), 1+r.bits(4)
		r.check("pcm_sample_bit_depth_luma_minus1", s.pcmBits-1, s.pcmBits <= s.bits)
		r.check("pcm_sample_bit_depth_chroma_minus1", s.pcmBitsChroma-1, s.pcmBitsChroma <= s.bits)
		s.pcmLog2Min = 3 + r.unsigned("log2_min_pcm_luma_coding_block_size_minus3", min(s.log2CTB(), 5)-3)
		s.pcmLog2Diff = r.unsigned("log2_diff_max_min_pcm_luma_coding_block_size", min(s.log2CTB(), 5)-s.pcmLog2Min)
		r.check("log2_min_pcm_luma_coding_block_size_minus3", s.pcmLog2Min-3, s.pcmLog2Min >= min(s.log2MinBlock, 5))
		s.pcmUnfiltered = r.flag()
	}
	s.sets = make([]referenceSet, r.unsigned("num_short_term_ref_pic_sets", 64))
	for i := range s.sets {
		s.sets[i] = r.referenceSet(s.sets, i, s.maxDPB-1)
	}
	if s.longTerm = r.flag(); s.longTerm {
		for range r.unsigned("num_long_term_ref_pics_sps", 32) {
			s.longTerms = append(s.longTerms, longReference{lsb: r.bits(s.log2MaxPOC), used: r.flag()})
		}
	}
	s.temporalMVP = r.flag()
	s.strongIntra = r.flag()
}

// extensions reads a parameter set's extension flags. A decoder ignores flags that the standard does not define yet.
func (r *reader) extensions() {
	flags := r.bits(4) // range, multilayer, 3d, scc
	if flags&0b0110 != 0 {
		r.fail(unsupported(picture.Layers, flags))
	}
	if flags != 0 {
		r.fail(unsupported(picture.Extension, flags))
	}
}
