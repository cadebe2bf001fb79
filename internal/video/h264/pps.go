package h264

import "github.com/robocache/robocache/internal/video/picture"

// pps is a picture parameter set.
type pps struct {
	sequence         int // seq_parameter_set_id
	cabac            bool
	orderPresent     bool   // bottom_field_pic_order_in_frame_present_flag
	active           [2]int // default lengths for the reference lists
	weighted         bool
	weightedBi       int
	qp               int // pic_init_qp_minus26
	qs               int
	chromaQP         [2]int
	deblocking       bool // deblocking_filter_control_present_flag
	constrainedIntra bool
	redundant        bool // redundant_pic_cnt_present_flag
	transform8x8     bool
	scaling          scaling
}

func parsePPS(unit []byte) (id int, p *pps, err error) {
	f, p := newFields(unit), &pps{}
	id = f.ue("pic_parameter_set_id", 255)
	p.sequence = f.ue("seq_parameter_set_id", 31)
	p.cabac = f.flag("entropy_coding_mode_flag")
	p.orderPresent = f.flag("bottom_field_pic_order_in_frame_present_flag")
	if groups := f.ue("num_slice_groups_minus1", 7); groups > 0 {
		f.fail(unsupported(picture.SliceGroups, groups+1))
	}
	p.active[0] = 1 + f.ue("num_ref_idx_l0_default_active_minus1", 31)
	p.active[1] = 1 + f.ue("num_ref_idx_l1_default_active_minus1", 31)
	p.weighted = f.flag("weighted_pred_flag")
	p.weightedBi = f.checked("weighted_bipred_idc", int(f.bits.Bits(2)), 0, 2)
	p.qp = f.se("pic_init_qp_minus26", -26, 25)
	p.qs = f.se("pic_init_qs_minus26", -26, 25)
	p.chromaQP[0] = f.se("chroma_qp_index_offset", -12, 12)
	p.chromaQP[1] = p.chromaQP[0]
	p.deblocking = f.flag("deblocking_filter_control_present_flag")
	p.constrainedIntra = f.flag("constrained_intra_pred_flag")
	p.redundant = f.flag("redundant_pic_cnt_present_flag")
	if f.more() {
		p.extended(f)
	}
	if f.err != nil {
		p = nil
	}
	return id, p, f.err
}

// extended reads the elements that were added for the High profiles.
func (p *pps) extended(f *fields) {
	lists := 6
	if p.transform8x8 = f.flag("transform_8x8_mode_flag"); p.transform8x8 {
		lists = 8
	}
	if f.flag("pic_scaling_matrix_present_flag") {
		p.scaling.parse(f, lists)
	}
	p.chromaQP[1] = f.se("second_chroma_qp_index_offset", -12, 12)
}
