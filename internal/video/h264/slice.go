package h264

import (
	"math"

	"github.com/robocache/robocache/internal/video/picture"
)

// Slice kinds: slice_type modulo 5.
const (
	sliceP = 0
	sliceB = 1
	sliceI = 2
)

// identity has the elements that a picture's slices share (section 7.4.1.2.4).
type identity struct {
	pps       int
	frameNum  int
	reference bool
	idr       bool
	idrID     int
	orderLow  int    // pic_order_cnt_lsb
	delta     [2]int // delta_pic_order_cnt_bottom is the second if the type is 0
}

// header is a slice header.
type header struct {
	identity
	first         int // first_mb_in_slice
	kind          int
	redundant     bool
	active        [2]int // lengths for the reference lists
	modifications [2][]modification
	marking       []operation // memory_management_control_operation; none if the sliding window removes references
	longTerm      bool        // long_term_reference_flag
}

// modification is an entry in ref_pic_list_modification: modification_of_pic_nums_idc and its operand.
type modification struct{ code, operand int }

// operation is a memory_management_control_operation and its operands: difference_of_pic_nums_minus1, long_term_pic_num or
// max_long_term_frame_idx_plus1; and long_term_frame_idx.
type operation struct{ code, operand, long int }

// mostOperations is more than any marking needs: it removes, converts and limits 16 references.
const mostOperations = 64

// slice reads a slice header, and also returns its parameter sets.
func (p *parameterSets) slice(unit []byte) (*header, *sps, *pps, error) {
	f, h := newFields(unit), &header{}
	h.reference, h.idr = unit[0]>>5&3 > 0, unit[0]&31 == 5
	h.first = f.ue("first_mb_in_slice", mostMacroblocks)
	kind := f.ue("slice_type", 9)
	h.kind = kind % 5
	if h.kind > sliceI {
		f.fail(unsupported(picture.Profile, profileExtended))
	}
	if h.idr && (h.kind != sliceI || !h.reference) {
		f.fail(invalid("slice_type", kind))
	}
	h.pps = f.ue("pic_parameter_set_id", 255)
	pic := p.picture[h.pps]
	if f.err == nil && (pic == nil || p.sequence[pic.sequence] == nil) {
		f.fail(invalid("pic_parameter_set_id", h.pps))
	}
	if f.err != nil {
		return nil, nil, nil, f.err
	}
	s := p.sequence[pic.sequence]
	if h.first >= s.width*s.height {
		f.fail(invalid("first_mb_in_slice", h.first))
	}
	h.frameNum = f.number("frame_num", s.frameNumBits)
	if h.idr && h.frameNum != 0 {
		f.fail(invalid("frame_num", h.frameNum))
	}
	if !s.frameOnly && f.flag("field_pic_flag") {
		f.fail(unsupported(picture.Interlaced, 1))
	}
	h.order(f, s, pic)
	if pic.redundant {
		h.redundant = f.ue("redundant_pic_cnt", 127) > 0
	}
	h.references(f, pic)
	if h.reference {
		h.mark(f)
	}
	return h, s, pic, f.err
}

func (h *header) order(f *fields, s *sps, pic *pps) {
	if h.idr {
		h.idrID = f.ue("idr_pic_id", math.MaxUint16)
	}
	delta := func(i int, element string) { h.delta[i] = f.se(element, math.MinInt32, math.MaxInt32) }
	switch {
	case s.orderType == 0:
		h.orderLow = f.number("pic_order_cnt_lsb", s.orderBits)
		if pic.orderPresent {
			delta(1, "delta_pic_order_cnt_bottom")
		}
	case s.orderType == 1 && !s.deltaZero:
		delta(0, "delta_pic_order_cnt[0]")
		if pic.orderPresent {
			delta(1, "delta_pic_order_cnt[1]")
		}
	}
}

// references reads the reference lists and the prediction weights.
func (h *header) references(f *fields, pic *pps) {
	if h.kind == sliceI {
		return
	}
	lists := 1
	if h.kind == sliceB {
		lists = 2
		f.flag("direct_spatial_mv_pred_flag")
	}
	h.active = pic.active
	if f.flag("num_ref_idx_active_override_flag") {
		for i, element := range []string{"num_ref_idx_l0_active_minus1", "num_ref_idx_l1_active_minus1"}[:lists] {
			h.active[i] = 1 + f.ue(element, 15)
		}
	}
	for i := range lists {
		h.modifications[i] = modify(f)
	}
	if h.kind == sliceP && pic.weighted || h.kind == sliceB && pic.weightedBi == 1 {
		skipWeights(f, h.active[:lists])
	}
}

func modify(f *fields) (list []modification) {
	if !f.flag("ref_pic_list_modification_flag") {
		return nil
	}
	for f.err == nil {
		code := f.ue("modification_of_pic_nums_idc", 3)
		if code == 3 {
			break
		}
		if len(list) == 2*mostReferences {
			f.fail(invalid("modification_of_pic_nums_idc", code))
		}
		list = append(list, modification{code, f.ue("abs_diff_pic_num_minus1", math.MaxUint16)})
	}
	return list
}

// skipWeights reads pred_weight_table.
func skipWeights(f *fields, active []int) {
	f.ue("luma_log2_weight_denom", 7)
	f.ue("chroma_log2_weight_denom", 7)
	for _, n := range active {
		for range n {
			if f.flag("luma_weight_flag") {
				f.se("luma_weight", -128, 127)
				f.se("luma_offset", -128, 127)
			}
			if f.flag("chroma_weight_flag") {
				for range 2 {
					f.se("chroma_weight", -128, 127)
					f.se("chroma_offset", -128, 127)
				}
			}
		}
	}
}

// mark reads dec_ref_pic_marking.
func (h *header) mark(f *fields) {
	if h.idr {
		f.flag("no_output_of_prior_pics_flag")
		h.longTerm = f.flag("long_term_reference_flag")
		return
	}
	if !f.flag("adaptive_ref_pic_marking_mode_flag") {
		return
	}
	for f.err == nil {
		o := operation{code: f.ue("memory_management_control_operation", 6)}
		switch o.code {
		case 0:
			return
		case 1, 3:
			o.operand = f.ue("difference_of_pic_nums_minus1", math.MaxUint16)
		case 2:
			o.operand = f.ue("long_term_pic_num", mostReferences-1)
		case 4:
			o.operand = f.ue("max_long_term_frame_idx_plus1", mostReferences)
		}
		if o.code == 3 || o.code == 6 {
			o.long = f.ue("long_term_frame_idx", mostReferences-1)
		}
		if len(h.marking) == mostOperations {
			f.fail(invalid("memory_management_control_operation", o.code))
		}
		h.marking = append(h.marking, o)
	}
}
